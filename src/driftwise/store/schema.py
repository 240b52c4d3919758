"""The tables. A file holds several studies; every index that a step needs is here, so that no step ever scans a log."""

from __future__ import annotations

import sqlalchemy as sa

APPLICATION_ID = 0x64726677  # "drfw": marks a file as ours
VERSION = 1

metadata = sa.MetaData()

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("last", sa.Integer, nullable=False, default=0),
    sa.Column("asked", sa.Integer, nullable=False, default=0),
    sa.Column("told", sa.Integer, nullable=False, default=0),
    sa.Column("unasked", sa.Integer, nullable=False, default=0),
    sa.Column("abandoned", sa.Integer, nullable=False, default=0),
    sa.Column("jittered", sa.Integer, nullable=False, default=0),
    sa.Column("jitter", sa.Double, nullable=False, default=0.0),
)

AWAITED, ANSWERED, ABANDONED = 0, 1, 2

suggestions = sa.Table(
    "suggestions",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ordinal", sa.Integer, nullable=False),  # the how-manieth suggestion it is
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("x", sa.LargeBinary, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)
sa.Index("suggestion_keys", suggestions.c.study, suggestions.c.key, unique=True)
is_awaited: sa.ColumnElement[bool] = sa.literal_column(
    "status = 0"
)  # literally so in every query: only then is the partial index used
sa.Index("awaited", suggestions.c.study, suggestions.c.ordinal, sqlite_where=is_awaited)

observations = sa.Table(
    "observations",
    metadata,
    sa.Column("study", sa.Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arrival", sa.Integer, nullable=False),  # the how-manieth observation it was to be stored
    sa.Column("key", sa.Text),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("y", sa.Double, nullable=False),
    sa.Column("x", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
sa.Index("arrivals", observations.c.study, observations.c.arrival, unique=True)
sa.Index(
    "observation_keys",
    observations.c.study,
    observations.c.key,
    unique=True,
    sqlite_where=sa.literal_column("key IS NOT NULL"),
)


def create(connection: sa.Connection) -> None:
    """Everything an empty database needs to be a store."""
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
