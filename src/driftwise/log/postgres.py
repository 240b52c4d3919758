"""PostgreSQL: a row lock for every write to a study, so that two studies never wait for each other, and readers never.

A connection may be lost at any moment. Before the commit nothing is stored, and the call is repeated on a new one. When
it is lost during the commit, only the log tells what became of it: a call that would find what it did is repeated, and
any other is reported.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
import sqlalchemy as sa

from driftwise.concurrency.pauses import Pauses
from driftwise.errors import NotFoundError, StoreError
from driftwise.log import forks, schema
from driftwise.log.files import check_version
from driftwise.log.postgres_address import Address, parsed
from driftwise.log.postgres_connect import connect, is_starting
from driftwise.log.postgres_errors import POSTGRES_ERRORS, LostConnection, explain, is_passing
from driftwise.log.stores import Store
from driftwise.log.threads import Threads
from driftwise.log.turns import FileTurns

MOST = 32  # transactions at a time
SOON, LATER = 0.02, 1.0  # seconds between two attempts to reach the server, at first and at most
FORMAT = "format"  # the table with the version of the others

Result = TypeVar("Result")


class Postgres(Store):
    """The transactions of a schema of a database. Any number of threads may use it at a time."""

    def __init__(self, path: str, *, create: bool = True) -> None:
        self.address = parsed(path)
        super().__init__(path, self.address.shown)
        self._engine = _engine(self.address)
        self._reader = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._threads, self._turns = Threads(MOST), FileTurns(None)
        weakref.finalize(self, _let_go, self._engine, self._threads)  # of a store that nobody has any more
        forks.watch(self)
        self._prepare(create)

    def _prepare(self, create: bool) -> None:
        """Create the tables. Nobody waits for a server that was never there."""
        if not self._patiently(self._engine, self._is_present, is_new=True):
            if not create:
                raise NotFoundError(f"there is no study in {self.where}; create one there first, or give another path")
            self.writing(self._create, again=True)
        version = self.reading(lambda connection: connection.exec_driver_sql(f"SELECT version FROM {FORMAT}").scalar())
        check_version(version or 0, self.where)

    def _is_present(self, connection: sa.Connection) -> bool:
        """Whether the schema of the database is a store."""
        # not to_regclass, which does not see what another session committed since this transaction began
        query = "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = %s"
        return bool(connection.exec_driver_sql(query, (self.address.schema, FORMAT)).scalar())

    def _create(self, connection: sa.Connection) -> None:
        """Create all tables, unless another session was faster."""
        name = self.address.schema
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"driftwise {name}",))
        if self._is_present(connection):
            return
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"the database has the encoding {encoding}, which cannot hold every name; create one in UTF8"
            )
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
        schema.metadata.create_all(connection, checkfirst=False)
        connection.exec_driver_sql(f"CREATE TABLE {FORMAT} (version integer NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO {FORMAT} VALUES ({schema.VERSION})")

    # --- transactions -------------------------------------------------------------------------------------------

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        return self._patiently(self._engine, work, again=again)

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        return self._patiently(self._reader, work, again=True)

    def _patiently(
        self,
        engine: sa.Engine,
        work: Callable[[sa.Connection], Result],
        *,
        again: bool = False,
        is_new: bool = False,
    ) -> Result:
        """Return what `work` returns. It is repeated while the server is away, for as long as the address says."""
        deadline, pauses = time.monotonic() + self.address.patience, Pauses(SOON, LATER)
        while True:
            try:
                return self._threads.run(lambda: self._once(engine, work))
            except LostConnection as lost:
                if lost.during_commit and not again:
                    raise StoreError(
                        f"{self.where}: the connection was lost during the commit, so that it is not known whether the "
                        f"call was stored ({lost}). Look whether it was, or repeat a call that has a key"
                    ) from lost
                pause = pauses.next()
                if time.monotonic() + pause > deadline or (is_new and not is_starting(self.address)):
                    raise StoreError(
                        f"{self.where}: the server cannot be reached ({lost}); correct the address, or try again"
                    ) from lost
            time.sleep(pause)

    def _once(self, engine: sa.Engine, work: Callable[[sa.Connection], Result]) -> Result:
        during_commit = False
        try:
            with engine.connect() as connection:
                result = work(connection)
                during_commit = True
                connection.commit()
            return result
        except sa.exc.IntegrityError:
            raise
        except POSTGRES_ERRORS as error:
            if is_passing(error):
                raise LostConnection(error, during_commit=during_commit) from error
            raise explain(error, self.where) from error

    def choosing(self, study: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, after the others of this process who ask this study."""
        return self._turns.run(study, 0.0, work)

    # --- connections --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the idle connections."""
        self._engine.dispose()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A fork need not wait for transactions: they stay with the parent."""
        yield

    def forget(self) -> None:
        """In a child that was forked: the connections stay with the parent."""
        self._threads.forget()
        self._turns.forget()
        self._engine.dispose(close=False)


def _engine(address: Address) -> sa.Engine:
    return sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: _plain(connect(address)),
        pool_size=MOST,
        max_overflow=0,
        pool_pre_ping=True,
        use_native_hstore=False,
    )


def _plain(wire: psycopg.Connection[object]) -> psycopg.Connection[object]:
    """A connection in the state that SQLAlchemy expects."""
    wire.autocommit = False
    return wire


def _let_go(engine: sa.Engine, threads: Threads) -> None:
    threads.end()
    engine.dispose()
