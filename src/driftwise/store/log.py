"""The log of one study in SQLite. Each method is one transaction; an ask is two, and the policy chooses in between."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.records import Observation, Point, time_of_next
from driftwise.store import corrections, keys, loading, rows
from driftwise.store.base import (
    Asked,
    Choice,
    Chosen,
    Correction,
    Loaded,
    NewObservation,
    Outcome,
    Told,
    observation_of,
    outcome_of,
    said,
)
from driftwise.store.corrections import Memo
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
    memo: Memo = field(default_factory=Memo)

    # --- transactions -------------------------------------------------------------------------------------------

    def read(self, work: Callable[[SqliteView], Result]) -> Result:
        return self.store.reading(lambda connection: work(self._view(connection)))

    def _write(self, work: Callable[[SqliteView], Result]) -> Result:
        self.store.upgrade()
        return self.store.writing(lambda connection: work(self._view(connection)))

    def _view(self, connection: sa.Connection) -> SqliteView:
        standing = rows.standing_of(connection, self.study, self.name)
        if standing is None:
            raise StoreError(
                f"{self.store.where}: study {self.name!r:.80} is no longer in it; if it was renamed, open it by "
                "its new name"
            )
        return SqliteView(connection, standing, self.memo)

    # --- ask and abandon ----------------------------------------------------------------------------------------

    def ask(self, key: str | None, prepare: Callable[[SqliteView], Choice], patience: int) -> Asked:
        return self.ask_many(key, prepare, patience, 1)[0]

    def ask_many(
        self, key: str | None, prepare: Callable[[SqliteView], Choice], patience: int, n: int
    ) -> tuple[Asked, ...]:
        self.store.upgrade()
        return self.store.numbering(lambda: self._ask(key, prepare, patience, n))

    def _ask(
        self, key: str | None, prepare: Callable[[SqliteView], Choice], patience: int, n: int
    ) -> tuple[Asked, ...]:
        """Read, choose outside any transaction, and write if the number of the choice is still the next one.

        It always is if every process waits for its turn. The attempts are for the case that one does not.
        """

        def read(view: SqliteView) -> tuple[tuple[Asked, ...], int, Choice | None]:
            known = self._with_key(view, key, n)
            return known, view.counts.last, None if known else prepare(view)

        for _ in range(TRIES):
            known, last, choose = self.read(read)
            if choose is None:
                return known
            made = self._write(partial(self._suggest, key, choose(), n, patience, last))
            if made:
                return made
        return self._write(lambda view: self._suggest(key, prepare(view)(), n, patience, view.counts.last, view))

    def _with_key(self, view: SqliteView, key: str | None, n: int) -> tuple[Asked, ...]:
        """The suggestions with this key, or none."""
        known, batch = ((), 1) if key is None else view.with_key(key)
        if known and batch != n:
            raise ConflictError(f"key {key!r} was asked for n={batch} before, now for n={n}; use another key")
        return known

    def _suggest(
        self, key: str | None, chosen: Sequence[Chosen], n: int, patience: int, last: int, view: SqliteView
    ) -> tuple[Asked, ...]:
        """Store what was chosen when `last` was the last number; nothing where it no longer is."""
        known = self._with_key(view, key, n)
        if known or view.counts.last != last:
            return known
        assert len(chosen) == n, f"{n} were asked for, {len(chosen)} chosen"
        standing = view.standing if key is None else keys.insert(view.connection, view.standing, ASKED, key, last + 1)
        asked = tuple(_named(last + i, each, key if i == 1 else None) for i, each in enumerate(chosen, 1))
        written: list[dict[str, Any]] = []
        for each in asked:
            standing = standing.asks(each, patience=patience)
            batch = n if n > 1 and not written else None
            written.append(rows.suggestion_row(self.study, each, standing.counts.asked, AWAITED, batch))
        view.connection.execute(rows.INSERT_SUGGESTION, written if n > 1 else written[0])
        rows.update_study(view.connection, standing)
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

    def tell(
        self, id: str, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        def work(view: SqliteView) -> Told:
            row = self._suggestion(view, id)
            taken = None if key is None else keys.find(view.connection, view.standing, OBSERVED, key)
            if taken not in (None, row.number):
                raise ConflictError(f"key {key!r} belongs to observation {taken}; use another key for suggestion {id}")
            if row.status == ANSWERED:
                known = view.known(row.number)
                if not _is_known(view, known, outcome):
                    before = said(outcome_of(known))
                    raise ConflictError(
                        f"suggestion {id} was told {before} before, now {said(outcome)}; the first stays"
                    )
                return view.told(known.number, new=False, limit=limit)
            asked = rows.verified_suggestion(row)
            rows.mark_suggestion(view.connection, row, ANSWERED)
            standing = view.standing
            if key is not None:
                standing = keys.insert(view.connection, standing, OBSERVED, key, row.number)
            seen = observation_of(asked.number, asked.at if at is None else at, asked.x, outcome)
            return self._store(view.connection, standing, seen, key, limit, row.status)

        return self._write(work)

    def observe(
        self, x: Point, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        def work(view: SqliteView) -> Told:
            known = view.observed_with_key(key) if key is not None else None
            if known is not None:
                if known.x != x or not _is_known(view, known, outcome) or at not in (None, known.at):
                    raise ConflictError(
                        f"key {key!r} was observed before with another point, reward or time; the first stays, "
                        "so use another key for another observation"
                    )
                return view.told(known.number, new=False, limit=limit)
            standing, number = view.standing, view.counts.last + 1
            if key is not None:
                standing = keys.insert(view.connection, standing, OBSERVED, key, number)
            time = time_of_next(number, view.newest()) if at is None else at
            seen = observation_of(number, time, x, outcome)
            return self._store(view.connection, standing, seen, key, limit, None)

        self.store.upgrade()
        return self.store.numbering(lambda: self._write(work))

    def load(self, entries: Sequence[NewObservation], first: int = 1) -> Loaded:
        self.store.upgrade()
        return self.store.numbering(lambda: self._write(lambda view: loading.load(view, entries, first)))

    def _store(
        self,
        connection: sa.Connection,
        standing: Standing,
        seen: Observation,
        key: str | None,
        limit: int | None,
        status: int | None,
    ) -> Told:
        """Store an observation; `status` is that of its suggestion, None if it has none."""
        row = rows.observation_row(self.study, seen, key, standing.counts.told + 1)
        connection.execute(rows.INSERT_OBSERVATION, row)
        standing = standing.stores(seen, row["checksum"], status)
        rows.update_study(connection, standing)
        return SqliteView(connection, standing, self.memo).told(seen.number, new=True, limit=limit)

    def _suggestion(self, view: SqliteView, id: str) -> rows.Row:
        row = view.suggestion(id)
        if row is None:
            raise NotFoundError(f"study {self.name!r} has no suggestion {id!r:.80}")
        return row

    # --- corrections --------------------------------------------------------------------------------------------

    def correct(
        self, number: int, outcome: Outcome | None, who: str = "", why: str = "", limit: int | None = None
    ) -> Told:
        def work(view: SqliteView) -> Told:
            before = view.overlay.outcome(self._observed(view, number))
            if before == outcome:
                return view.told(number, new=False, limit=limit)
            when = datetime.now(UTC).isoformat(timespec="seconds")
            made = Correction(view.counts.corrected + 1, number, before, outcome, who, when, why)
            row = corrections.row_of(self.study, made)
            view.connection.execute(corrections.INSERT, row)
            standing = view.standing.corrects(made, row["checksum"])
            rows.update_study(view.connection, standing)
            return SqliteView(view.connection, standing, self.memo).told(number, new=True, limit=limit)

        return self._write(work)

    def _observed(self, view: SqliteView, number: int) -> Observation:
        seen = view.numbered(number) if 1 <= number <= view.counts.last else None
        if seen is not None:
            return seen
        if not 1 <= number <= view.counts.last:
            raise NotFoundError(f"study {self.name!r} has no observation {number}; it has up to {view.counts.last}")
        if view.is_answered(number):
            view.known(number)  # raises, since it is missing
        raise NotFoundError(f"suggestion {number} of study {self.name!r} has no reward to correct; tell it first")

    def outcome(self, number: int) -> Outcome | None:
        return self.read(lambda view: view.overlay.outcome(self._observed(view, number)))

    def number_of(self, id: str) -> int:
        return self.read(lambda view: int(self._suggestion(view, id).number))

    def corrections(self) -> list[Correction]:
        return self.read(lambda view: view.corrections())

    # --- reading ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Observation]:
        last: int | None = 0
        while last is not None:
            page, last = self.read(lambda view, above=last: view.page(above, PAGE))  # type: ignore[misc]
            yield from page  # outside the transaction: the reader may take its time


def _named(number: int, chosen: Chosen, key: str | None) -> Asked:
    """A choice with an id. Its random part distinguishes it from the one with the same number in a copy of the file."""
    id = f"{number}-{secrets.token_hex(6)}"
    return Asked(number, id, id if key is None else key, chosen.at, chosen.x, chosen.jitter)


def _is_known(view: SqliteView, known: Observation, outcome: Outcome) -> bool:
    """Whether this was told first, or holds now."""
    return outcome in (outcome_of(known), view.overlay.outcome(known))
