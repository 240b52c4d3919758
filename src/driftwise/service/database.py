"""The service's own tables, in the database of the store, and the counts of the studies that the store keeps there.

The store has its own connections. These are separate ones, so that a token can be looked up while a study is written.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.service.settings import ServiceSettings
from driftwise.store import Counts, open_store, schema
from driftwise.store import connection as connections

Result = TypeVar("Result")
BUSY_SECONDS = 10.0
CONNECTIONS = 4  # at the same time; who comes later waits
TRIES = 2  # of a call whose connection was lost

metadata = sa.MetaData()  # of tables that every service has; a part with tables of its own calls `create` with them

_COUNTS = tuple(field.name for field in fields(Counts))


class Database:
    """Transactions on the database of a store: `read` and `write` call a function with a connection."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        open_store(settings.store)  # a file is made, or refused if it is none of ours
        self._engine = _engine(settings)
        weakref.finalize(self, self._engine.dispose)
        self._writing = threading.Lock()  # SQLite has one writer: threads wait here, without asking again and again
        self.create(metadata)

    def create(self, tables: sa.MetaData) -> None:
        """Make the tables that are not there yet."""
        self.write(lambda connection: tables.create_all(connection))

    def read(self, work: Callable[[sa.Connection], Result]) -> Result:
        """What `work` returns, in a transaction."""
        return self._run("BEGIN", work)

    def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """What `work` returns. What it wrote is on the disk, as a whole, when this returns. It may be called twice."""
        if self._settings.is_postgres:
            return self._run("BEGIN", work)
        with self._writing:
            return self._run("BEGIN IMMEDIATE", work)

    def _run(self, begin: str, work: Callable[[sa.Connection], Result]) -> Result:
        for left in reversed(range(TRIES)):
            try:
                with self._engine.connect().execution_options(begin=begin) as connection, connection.begin():
                    return work(connection)
            except sa.exc.DBAPIError as error:
                if not (error.connection_invalidated and left):
                    why = self._settings.scrubbed(str(error.orig))
                    raise StoreError(f"the store cannot be read or written: {why}; try again") from error
        raise AssertionError("unreachable")

    def counts(self, names: Collection[str] | None = None) -> dict[str, Counts]:
        """The counts of these studies, or of all. Studies that do not exist are left out."""
        columns = [schema.studies.c[name] for name in ("name", *_COUNTS)]
        query = sa.select(*columns)
        if names is not None:
            query = query.where(schema.studies.c.name.in_(list(names)))
        rows = self.read(lambda connection: connection.execute(query).all())
        return {row[0]: Counts(*row[1:]) for row in rows}

    def close(self) -> None:
        self._engine.dispose()


def _engine(settings: ServiceSettings) -> sa.Engine:
    if settings.is_postgres:
        return _engine_of_server(settings.store)
    path = Path(settings.store).expanduser().absolute()

    def connect() -> sqlite3.Connection:
        raw = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        checkpoint = f"wal_autocheckpoint = {connections.CHECKPOINT}"
        for pragma in (f"synchronous = {connections.SYNCHRONOUS}", "fullfsync = ON", checkpoint):
            raw.execute(f"PRAGMA {pragma}").close()
        return raw

    engine = sa.create_engine(
        "sqlite+pysqlite://",
        creator=connect,
        poolclass=sa.pool.QueuePool,
        pool_size=CONNECTIONS,
        max_overflow=0,
    )

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> Any:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _engine_of_server(path: str) -> sa.Engine:
    from driftwise.store.postgres_address import parsed
    from driftwise.store.postgres_link import connect  # needs psycopg

    def connection() -> Any:
        made: Any = connect(parsed(path))
        made.autocommit = False
        return made

    return sa.create_engine(
        "postgresql+psycopg://", creator=connection, pool_size=CONNECTIONS, max_overflow=0, pool_pre_ping=True
    )
