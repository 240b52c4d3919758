"""SQLite in memory: one connection, and no threads of its own, since there is no disk to wait for.

A transaction runs in the thread that calls. An interrupt undoes it, at whatever statement it comes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from driftwise.concurrency.guard import Guard
from driftwise.errors import DriftwiseError, StoreError
from driftwise.log import files, forks, schema, sqlite
from driftwise.log.stores import Store

Result = TypeVar("Result")


class InMemory(Store):
    """The studies in a database of its own."""

    def __init__(self) -> None:
        super().__init__(None, "a study in memory")
        self._raw = raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=_Kept)
        self._engine = sqlite.engine(NullPool, lambda: raw)
        self._connection = self._engine.connect()
        self._transaction, self._choice = Guard(), Guard()
        forks.watch(self)
        self.writing(schema.metadata.create_all)

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        return self._transaction.run(self._transacted, work)

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        return self._transaction.run(self._transacted, work)

    def choosing(self, study: int, work: Callable[[], Result]) -> Result:
        return self._choice.run(work)

    def _transacted(self, work: Callable[[sa.Connection], Result]) -> Result:
        raw = self._raw
        if raw.in_transaction:
            raise StoreError(
                f"{self.where}: it was used from within one of its own calls, as by a signal handler; use it after the "
                "call has returned"
            )
        try:
            raw.execute("BEGIN").close()
            result = work(self._connection)
            raw.commit()
        except BaseException as error:
            raw.rollback()
            if not isinstance(error, DriftwiseError):  # SQLAlchemy's own state may be half of something
                self._connection = self._engine.connect()
            if isinstance(error, files.SQLITE_ERRORS) and not isinstance(error, sa.exc.IntegrityError):
                raise files.explain(error, self.where) from error
            raise
        return result

    def close(self) -> None:
        """There is nothing to close: the database is there as long as this."""

    def paused(self) -> AbstractContextManager[None]:
        return self._transaction.held()

    def forget(self) -> None:
        """A forked child goes on with a copy."""


class _Kept(sqlite3.Connection):
    """The connection is the database. SQLAlchemy closes one in whose statement an interrupt came."""

    def close(self) -> None: ...

    def __del__(self) -> None:
        super().close()
