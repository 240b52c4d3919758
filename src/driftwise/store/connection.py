"""One connection to a file: it undoes a transaction whatever happens, and notices if the files were replaced."""

from __future__ import annotations

import os
import sqlite3
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from driftwise.errors import StoreError
from driftwise.store import files

SYNCHRONOUS = "FULL"
CHECKPOINT = 100  # pages of the log that are moved into the file at a time: with SQLite's 1,000 some calls take 0.2 s
BUSY_SECONDS = 5.0  # how long SQLite waits at a time; between times an interrupt gets through

PARTS = ("", "-wal", "-shm")  # the file, its log, and the log's index

Identity = tuple[int, int]  # device and inode


class Raw(sqlite3.Connection):
    """SQLite's connection, whose transactions and closing only we control.

    A cursor that the traceback of an exception keeps alive holds its transaction, and thereby the file's lock, even
    after the connection was closed. Therefore all cursors are recorded, and closed before a transaction is rolled back.

    SQLAlchemy commits, rolls back and closes whenever one of its objects is garbage-collected, which may be in the
    middle of a later transaction. Here these methods do nothing.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._cursors: list[sqlite3.Cursor] = []  # of the present transaction
        super().__init__(*args, **options)

    def cursor(self, *args: Any, **options: Any) -> Any:
        cursor = super().cursor(*args, **options)
        self._cursors.append(cursor)
        return cursor

    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...

    def keep(self) -> None:
        """Commit."""
        self._close_cursors()
        super().commit()

    def undo(self) -> None:
        """Release every lock. What was not committed is discarded."""
        self._close_cursors()
        if self.in_transaction:
            super().rollback()

    def _close_cursors(self) -> None:
        for cursor in self._cursors:
            cursor.close()
        self._cursors.clear()

    def shut(self) -> None:
        """Close the connection."""
        self.undo()
        super().close()


class Link:
    """The connection to `path`, opened when needed, or to a database in memory if `path` is None."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._raw: Raw | None = None
        self._wrapped: sa.Connection | None = None
        self._files: tuple[Identity | None, ...] = ()
        if path is None:
            self._raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Raw)

    def begin(self, how: str) -> sa.Connection:
        """A connection with a new transaction. What an earlier one left is undone."""
        raw = self._raw or self._open()
        if raw.in_transaction:
            raw.undo()
        self.check_files()
        raw.execute(how).close()
        if how == "BEGIN":
            raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()  # a reader takes its snapshot here
        if self._wrapped is None:
            self._wrapped = wrap(raw)
        return self._wrapped

    def commit(self) -> None:
        """Commit. The data are on the disk when this returns, in the file that has the path's name."""
        assert self._raw is not None
        self._raw.keep()
        self.check_files()

    def roll_back(self) -> None:
        """Undo the transaction."""
        if self._raw is not None:
            self._raw.undo()

    def undo(self) -> None:
        """Undo the transaction and discard SQLAlchemy's own state, which an interrupt may have left incomplete."""
        self._wrapped = None
        self.roll_back()

    def shut(self) -> None:
        """Close the connection. A database in memory is lost."""
        raw, self._raw, self._wrapped = self._raw, None, None
        if raw is not None:
            raw.shut()

    # --- the files ----------------------------------------------------------------------------------------------

    def _open(self) -> Raw:
        assert self.path is not None
        files.check(self.path)
        raw = connect(self.path)
        try:
            raw.execute(f"PRAGMA synchronous = {SYNCHRONOUS}").close()
            raw.execute("PRAGMA fullfsync = ON").close()  # where fsync alone does not reach the disk
            raw.execute("PRAGMA checkpoint_fullfsync = ON").close()
            raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}").close()
            raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # now the log and its index are there
            self._files = self._identities()
        except BaseException:
            raw.shut()
            raise
        self._raw = raw
        return raw

    def _identities(self) -> tuple[Identity | None, ...]:
        return tuple(_identity(f"{self.path}{part}") for part in PARTS)

    def is_current(self) -> bool:
        """Whether the path still leads to the file that is open."""
        return self._raw is None or self._identities()[:1] == self._files[:1]

    def check_files(self) -> None:
        """Raise a `StoreError` if the file, its log or the log's index is no longer the one that was opened.

        Without this check, data written into a deleted log would be acknowledged and lost, and two processes with
        different indexes would take the same number.
        """
        now = self._identities() if self.path is not None else self._files
        if now == self._files:
            return
        gone = next(part for part, a, b in zip(PARTS, now, self._files, strict=True) if a != b)
        if gone:  # the file is still ours, so that closing moves into it what is only in our log
            self.shut()
        raise StoreError(
            f"{self.path}{gone}: it was moved, replaced or deleted while the study was open; what was acknowledged "
            "last may be lost. Put the file back, or open the study again"
        )


def connect(path: Path) -> Raw:
    """A connection to an existing file: mode=rw never creates one."""
    uri = f"{path.as_uri()}?mode=rw"
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=Raw
    )


def wrap(raw: Raw) -> sa.Connection:
    """SQLAlchemy's view of it, which neither begins nor ends transactions: `Link` does."""
    _handed.raw = raw
    return _engine().connect()


_handed = threading.local()  # what the engine takes for its next connection, in each thread


@lru_cache(maxsize=1)
def _engine() -> sa.Engine:
    """One for all files, so that a statement is compiled once in a process: a first call is as fast as any other."""
    return sa.create_engine("sqlite+pysqlite://", creator=lambda: _handed.raw, poolclass=NullPool)


def _identity(path: str) -> Identity | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
