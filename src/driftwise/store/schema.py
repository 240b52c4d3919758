"""The tables. A file holds several studies; every index that a step needs is here, so that no step ever scans a log.

Every row ends in a checksum over all of its other values. What a row cannot show, that another one is missing, follows
from the numbers: they are contiguous, and `studies` says how many there are.

The columns that format 3 added (`deleted`, `batch`, `details`, and four of `studies`) take part in a checksum only
where they are neither NULL nor 0, so that the rows of format 2 keep theirs.
"""

from __future__ import annotations

import sqlalchemy as sa

from driftwise.store.checksums import checksum

APPLICATION_ID = 0x64726677  # "drfw": marks a file as ours
VERSION = 3

metadata = sa.MetaData()

file = sa.Table(
    "file",
    metadata,
    sa.Column("file", sa.Integer, primary_key=True),  # always 1: there is one row
    sa.Column("studies", sa.Integer, nullable=False),  # how many there are
    sa.Column("checksum", sa.Integer, nullable=False),
    sa.Column("deleted", sa.Integer, nullable=False, server_default="0"),  # how many there were besides
)

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("described", sa.Integer, nullable=False),  # the description's own checksum
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("told", sa.Integer, nullable=False),
    sa.Column("unasked", sa.Integer, nullable=False),
    sa.Column("abandoned", sa.Integer, nullable=False),
    sa.Column("jittered", sa.Integer, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("keyed", sa.Integer, nullable=False),  # how many rows `keys` has of it
    sa.Column("awaiting", sa.Text, nullable=False),  # JSON: ordinal and number of the suggestions that are pending
    sa.Column("head", sa.Integer, nullable=False),  # a checksum chained over all observations as they arrived
    sa.Column("failed", sa.Integer, nullable=False),
    sa.Column("retracted", sa.Integer, nullable=False),
    sa.Column("corrected", sa.Integer, nullable=False),
    sa.Column("corrections_head", sa.Integer, nullable=False),  # chained over all corrections
    sa.Column("checksum", sa.Integer, nullable=False),
    sa.Column("description", sa.Text, nullable=False),  # last, since it may be long and is seldom read
)

AWAITED, ANSWERED, ABANDONED = 0, 1, 2

suggestions = sa.Table(
    "suggestions",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ordinal", sa.Integer, nullable=False),  # its position among the suggestions, from 1
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("x", sa.LargeBinary, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("checksum", sa.Integer, nullable=False),
    sa.Column("batch", sa.Integer),  # of the first of several that were made together: how many
    sqlite_with_rowid=False,
)
is_answered: sa.ColumnElement[bool] = sa.literal_column(
    "status = 1"
)  # literally so in every query: only then is the partial index used
# with the status in it, though always the same: else SQLite prefers the table's own order, and reads the unanswered too
sa.Index("answered", suggestions.c.study, suggestions.c.status, suggestions.c.number, sqlite_where=is_answered)

observations = sa.Table(
    "observations",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arrival", sa.Integer, nullable=False),  # its position in the order in which rewards came, from 1
    sa.Column("key", sa.Text),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("y", sa.Double, nullable=False),
    sa.Column("x", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.Integer, nullable=False),
    sa.Column("details", sa.Text),  # JSON of what the outcome has besides its reward, or that it failed (y is 0 then)
    sqlite_with_rowid=False,
)
sa.Index("arrivals", observations.c.study, observations.c.arrival, unique=True)

corrections = sa.Table(
    "corrections",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),  # from 1
    sa.Column("number", sa.Integer, nullable=False),  # of the observation
    sa.Column("y", sa.Double),  # NULL retracts it
    sa.Column("details", sa.Text),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("made", sa.Text, nullable=False),  # when, by the wall clock
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("checksum", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

ASKED, OBSERVED = 0, 1  # kinds of keys: those of `ask`, those of observations

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("kind", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("next", sa.Text),  # the key after this one: what is between them is not there
    sa.Column("checksum", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)


def create(connection: sa.Connection) -> None:
    """Everything an empty database needs to be a store."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(sa.insert(file), {"file": 1, "studies": 0, "deleted": 0, "checksum": checksum(1, 0)})
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
