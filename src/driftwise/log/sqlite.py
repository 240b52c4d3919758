"""SQLite: write-ahead log, synchronous=FULL, BEGIN IMMEDIATE for every write, one connection that writes per process.

A deferred transaction that reads and then writes fails at once if another process wrote in between, whatever the busy
timeout is. Therefore a write takes the lock first, and waits for it. Readers have connections of their own, which never
wait for a writer.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import Pool, QueuePool, StaticPool

from driftwise.errors import StoreError
from driftwise.log import files, forks, schema
from driftwise.log.stores import Store
from driftwise.log.threads import Threads
from driftwise.log.turns import WRITERS, FileTurns

SYNCHRONOUS = "FULL"
CHECKPOINT = 100  # pages of the log that are moved into the file at a time: with SQLite's 1,000 some calls take 0.2 s
LOCK_SECONDS = 600.0  # how long a call waits for other processes
ASK_SECONDS = 60.0  # how long an ask waits for others of the same study, before it chooses at the same time as they
READERS = 4

PARTS = ("", "-wal", "-shm")  # the file, its log, and the log's index

Identity = tuple[int, int]  # device and inode
Result = TypeVar("Result")


# Shared by all engines, so that a statement is compiled once in a process, and not again for every file.
DIALECT = sa.create_engine("sqlite://").dialect
COMPILED: dict[Any, Any] = {}


class Sqlite(Store):
    """The studies in the file `path`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, str(path))
        if not path.exists():
            files.make(path, _build)
        self._parts = OpenParts(path)
        self._engine = engine(QueuePool, self._parts.connect, pool_size=READERS + 1, max_overflow=0)
        self._turns = FileTurns(path)
        self._writing, self._reading = Threads(1), Threads(READERS)
        weakref.finalize(self, _let_go, self._engine, self._turns, self._writing, self._reading)
        forks.watch(self)

    # --- transactions -------------------------------------------------------------------------------------------

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        """Return what `work` returns, in a transaction that holds the one write lock of the file."""
        return self._writing.run(
            lambda: self._turns.run(WRITERS, LOCK_SECONDS, lambda: self._transacted("BEGIN IMMEDIATE", work))
        )

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Return what `work` returns, in a transaction that sees one state of the file."""
        return self._reading.run(lambda: self._transacted("BEGIN", work))

    def choosing(self, study: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, after the others who ask this study."""
        return self._turns.run(study, ASK_SECONDS, work)

    def _transacted(self, begin: str, work: Callable[[sa.Connection], Result]) -> Result:
        try:
            with self._engine.connect() as connection:
                with connection.begin():
                    _driver(connection).execute(begin).close()
                    self._parts.check()
                    result = work(connection)
                self._parts.check()  # what was written into a log that is gone is not acknowledged
            return result
        except LostPart as lost:
            if lost.part:  # the file is still ours, so that closing moves into it what is only in our log
                self._engine.dispose()
                self._parts.forget()
            raise
        except sa.exc.IntegrityError:
            raise
        except files.SQLITE_ERRORS as error:
            raise files.explain(error, self.where) from error

    # --- the files ----------------------------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Whether the path still leads to the file that is open."""
        return self._parts.is_current()

    def close(self) -> None:
        """Close the connections, which are opened again when needed."""
        with self.paused():
            pass

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The only state in which a process may fork: no transaction, and no open connection."""
        with ExitStack() as stack:
            stack.enter_context(self._writing.paused())
            stack.enter_context(self._reading.paused())
            self._engine.dispose()
            self._parts.forget()
            self._turns.close()
            yield

    def forget(self) -> None:
        self._writing.forget()
        self._reading.forget()
        self._turns.forget()


class LostPart(StoreError):
    """The file, its log or the log's index is no longer the one that was opened."""

    def __init__(self, path: Path, part: str) -> None:
        super().__init__(
            f"{path}{part}: it was moved, replaced or deleted while the study was open; what was acknowledged last may "
            "be lost. Put the file back, or open the study again"
        )
        self.part = part


@dataclass
class OpenParts:
    """Which files are open: the file, its log and the log's index.

    Without this, data written into a deleted log would be acknowledged and lost, and two processes with different
    indexes would take the same number.
    """

    path: Path
    known: tuple[Identity | None, ...] | None = None  # while any connection is open
    checked: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def connect(self) -> sqlite3.Connection:
        """A connection to an existing file: mode=rw never creates one."""
        with self.lock:
            if not self.checked:
                # never while a connection is open: when any descriptor of a file is closed, the system drops all locks
                # that the process has on it
                files.check(self.path)
                self.checked = True
        uri = f"{self.path.as_uri()}?mode=rw"
        raw = sqlite3.connect(uri, uri=True, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        _set(raw)
        self.check()
        return raw

    def check(self) -> None:
        """Raise a `LostPart` if one of them is another file by now."""
        now = tuple(_identity(f"{self.path}{part}") for part in PARTS)
        self.known = self.known or now
        if now != self.known:
            gone = next(part for part, a, b in zip(PARTS, now, self.known, strict=True) if a != b)
            raise LostPart(self.path, gone)

    def is_current(self) -> bool:
        """Whether the path still leads to the same file."""
        return self.known is None or _identity(str(self.path)) == self.known[0]

    def forget(self) -> None:
        """No connection is open any more."""
        self.known, self.checked = None, False


def engine(kind: type[Pool], connect: Callable[[], Any], **options: Any) -> sa.Engine:
    """An engine with a pool of this kind. Every transaction is over when its connection is given back."""
    pool = kind(connect, reset_on_return=None, dialect=DIALECT, **options)
    return sa.Engine(pool, DIALECT, sa.make_url("sqlite://"), execution_options={"compiled_cache": COMPILED})


def _driver(connection: sa.Connection) -> Any:
    """The connection of SQLite's own module: a statement of SQLAlchemy takes longer than `BEGIN`."""
    return connection.connection.driver_connection


def _set(raw: sqlite3.Connection) -> None:
    for setting in (
        f"synchronous = {SYNCHRONOUS}",
        "fullfsync = ON",  # where fsync alone does not reach the disk
        "checkpoint_fullfsync = ON",
        f"wal_autocheckpoint = {CHECKPOINT}",
    ):
        raw.execute(f"PRAGMA {setting}").close()
    raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # now the log and its index are there


def _build(path: Path) -> None:
    """A store without studies, in write-ahead mode. Nothing is synced here: `files.make` syncs the whole file."""
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        for setting in (
            "synchronous = OFF",
            "journal_mode = OFF",
            f"application_id = {schema.APPLICATION_ID}",
            f"user_version = {schema.VERSION}",
        ):
            raw.execute(f"PRAGMA {setting}").close()
        with engine(StaticPool, lambda: raw).begin() as connection:
            schema.metadata.create_all(connection, checkfirst=False)
        raw.execute("PRAGMA journal_mode = WAL").close()
    except files.SQLITE_ERRORS as error:
        raise files.explain(error, str(path)) from error
    finally:
        raw.close()


def _identity(path: str) -> Identity | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _let_go(engine: sa.Engine, turns: FileTurns, *threads: Threads) -> None:
    for each in threads:
        each.end()
    engine.dispose()
    turns.close()
