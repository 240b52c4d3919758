"""The log, kept in SQLite: write-ahead log, synchronous=FULL, BEGIN IMMEDIATE for every write, one connection a file.

A deferred transaction that reads and then writes fails at once when another process wrote in between, whatever the busy
timeout; so a write takes the lock first, and waits for it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from driftwise.errors import NotFoundError, StoreError
from driftwise.store import files, forks, schema
from driftwise.store.log import SqliteLog

SYNCHRONOUS = "FULL"
BUSY_SECONDS = 5.0  # how long SQLite waits at a time; between times an interrupt gets through
LOCK_SECONDS = 600.0  # how long we wait in all


class SqliteStore:
    """Studies in the file `path`, or in memory where that is None."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.where = "a study in memory" if path is None else str(path)
        self._lock = threading.RLock()
        self._inside = False
        if path is not None and not path.exists():
            files.make(path, _build)
        self._opener = _Opener(path)
        self._engine = _engine(self._opener)
        weakref.finalize(self, self._engine.dispose)
        forks.watch(self)
        if path is None:
            with self.writing() as connection:
                schema.create(connection)
        else:
            self.names()  # a truncated or damaged file is found now, and not at the first tell

    # --- studies ------------------------------------------------------------------------------------------------

    def create(self, name: str, description: str) -> SqliteLog:
        found = self._find(name)
        if found is None:
            with self.writing() as connection:
                new = sa.insert(schema.studies).prefix_with("OR IGNORE")  # another process may have been faster
                connection.execute(new, {"name": name, "description": description})
        return found or self.open(name)

    def open(self, name: str) -> SqliteLog:
        found = self._find(name)
        if found is None:
            known = ", ".join(map(repr, self.names()[:10])) or "none"
            raise NotFoundError(f"{self.where} has no study {name!r:.80}; it has {known}")
        return found

    def names(self) -> list[str]:
        with self.reading() as connection:
            return list(connection.scalars(sa.select(schema.studies.c.name).order_by(schema.studies.c.name)))

    def _find(self, name: str) -> SqliteLog | None:
        wanted = sa.select(schema.studies.c.study, schema.studies.c.description).where(schema.studies.c.name == name)
        with self.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else SqliteLog(self, row.study, name, row.description)

    # --- transactions -------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that holds the file's one write lock; on the disk when it ends, or undone."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the file."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sa.Connection]:
        with self._lock:
            assert not self._inside, "transactions do not nest"
            self._inside = True
            try:
                with self._begun(begin) as connection:  # undoes everything unless we reach the commit
                    yield connection
                    connection.commit()
            except sa.exc.DBAPIError as error:
                if _is_ours(error):
                    raise
                raise files.explain(error.orig, self.where) from error  # type: ignore[arg-type]
            finally:
                self._inside = False

    def _begun(self, begin: str) -> sa.Connection:
        """A connection in a transaction, however long the lock takes to get."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            connection = None
            try:
                connection = self._engine.connect()
                self._opener.check_unmoved()
                connection.exec_driver_sql(begin)
                connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1")  # a reader takes its snapshot here
                return connection
            except BaseException as error:
                if connection is not None:
                    connection.close()
                if not _is_taken(error):
                    raise
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{self.where}: another process has kept it locked for {LOCK_SECONDS:g} s"
                    ) from error
                time.sleep(0.01)

    # --- the connection -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; it is opened again when next needed. What is in memory stays."""
        with self._lock:
            if self.path is not None and not self._inside:
                self._engine.dispose()

    def is_current(self) -> bool:
        """Whether the path still leads to the file that is open."""
        return self._opener.is_unmoved()

    @contextmanager
    def held(self) -> Iterator[None]:
        """No thread is in a transaction, and no connection is open: the only state in which a process may fork."""
        with self._lock:
            self.close()
            yield


class _Opener:
    """Opens the file, and knows it again: a file moved or deleted would take writes that nobody finds later."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.opened: tuple[int, int] | None = None

    def __call__(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        files.check(self.path)
        connection = _connect(self.path)
        try:
            connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            connection.execute("PRAGMA fullfsync = ON")  # where fsync alone does not reach the disk
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
            self.opened = self._inode()
        except BaseException:
            connection.close()
            raise
        return connection

    def _inode(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat() if self.path is not None else None
        except OSError:
            return None
        return None if status is None else (status.st_dev, status.st_ino)

    def is_unmoved(self) -> bool:
        return self._inode() == self.opened

    def check_unmoved(self) -> None:
        if not self.is_unmoved():
            raise StoreError(f"{self.path}: it was moved, replaced or deleted while open; put it back, or open it anew")


def _connect(path: Path) -> sqlite3.Connection:
    """The file must be there: mode=rw never makes one."""
    uri = f"{path.as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _engine(opener: _Opener) -> sa.Engine:
    return sa.create_engine("sqlite+pysqlite://", creator=opener, poolclass=StaticPool)


def _build(path: Path) -> None:
    """A store without studies, in write-ahead mode. Nothing is synced here: `files.make` syncs the whole, once."""
    opener = sa.create_engine("sqlite+pysqlite://", creator=lambda: _connect(path), poolclass=StaticPool)
    try:
        with opener.connect() as connection:
            connection.exec_driver_sql("PRAGMA synchronous = OFF")
            connection.exec_driver_sql("PRAGMA journal_mode = OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            schema.create(connection)
            connection.commit()
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except sa.exc.DBAPIError as error:
        raise files.explain(error.orig, str(path)) from error  # type: ignore[arg-type]
    finally:
        opener.dispose()


def _is_taken(error: BaseException) -> bool:
    """Whether another process has the lock."""
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_ours(error: sa.exc.DBAPIError) -> bool:
    """Whether the mistake is in our SQL, and not in the file."""
    return not isinstance(error.orig, sqlite3.Error) or isinstance(error.orig, sqlite3.ProgrammingError)
