"""The tables of a store in PostgreSQL and the version of their format, which is a row of a table beside them."""

from __future__ import annotations

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.store import schema
from driftwise.store.postgres_link import FORMAT


def is_present(connection: sa.Connection, name: str) -> bool:
    """Whether the schema `name` of the database is a store."""
    # not to_regclass, which does not see what another session committed since this transaction began
    query = "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = %s"
    return bool(connection.exec_driver_sql(query, (name, FORMAT)).scalar())


def create(connection: sa.Connection, name: str) -> None:
    """Create all tables, unless another session was faster."""
    _one_at_a_time(connection, name)
    if is_present(connection, name):
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(f"the database has the encoding {encoding}, which cannot hold every name; create one in UTF8")
    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
    schema.create(connection)
    connection.exec_driver_sql(f"CREATE TABLE {FORMAT} (version integer NOT NULL)")
    connection.exec_driver_sql(f"INSERT INTO {FORMAT} VALUES ({schema.VERSION})")


def _one_at_a_time(connection: sa.Connection, name: str) -> None:
    """Until the end of the transaction no other session creates this schema."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"driftwise {name}",))
