"""The studies of a database by name: the same statements for all. `tests/contracts/store.py` tests every database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError
from driftwise.log import copies, entries
from driftwise.log.base import Counts
from driftwise.log.schema import entries as entries_table
from driftwise.log.schema import studies
from driftwise.log.standing import Standing, columns_of, standing_of
from driftwise.log.study_log import Log
from driftwise.text import did_you_mean

Result = TypeVar("Result")


class Store(ABC):
    """The studies of a database. `Sqlite`, `InMemory` and `Postgres` add how its transactions are made.

    `path` is what the store was opened with, and `where` is the same in messages.
    """

    def __init__(self, path: Path | str | None, where: str) -> None:
        self.path, self.where = path, where

    # --- transactions -------------------------------------------------------------------------------------------

    @abstractmethod
    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        """Return what `work` returns, in a transaction that is on the disk when this returns, or undone.

        `work` begins by locking what it changes. `again` says that it may be done a second time after it was stored,
        because it then finds what it did: so it is, if the connection is lost during the commit.
        """

    @abstractmethod
    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Return what `work` returns, in a transaction that sees one state."""

    @abstractmethod
    def choosing(self, study: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns: those who ask the same study take turns, if none of them takes long.

        It saves choices that would be in vain. Nobody else waits for it, and nothing depends on it.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every connection. The next call opens one again."""

    def is_current(self) -> bool:
        """Whether the path still leads to what is open."""
        return True

    # --- studies ------------------------------------------------------------------------------------------------

    def create(
        self, name: str, description: str, also: Callable[[sa.Connection], object] = lambda connection: None
    ) -> Log:
        """The log of that name, or a new one. What is `also` done for a new one is in the same transaction."""

        def make(connection: sa.Connection) -> Log:
            made = Log(self, _add(connection, name, description), name, description, is_new=True)
            also(connection)
            return made

        while (found := self._find(name)) is None:
            try:
                return self.writing(make, again=True)
            except sa.exc.IntegrityError:  # another process was faster
                continue
        return found

    def open(self, name: str) -> Log:
        """The log of that name."""
        found = self._find(name)
        if found is None:
            names = self.names()
            known = ", ".join(map(repr, names[:10])) or "none"
            raise NotFoundError(f"{self.where} has no study {name!r:.80}; {did_you_mean(name, names)}it has {known}")
        return found

    def names(self) -> list[str]:
        """The names of all logs."""
        return self.reading(lambda connection: sorted(connection.scalars(sa.select(studies.c.name))))

    def rename(self, name: str, new: str) -> None:
        """Give a log another name. Whoever has it open under the old one must open it again."""

        def work(connection: sa.Connection) -> None:
            study = self._standing(connection, name).study
            connection.execute(sa.update(studies).where(studies.c.study == study).values(name=new))

        if name != new:
            self.open(name)
            self._unless_taken(new, work)

    def delete(self, name: str) -> None:
        """Delete a log with all that is in it."""

        def work(connection: sa.Connection) -> None:
            study = self._standing(connection, name).study
            for table in (entries_table, studies):
                connection.execute(sa.delete(table).where(table.c.study == study))

        self.open(name)
        self.writing(work)

    def copy(self, name: str, target: Store, new: str) -> Log:
        """The log is read into memory, so that neither store waits while the other is busy."""
        log = self.open(name)
        return target.adopt(new, log.description, log.read(copies.read))

    def adopt(self, name: str, description: str, whole: copies.Whole) -> Log:
        """A new log with these contents, all of them or nothing."""
        self._unless_taken(
            name, lambda connection: copies.write(connection, _add(connection, name, description), whole)
        )
        return self.open(name)

    def _unless_taken(self, name: str, work: Callable[[sa.Connection], None]) -> None:
        """Do what gives a study this name."""
        try:
            self.writing(work)
        except sa.exc.IntegrityError:
            raise ConflictError(
                f"{self.where} already has a study {name!r:.80}; use another name, or delete that one"
            ) from None

    def _standing(self, connection: sa.Connection, name: str) -> Standing:
        found = connection.execute(_NUMBER, {"name": name}).scalar()
        standing = None if found is None else standing_of(connection, found, name, lock=True)
        if standing is None:
            raise NotFoundError(f"{self.where} has no study {name!r:.80} any more")
        return standing

    def _find(self, name: str) -> Log | None:
        found = self.reading(lambda connection: connection.execute(_FOUND, {"name": name}).first())
        return None if found is None else Log(self, found.study, name, found.description)


_named = studies.c.name == sa.bindparam("name")
_NUMBER = sa.select(studies.c.study).where(_named)
_FOUND = sa.select(studies.c.study, studies.c.description).where(_named)


def _add(connection: sa.Connection, name: str, description: str) -> int:
    """The number of a new study without entries. It was never given before."""
    empty = Standing(0, name, Counts(), (), entries.start(description))
    row = {"name": name, "description": description, **columns_of(empty)}
    made = connection.execute(sa.insert(studies), row).inserted_primary_key
    assert made is not None
    return int(made[0])
