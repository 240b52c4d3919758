"""One connection to PostgreSQL: what is not committed is undone whatever happens, and a lost one is opened again."""

from __future__ import annotations

import os
import threading
import zlib
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.pool import NullPool

from driftwise.errors import StoreError
from driftwise.store.files import check_version
from driftwise.store.postgres_address import Address

LOCK_SECONDS = 600  # how long a call waits for other sessions
FORMAT = "format"  # the table with the version of the others

# A connection that is cut without a word is noticed after half a minute. What a user gives in the address has priority.
DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
    "application_name": "driftwise",
}

READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT version FROM {FORMAT}"
WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT version FROM {FORMAT}"
BARE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"  # before there are any tables


Connection = TypeVar("Connection", bound="psycopg.Connection[Any]")


class Wire(psycopg.Connection[Any]):
    """psycopg's connection, whose transactions and closing only we control.

    SQLAlchemy commits, rolls back and closes whenever one of its objects is garbage-collected, which may be in the
    middle of a later transaction. Here these methods do nothing.
    """

    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...

    def __del__(self, *_: Any) -> None:
        """psycopg would warn of a connection that was never closed. It is closed when its memory is freed."""


class PostgresLink:
    """A connection, opened when needed. One thread uses it at a time, and only the process that made it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.process = os.getpid()
        self.inside = False  # a transaction
        self._locks: list[int] = []  # studies of which this session gives the numbers
        self._wire: Wire | None = None
        self._wrapped: sa.Connection | None = None

    @property
    def is_open(self) -> bool:
        return self._wire is not None

    def begin(self, how: str) -> sa.Connection:
        """A connection with a new transaction. A store of another format is refused."""
        wire = self._wire or self._open()
        answer = wire.execute(how.encode())
        if answer.nextset():
            found = answer.fetchone()
            check_version(0 if found is None else found[0], self.address.shown)
        assert self._wrapped is not None
        return self._wrapped

    def commit(self) -> None:
        """Commit. The data are on the server's disk when this returns."""
        assert self._wire is not None
        if self._wire.execute("COMMIT").statusmessage != "COMMIT":
            raise StoreError(f"{self.address.shown}: the server undid the transaction; try again")

    def roll_back(self) -> None:
        """Undo the transaction, and keep the connection."""
        if self._wire is not None:
            self._wire.execute("ROLLBACK")

    def shut(self) -> None:
        """Close the connection. The server then undoes what is not committed, and releases every lock."""
        wire, self._wire, self._wrapped, self.inside = self._wire, None, None, False
        if wire is not None:
            wire.pgconn.finish()

    # --- the numbers of a study ---------------------------------------------------------------------------------

    def lock(self, study: int) -> None:
        """Wait until nobody else gives the numbers of this study. The session holds this, and no transaction."""
        wire = self._wire or self._open()
        wire.execute(f"SELECT pg_advisory_lock({self._space}, {study:d})".encode())
        self._locks.append(study)

    def unlock(self, study: int) -> None:
        """Let the next session in; a connection that was lost did so already."""
        self._locks.remove(study)
        if self._wire is not None:
            self._wire.execute(f"SELECT pg_advisory_unlock({self._space}, {study:d})".encode())

    def forget_locks(self) -> None:
        self._locks.clear()

    @property
    def _space(self) -> int:
        """Of advisory locks, whose numbers a whole database shares: each schema has its own."""
        return zlib.crc32(f"driftwise {self.address.schema}".encode()) - 2**31

    # --- the connection -----------------------------------------------------------------------------------------

    def _open(self) -> Wire:
        wire = connect(self.address, Wire)
        try:
            for study in self._locks:
                wire.execute(f"SELECT pg_advisory_lock({self._space}, {study:d})".encode())
            self._wrapped = _wrap(wire)
            self._wire = wire
        except BaseException:
            wire.pgconn.finish()
            raise
        return wire


def connect(address: Address, kind: type[Connection] = psycopg.Connection) -> Connection:  # type: ignore[assignment]
    """A new connection without a transaction, on which the tables of the store are found by their names."""
    made = kind.connect(_conninfo(address), autocommit=True)
    try:
        made.execute(_setup(address.schema).encode())
    except BaseException:
        made.pgconn.finish()
        raise
    return made


def is_starting(address: Address) -> bool:
    """Whether a server is there that lets nobody in yet, as after a crash."""
    return psycopg.pq.PGconn.ping(_conninfo(address).encode()) == psycopg.pq.Ping.REJECT


def _conninfo(address: Address) -> str:
    given: dict[str, Any] = {**DEFAULTS, **conninfo_to_dict(address.url), "client_encoding": "utf8"}
    return make_conninfo(**given)


def _setup(name: str) -> str:
    """What every session begins with. Commits are synchronous, unless the server is told to be safer still."""
    settings = {
        "search_path": name,
        "lock_timeout": f"{LOCK_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{LOCK_SECONDS}s",
        "statement_timeout": "0",
    }
    said = "; ".join(f"SET {key} = '{value}'" for key, value in settings.items())
    synced = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    return f"{said}; {synced}"


def _wrap(wire: Wire) -> sa.Connection:
    """SQLAlchemy's view of it, which neither begins nor ends transactions: `PostgresLink` does."""
    _handed.wire = wire
    return _engine().connect()


_handed = threading.local()  # what the engine takes for its next connection, in each thread


@lru_cache(maxsize=1)
def _engine() -> sa.Engine:
    """One for all servers, so that a statement is compiled once in a process."""
    return sa.create_engine(
        "postgresql+psycopg://", creator=lambda: _handed.wire, poolclass=NullPool, use_native_hstore=False
    )
