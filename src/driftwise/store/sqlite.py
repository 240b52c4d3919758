"""The store in SQLite: write-ahead log, synchronous=FULL, BEGIN IMMEDIATE for every write, one connection per file.

A deferred transaction that reads and then writes fails at once if another process wrote in between, whatever the busy
timeout is. Therefore a write takes the lock first, and waits for it.
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from driftwise.concurrency.guard import Guard
from driftwise.errors import DriftwiseError, StoreError
from driftwise.store import connection as connections
from driftwise.store import files, forks, schema
from driftwise.store.connection import Link
from driftwise.store.queue import Queue
from driftwise.store.sql_store import SqlStore

LOCK_SECONDS = 600.0  # how long a call waits for other processes

Result = TypeVar("Result")


class SqliteStore(SqlStore):
    """The studies in the file `path`, or in memory if `path` is None."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.where = "a study in memory" if path is None else str(path)
        self._transaction, self._numbers = Guard(), Guard()
        self._inside = False
        if path is not None and not path.exists():
            files.make(path, _build)
        self._link = Link(path)
        self._lanes = [] if path is None else [Queue(Path(f"{path}-queue"), lane) for lane in (0, 1)]
        weakref.finalize(self, _let_go, self._link, self._lanes)
        forks.watch(self)
        if path is None:
            self.writing(schema.create_in_file)
        else:
            self.names()  # a truncated or damaged file is detected now, not at the first tell

    # --- transactions -------------------------------------------------------------------------------------------

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        """Return what `work` returns, in a transaction that holds the one write lock of the file.

        The data are on the disk when this returns, or undone. Processes that wait for the lock are served in turn.
        """
        return self._transaction.run(self._in_turn, 1, lambda: self._transacted("BEGIN IMMEDIATE", work))

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Return what `work` returns, in a transaction that sees one state of the file."""
        return self._transaction.run(self._transacted, "BEGIN", work)

    def numbering(self, study: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, while no other process takes a number in the file. Others may tell and read."""
        return self._numbers.run(self._in_turn, 0, work)

    def _in_turn(self, lane: int, work: Callable[[], Result]) -> Result:
        if self.path is None:
            return work()
        queue = self._lanes[lane]
        try:
            queue.enter(LOCK_SECONDS)
            result = work()
            queue.leave()
        except BaseException:
            queue.leave()
            raise
        return result

    def _transacted(self, begin: str, work: Callable[[sa.Connection], Result]) -> Result:
        """The transaction is over when this returns or raises, whatever exception is raised at whatever moment."""
        if self._inside:
            raise StoreError(
                f"{self.where}: it was used from within one of its own calls, as by a signal handler; "
                "use it after the call has returned"
            )
        try:
            self._inside = True
            result = work(self._begun(begin))
            self._link.commit()
            self._inside = False
        except BaseException as error:
            self._inside = False
            if not isinstance(error, DriftwiseError):
                self._link.undo()
                if isinstance(error, files.SQLITE_ERRORS):
                    raise files.explain(error, self.where) from error
            self._link.roll_back()
            raise
        return result

    def _begun(self, begin: str) -> sa.Connection:
        """A connection in a transaction. Waits for the lock."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return self._link.begin(begin)
            except sqlite3.OperationalError as error:
                if not _is_taken(error):
                    raise
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{self.where}: another process has kept it locked for {LOCK_SECONDS:g} s; "
                        "end that process, or try again"
                    ) from error
                time.sleep(0.01)

    # --- the connection -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection, which is opened again when needed. A database in memory stays."""
        if self.path is not None:
            self._transaction.run(self._close)

    def _close(self) -> None:
        if not self._inside:
            _let_go(self._link, self._lanes)

    def is_current(self) -> bool:
        """Whether the path still leads to the file that is open."""
        return self._link.is_current()

    @contextmanager
    def held(self) -> Iterator[None]:
        """The only state in which a process may fork: no transaction, no choice in progress, and no open connection."""
        with ExitStack() as stack:
            stack.enter_context(self._numbers.held())
            stack.enter_context(self._transaction.held())
            self.close()
            yield


def _let_go(link: Link, lanes: list[Queue]) -> None:
    link.shut()
    for queue in lanes:
        queue.close()


def _build(path: Path) -> None:
    """A store without studies, in write-ahead mode. Nothing is synced here: `files.make` syncs the whole file."""
    raw = connections.connect(path)
    try:
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("PRAGMA journal_mode = OFF")
        raw.execute("BEGIN IMMEDIATE")
        schema.create_in_file(connections.wrap(raw))
        raw.keep()
        raw.execute("PRAGMA journal_mode = WAL")
    except files.SQLITE_ERRORS as error:
        raise files.explain(error, str(path)) from error
    finally:
        raw.shut()


def _is_taken(error: sqlite3.Error) -> bool:
    """Whether another process has the lock."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
