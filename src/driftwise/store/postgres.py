"""The store in PostgreSQL: a row lock for every write to a study, and an advisory lock of its session for its numbers.

Two studies never wait for each other, and readers wait for nobody. The server queues those who wait for one lock in the
order they came. Both locks end with the session, so that a client that dies, or is interrupted, leaves none.

A connection may be lost at any moment. Before the commit nothing is stored, and the call is repeated on a new one. When
it is lost during the commit, only the log tells what became of it: a call that would find what it did is repeated, and
any other is reported.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from driftwise.errors import DriftwiseError, NotFoundError, StoreError
from driftwise.store import postgres_format
from driftwise.store.postgres_address import parsed
from driftwise.store.postgres_errors import POSTGRES_ERRORS, LostConnection, explain, is_passing
from driftwise.store.postgres_link import BARE, READ, WRITE, PostgresLink, is_starting
from driftwise.store.postgres_pool import LinkPool
from driftwise.store.sql_store import SqlStore

SOON, LATER = 0.02, 1.0  # seconds between two attempts to reach the server, at first and at most

Result = TypeVar("Result")


class PostgresStore(SqlStore):
    """The studies in a schema of a database. Any number of threads may use it at a time."""

    def __init__(self, path: str, *, create: bool = True) -> None:
        self.path, self.address = path, parsed(path)
        self.where = self.address.shown
        self._pool = LinkPool(self.address)
        weakref.finalize(self, self._pool.close)
        self._prepare(create)

    def _prepare(self, create: bool) -> None:
        """Create the tables. Nobody waits for a server that was never there."""
        name = self.address.schema
        if not self._transacted(BARE, lambda c: postgres_format.is_present(c, name), is_new=True):
            if not create:
                raise NotFoundError(f"there is no study in {self.where}; create one there first, or give another path")
            self._transacted(BARE, lambda c: postgres_format.create(c, name), again=True)
        self.reading(lambda connection: None)  # another format is refused now, not at the first tell

    # --- transactions -------------------------------------------------------------------------------------------

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        return self._transacted(WRITE, work, again=again)

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        return self._transacted(READ, work, again=True)

    def numbering(self, study: int, work: Callable[[], Result]) -> Result:
        return self._pool.run(lambda link: self._numbering(link, study, work))

    def _numbering(self, link: PostgresLink, study: int, work: Callable[[], Result]) -> Result:
        self._patiently(lambda: self._locked(link, study))
        try:
            result = work()
        except DriftwiseError:
            self._unlocked(link, study)
            raise
        self._unlocked(link, study)
        return result

    def _locked(self, link: PostgresLink, study: int) -> None:
        try:
            link.lock(study)
        except POSTGRES_ERRORS as error:
            raise self._explained(link, error) from error

    def _unlocked(self, link: PostgresLink, study: int) -> None:
        try:
            link.unlock(study)
        except POSTGRES_ERRORS:
            link.shut()  # which unlocks it as well

    def _transacted(
        self, begin: str, work: Callable[[sa.Connection], Result], *, again: bool = False, is_new: bool = False
    ) -> Result:
        """The transaction is over when this returns or raises, whatever exception is raised at whatever moment."""
        return self._patiently(
            lambda: self._pool.run(lambda link: self._once(link, begin, work)), again=again, is_new=is_new
        )

    def _once(self, link: PostgresLink, begin: str, work: Callable[[sa.Connection], Result]) -> Result:
        if link.inside:
            raise StoreError(
                f"{self.where}: it was used from within one of its own calls, as by a signal handler; "
                "use it after the call has returned"
            )
        during_commit = False
        try:
            link.inside = True
            result = work(link.begin(begin))
            during_commit = True
            link.commit()
            link.inside = False
        except POSTGRES_ERRORS as error:
            raise self._explained(link, error, during_commit=during_commit) from error
        except DriftwiseError:
            self._undone(link)
            raise
        except BaseException:
            link.shut()
            raise
        return result

    def _undone(self, link: PostgresLink) -> None:
        try:
            link.roll_back()
            link.inside = False
        except POSTGRES_ERRORS:
            link.shut()

    def _explained(self, link: PostgresLink, error: Exception, *, during_commit: bool = False) -> Exception:
        """What to raise for an error of the server or of the connection, which is closed."""
        link.shut()
        if not is_passing(error):
            return explain(error, self.where)
        return LostConnection(error, during_commit=during_commit)

    # --- a server that is away ----------------------------------------------------------------------------------

    def _patiently(self, call: Callable[[], Result], *, again: bool = True, is_new: bool = False) -> Result:
        """Return what `call` returns. It is repeated while the server is away, for as long as the address says."""
        deadline, pause = time.monotonic() + self.address.patience, SOON
        while True:
            try:
                return call()
            except LostConnection as lost:
                self._pool.close()  # what is idle was lost, too
                if lost.during_commit and not again:
                    raise StoreError(
                        f"{self.where}: the connection was lost during the commit, so that it is not known whether the "
                        f"call was stored ({lost}). Look whether it was, or repeat a call that has a key"
                    ) from lost
                if time.monotonic() + pause > deadline or (is_new and not is_starting(self.address)):
                    raise StoreError(
                        f"{self.where}: the server cannot be reached ({lost}); correct the address, or try again"
                    ) from lost
                time.sleep(pause)
                pause = min(2 * pause, LATER)

    def close(self) -> None:
        self._pool.close()
