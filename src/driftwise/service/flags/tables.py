"""What the flags keep in the database of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from driftwise.service.identity import about_studies

metadata = sa.MetaData()

plans = about_studies(
    "service_flags",
    metadata,
    sa.Column("plan", sa.Text, nullable=False),
)

# the suggestion that a targeting key had last, so that an event that comes later finds it
holders = about_studies(
    "service_flag_holders",
    metadata,
    sa.Column("who", sa.Text, primary_key=True),
    sa.Column("suggestion", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

# the events of a suggestion, added up
sums = about_studies(
    "service_flag_events",
    metadata,
    sa.Column("suggestion", sa.Text, primary_key=True),
    sa.Column("events", sa.BigInteger, nullable=False),
    sa.Column("total", sa.Double, nullable=False),
    sa.Column("hits", sa.BigInteger, nullable=False),
    sa.Column("first", sa.Double, nullable=False),
    sa.Column("reward", sa.Double),  # None: more events may come; else the sum is closed, and this is what it gives
    sa.Column("repeats", sa.BigInteger),
    sa.Column("told", sa.Boolean, nullable=False),  # the study has it
)
sa.Index("service_flag_untold", sums.c.study, sqlite_where=~sums.c.told, postgresql_where=~sums.c.told)

# keys of events that were counted
known = about_studies(
    "service_flag_event_keys",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
)


def put(connection: sa.Connection, table: sa.Table, row: Mapping[str, Any], **otherwise: Any) -> bool:
    """Insert a row; if there is one with its primary key, change that. Whether anything was written."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    made, same = dialect.insert(table).values(**row), {"index_elements": list(table.primary_key.columns)}
    made = made.on_conflict_do_update(**same, set_=otherwise) if otherwise else made.on_conflict_do_nothing(**same)
    # psycopg forgets how many rows an insert wrote, unless it is told to remember
    return connection.execute(made, execution_options={"preserve_rowcount": True}).rowcount > 0
