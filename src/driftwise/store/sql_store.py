"""The studies of a database by name: what a store does by the same statements in SQLite and in PostgreSQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError
from driftwise.store import copies, rows
from driftwise.store.log import SqlLog
from driftwise.text import did_you_mean

Result = TypeVar("Result")


class SqlStore(ABC):
    """A store on a database, which a subclass connects to. `log.Transactions` says what the abstract methods do."""

    where: str

    @abstractmethod
    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result: ...

    @abstractmethod
    def reading(self, work: Callable[[sa.Connection], Result]) -> Result: ...

    @abstractmethod
    def numbering(self, study: int, work: Callable[[], Result]) -> Result: ...

    @abstractmethod
    def close(self) -> None:
        """Close every connection. The next call opens one again."""

    def create(
        self, name: str, description: str, also: Callable[[sa.Connection], object] = lambda connection: None
    ) -> SqlLog:
        """The log of that name, or a new one. What is `also` done for a new one is in the same transaction."""

        def make(connection: sa.Connection) -> SqlLog:
            rows.lock_studies(connection)
            found = rows.find_study(connection, name, sure=False)
            if found is not None:  # another process was faster
                return SqlLog(self, found[0], name, found[1])
            standing = rows.add_study(connection, name, description)
            also(connection)
            return SqlLog(self, standing.study, name, description, is_new=True)

        found = self._find(name, sure=False)
        if found is not None:
            return found
        return self.writing(make, again=True)

    def open(self, name: str) -> SqlLog:
        found = self._find(name)
        if found is None:
            names = self.names()
            known = ", ".join(map(repr, names[:10])) or "none"
            raise NotFoundError(f"{self.where} has no study {name!r:.80}; {did_you_mean(name, names)}it has {known}")
        return found

    def names(self) -> list[str]:
        return self.reading(rows.names)

    def rename(self, name: str, new: str) -> None:
        def work(connection: sa.Connection) -> None:
            rows.lock_studies(connection)
            self._check_free(connection, new)
            rows.rename_study(connection, self._standing(connection, name), new)

        if name != new:
            self._write(name, work)

    def delete(self, name: str) -> None:
        def work(connection: sa.Connection) -> None:
            rows.lock_studies(connection)
            study = self._standing(connection, name).study
            count, deleted = rows.census(connection)
            rows.delete_study(connection, study)
            rows.count_studies(connection, count - 1, deleted + 1)

        self._write(name, work)

    def copy(self, name: str, target: SqlStore, new: str) -> SqlLog:
        """The log is read into memory, so that neither store waits while the other is busy."""
        log = self.open(name)
        return target.adopt(new, log.description, log.read(copies.read))

    def adopt(self, name: str, description: str, contents: copies.Whole) -> SqlLog:
        """A new log with these contents, all of them or nothing."""

        def work(connection: sa.Connection) -> None:
            rows.lock_studies(connection)
            self._check_free(connection, name)
            copies.write(connection, rows.add_study(connection, name, description), contents)

        self.writing(work)
        return self.open(name)

    def _write(self, name: str, work: Callable[[sa.Connection], None]) -> None:
        """Change the study of this name, which must exist."""
        self.open(name)
        self.writing(work)

    def _standing(self, connection: sa.Connection, name: str) -> rows.Standing:
        found = rows.find_study(connection, name)
        standing = None if found is None else rows.standing_of(connection, found[0], name, lock=True)
        if standing is None:
            raise NotFoundError(f"{self.where} has no study {name!r:.80} any more")
        return standing

    def _check_free(self, connection: sa.Connection, name: str) -> None:
        if rows.find_study(connection, name) is not None:
            raise ConflictError(f"{self.where} already has a study {name!r:.80}; use another name, or delete that one")

    def _find(self, name: str, *, sure: bool = True) -> SqlLog | None:
        found = self.reading(lambda connection: rows.find_study(connection, name, sure=sure))
        return None if found is None else SqlLog(self, found[0], name, found[1])
