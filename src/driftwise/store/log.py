"""The log of one study in SQLite. Each method is one transaction; an ask is two, and the policy chooses in between."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.records import Observation, Point, time_of_next
from driftwise.store import keys, rows
from driftwise.store.base import Asked, Choice, Chosen, Told
from driftwise.store.checksums import damaged
from driftwise.store.rows import Standing
from driftwise.store.schema import ABANDONED, ANSWERED, ASKED, AWAITED, OBSERVED
from driftwise.store.view import SqliteView

PAGE = 1000  # rows that `observations` reads at a time
TRIES = 8  # choices repeated because another process took their number, before one is made with the file locked

Result = TypeVar("Result")


class Transactions(Protocol):
    where: str

    def writing(self, work: Callable[[sa.Connection], Result]) -> Result: ...
    def reading(self, work: Callable[[sa.Connection], Result]) -> Result: ...
    def numbering(self, work: Callable[[], Result]) -> Result: ...
    def upgrade(self) -> None: ...


@dataclass(frozen=True, eq=False)
class SqliteLog:
    """The log of study number `study` in a store."""

    store: Transactions
    study: int
    name: str
    description: str

    # --- transactions -------------------------------------------------------------------------------------------

    def read(self, work: Callable[[SqliteView], Result]) -> Result:
        return self.store.reading(lambda connection: work(self._view(connection)))

    def _write(self, work: Callable[[SqliteView], Result]) -> Result:
        self.store.upgrade()
        return self.store.writing(lambda connection: work(self._view(connection)))

    def _view(self, connection: sa.Connection) -> SqliteView:
        standing = rows.standing_of(connection, self.study, self.name)
        if standing is None:
            raise StoreError(f"{self.store.where}: study {self.name!r:.80} is no longer in it")
        return SqliteView(connection, standing)

    # --- ask and abandon ----------------------------------------------------------------------------------------

    def ask(self, key: str | None, prepare: Callable[[SqliteView], Choice], patience: int) -> Asked:
        self.store.upgrade()
        return self.store.numbering(lambda: self._ask(key, prepare, patience))

    def _ask(self, key: str | None, prepare: Callable[[SqliteView], Choice], patience: int) -> Asked:
        """Read, choose outside any transaction, and write if the number of the choice is still the next one.

        It always is if every process waits for its turn. The attempts are for the case that one does not.
        """
        for _ in range(TRIES):
            found = self.read(lambda view: self._with_key(view, key) or (view.counts.last, prepare(view)))
            if isinstance(found, Asked):
                return found
            last, choose = found
            made = self._write(partial(self._suggest, key, choose(), patience, last))
            if made is not None:
                return made
        made = self._write(lambda view: self._suggest(key, prepare(view)(), patience, view.counts.last, view))
        assert made is not None
        return made

    def _with_key(self, view: SqliteView, key: str | None) -> Asked | None:
        return None if key is None else view.with_key(key)

    def _suggest(self, key: str | None, chosen: Chosen, patience: int, last: int, view: SqliteView) -> Asked | None:
        """Store what was chosen when `last` was the last number; None where it no longer is."""
        known = self._with_key(view, key)
        if known is not None or view.counts.last != last:
            return known
        counts, standing = view.counts, view.standing
        number = counts.last + 1
        # The random part distinguishes this suggestion from the one with the same number in a copy of the file.
        id = f"{number}-{secrets.token_hex(6)}"
        asked = Asked(number, id, id if key is None else key, chosen.at, chosen.x, chosen.jitter)
        if key is not None:
            standing = keys.insert(view.connection, standing, ASKED, key, number)
        counts = replace(
            counts,
            last=number,
            asked=counts.asked + 1,
            jittered=counts.jittered + (chosen.jitter > 0),
            jitter=max(counts.jitter, chosen.jitter),
        )
        row = rows.suggestion_row(self.study, asked, counts.asked, AWAITED)
        view.connection.execute(rows.INSERT_SUGGESTION, row)
        rows.update_study(view.connection, replace(standing, counts=counts).awaits(number, patience=patience))
        return asked

    def abandon(self, id: str) -> None:
        def work(view: SqliteView) -> None:
            row = self._suggestion(view, id)
            if row.status == ANSWERED:
                raise ConflictError(f"suggestion {id} has its reward and can no longer be abandoned")
            if row.status == AWAITED:
                counts = replace(view.counts, abandoned=view.counts.abandoned + 1)
                rows.mark_suggestion(view.connection, row, ABANDONED)
                rows.update_study(view.connection, replace(view.standing, counts=counts).no_longer_awaits(row.number))

        self._write(work)

    # --- tell and observe ---------------------------------------------------------------------------------------

    def tell(self, id: str, y: float, at: float | None, limit: int | None) -> Told:
        def work(view: SqliteView) -> Told:
            row = self._suggestion(view, id)
            if row.status == ANSWERED:
                known = view.numbered(row.number)
                if known is None:
                    raise damaged(f"observation {row.number} is missing")
                if known.y != y:
                    raise ConflictError(f"suggestion {id} was told {known.y!r} before, now {y!r}; the first stays")
                return view.told(known.number, new=False, limit=limit)
            asked = rows.verified_suggestion(row)
            counts = replace(view.counts, abandoned=view.counts.abandoned - (row.status == ABANDONED))
            rows.mark_suggestion(view.connection, row, ANSWERED)
            standing = replace(view.standing, counts=counts).no_longer_awaits(row.number)
            seen = Observation(asked.number, asked.at if at is None else at, asked.x, y)
            return self._store(view.connection, standing, seen, None, limit)

        return self._write(work)

    def observe(self, x: Point, y: float, at: float | None, key: str | None, limit: int | None) -> Told:
        def work(view: SqliteView) -> Told:
            known = view.observed_with_key(key) if key is not None else None
            if known is not None:
                if known.x != x or known.y != y or (at is not None and known.at != at):
                    raise ConflictError(
                        f"key {key!r} was observed before with another point, reward or time; the first stays, "
                        "so use another key for another observation"
                    )
                return view.told(known.number, new=False, limit=limit)
            standing, number = view.standing, view.counts.last + 1
            if key is not None:
                standing = keys.insert(view.connection, standing, OBSERVED, key, number)
            time = time_of_next(number, view.newest()) if at is None else at
            counts = replace(view.counts, last=number, unasked=view.counts.unasked + 1)
            seen = Observation(number, time, x, y)
            return self._store(view.connection, replace(standing, counts=counts), seen, key, limit)

        self.store.upgrade()
        return self.store.numbering(lambda: self._write(work))

    def _store(
        self, connection: sa.Connection, standing: Standing, seen: Observation, key: str | None, limit: int | None
    ) -> Told:
        counts = replace(standing.counts, told=standing.counts.told + 1)
        row = rows.observation_row(self.study, seen, key, counts.told)
        connection.execute(rows.INSERT_OBSERVATION, row)
        standing = replace(standing, counts=counts, head=rows.chained(standing.head, [row["checksum"]]))
        rows.update_study(connection, standing)
        return SqliteView(connection, standing).told(seen.number, new=True, limit=limit)

    def _suggestion(self, view: SqliteView, id: str) -> rows.Row:
        row = view.suggestion(id)
        if row is None:
            raise NotFoundError(f"study {self.name!r} has no suggestion {id!r:.80}")
        return row

    # --- reading ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Observation]:
        last = 0
        while True:
            page = self.read(lambda view, above=last: view.page(above, PAGE))  # type: ignore[misc]
            yield from page  # outside the transaction: the reader may take its time
            if len(page) < PAGE:
                return
            last = page[-1].number
