"""The tables. A file holds several studies; every index that a step needs is here, so that no step ever scans a log.

Every row ends in a checksum over all of its other values. What a row cannot show, that another one is missing, follows
from the numbers: they are contiguous, and `studies` says how many there are.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from driftwise.store.checksums import checksum

# What PostgreSQL calls an integer ends at 2³¹, and it orders texts by a language, but keys are ordered by code points.
Integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KeyText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

APPLICATION_ID = 0x64726677  # "drfw": marks a file as ours
VERSION = 1

metadata = sa.MetaData()

file = sa.Table(
    "file",
    metadata,
    sa.Column("file", Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    sa.Column("studies", Integer, nullable=False),  # how many there are
    sa.Column("deleted", Integer, nullable=False),  # how many there were besides
    sa.Column("checksum", Integer, nullable=False),
)

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("study", Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("described", Integer, nullable=False),  # the description's own checksum
    sa.Column("last", Integer, nullable=False),
    sa.Column("asked", Integer, nullable=False),
    sa.Column("told", Integer, nullable=False),
    sa.Column("unasked", Integer, nullable=False),
    sa.Column("abandoned", Integer, nullable=False),
    sa.Column("jittered", Integer, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("failed", Integer, nullable=False),
    sa.Column("retracted", Integer, nullable=False),
    sa.Column("corrected", Integer, nullable=False),
    sa.Column("keyed", Integer, nullable=False),  # how many rows `keys` has of it
    sa.Column("awaiting", sa.Text, nullable=False),  # JSON: ordinal and number of the suggestions that are pending
    sa.Column("head", Integer, nullable=False),  # a checksum chained over all observations as they arrived
    sa.Column("corrections_head", Integer, nullable=False),  # chained over all corrections
    sa.Column("checksum", Integer, nullable=False),
    sa.Column("description", sa.Text, nullable=False),  # last, since it may be long and is seldom read
)

AWAITED, ANSWERED, ABANDONED = 0, 1, 2

suggestions = sa.Table(
    "suggestions",
    metadata,
    sa.Column("study", Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", Integer, primary_key=True, autoincrement=False),
    sa.Column("ordinal", Integer, nullable=False),  # its position among the suggestions, from 1
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("status", Integer, nullable=False),
    sa.Column("batch", Integer),  # of the first of several that were made together: how many
    sa.Column("x", sa.LargeBinary, nullable=False),
    sa.Column("checksum", Integer, nullable=False),
    sqlite_with_rowid=False,
)
is_answered: sa.ColumnElement[bool] = sa.literal_column(
    "status = 1"
)  # literally so in every query: only then is the partial index used
# with the status in it, though always the same: else SQLite prefers the table's own order, and reads the unanswered too
sa.Index(
    "answered",
    suggestions.c.study,
    suggestions.c.status,
    suggestions.c.number,
    sqlite_where=is_answered,
    postgresql_where=is_answered,
)

observations = sa.Table(
    "observations",
    metadata,
    sa.Column("study", Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", Integer, primary_key=True, autoincrement=False),
    sa.Column("arrival", Integer, nullable=False),  # its position in the order in which rewards came, from 1
    sa.Column("key", sa.Text),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("y", sa.Double, nullable=False),
    sa.Column("details", sa.Text),  # JSON of what the outcome has besides its reward, or that it failed (y is 0 then)
    sa.Column("x", sa.LargeBinary, nullable=False),
    sa.Column("checksum", Integer, nullable=False),
    sqlite_with_rowid=False,
)
sa.Index("arrivals", observations.c.study, observations.c.arrival, unique=True)

corrections = sa.Table(
    "corrections",
    metadata,
    sa.Column("study", Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("ordinal", Integer, primary_key=True, autoincrement=False),  # from 1
    sa.Column("number", Integer, nullable=False),  # of the observation
    sa.Column("y", sa.Double),  # NULL retracts it
    sa.Column("details", sa.Text),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("made", sa.Text, nullable=False),  # when, by the wall clock
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("checksum", Integer, nullable=False),
    sqlite_with_rowid=False,
)

ASKED, OBSERVED = 0, 1  # kinds of keys: those of `ask`, those of observations

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("study", Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("kind", Integer, primary_key=True, autoincrement=False),
    sa.Column("key", KeyText, primary_key=True),
    sa.Column("number", Integer, nullable=False),
    sa.Column("next", sa.Text),  # the key after this one: what is between them is not there
    sa.Column("checksum", Integer, nullable=False),
    sqlite_with_rowid=False,
)


class Unindexed(sa.ColumnElement[str]):
    """A column that SQLite looks up without an index: a damaged one would hide a study, which would be made again."""

    inherit_cache = True
    _traverse_internals = [("column", sa.sql.visitors.InternalTraversal.dp_clauseelement)]  # noqa: RUF012
    type = sa.Text()

    def __init__(self, column: sa.ColumnElement[str]) -> None:
        self.column = column


@compiles(Unindexed, "sqlite")
def _without_index(element: Unindexed, compiler: Any, **options: Any) -> str:
    return f"+{compiler.process(element.column, **options)}"


@compiles(Unindexed)
def _as_it_is(element: Unindexed, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.column, **options))


def create(connection: sa.Connection) -> None:
    """Everything an empty database needs to be a store, but for its version."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(sa.insert(file), {"file": 1, "studies": 0, "deleted": 0, "checksum": checksum(1, 0, 0)})


def create_in_file(connection: sa.Connection) -> None:
    """Likewise in a file of SQLite, which stores its version in its header."""
    create(connection)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
