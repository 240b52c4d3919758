"""The log of one study: asking, telling, correcting and reading."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.log import loading, standing, telling
from driftwise.log.base import (
    Asked,
    Choice,
    Chosen,
    Correction,
    Counts,
    Loaded,
    NewEntry,
    NewObservation,
    Outcome,
    Told,
)
from driftwise.log.entries import asked_in
from driftwise.log.schema import ABANDONED, ASKED, OBSERVED
from driftwise.log.standing import Step
from driftwise.log.view import Memo, View
from driftwise.records import Observation, Point, time_of_next

if TYPE_CHECKING:
    from driftwise.log.stores import Store

PAGE = 1000  # observations that `observations` reads at a time

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Log:
    """The log of study number `study` in a store.

    Every method is one transaction, which is on the disk as a whole when it returns. An ask is two.
    """

    store: Store
    study: int
    name: str
    description: str
    memo: Memo = field(default_factory=Memo)
    is_new: bool = False  # it was just made

    # --- transactions -------------------------------------------------------------------------------------------

    def read(self, work: Callable[[View], Result]) -> Result:
        """Return what `work` returns for the present log. It should read what it needs and compute later."""
        return self.store.reading(lambda connection: work(self.view(connection)))

    def _write(self, work: Callable[[View], Result], *, again: bool = True) -> Result:
        return self.store.writing(lambda connection: work(self.view(connection, lock=True)), again=again)

    def view(self, connection: sa.Connection, *, lock: bool = False) -> View:
        """The log within a transaction; with `lock` no other one may change it."""
        found = standing.standing_of(connection, self.study, self.name, lock=lock)
        if found is None:
            raise StoreError(
                f"{self.store.where}: study {self.name!r:.80} is no longer in it; if it was renamed, open it by "
                "its new name"
            )
        return View(connection, found, self.memo)

    # --- ask and abandon ----------------------------------------------------------------------------------------

    def ask(self, key: str | None, prepare: Callable[[View], Choice], patience: int) -> Asked:
        """The suggestion with this key, or a new one if there is none.

        `prepare` reads from the log what the choice depends on. The choice is then made outside of every transaction
        and every lock. If another suggestion was stored meanwhile, it is made again. The suggestion counts as pending
        while the next `patience` are made.
        """
        return self.ask_many(key, prepare, patience, 1)[0]

    def ask_many(self, key: str | None, prepare: Callable[[View], Choice], patience: int, n: int) -> tuple[Asked, ...]:
        """Read, choose outside of every transaction, and write; again if another suggestion was stored meanwhile.

        Each time that one has to begin again, another one was made: of all who ask at the same time somebody always
        gets on.
        """
        return self.store.choosing(self.study, lambda: self._ask(key, prepare, patience, n))

    def _ask(self, key: str | None, prepare: Callable[[View], Choice], patience: int, n: int) -> tuple[Asked, ...]:

        def read(view: View) -> tuple[tuple[Asked, ...], Counts, Choice | None]:
            known = self._with_key(view, key, n)
            return known, view.counts, None if known else prepare(view)

        while True:
            known, before, choose = self.read(read)
            if choose is None:
                return known
            new = _New(choose(), key, before)
            assert len(new.chosen) == n, f"{n} were asked for, {len(new.chosen)} chosen"
            if made := self._write(partial(self._suggest, new, patience)):
                return made

    def _with_key(self, view: View, key: str | None, n: int) -> tuple[Asked, ...]:
        """The suggestions with this key, or none."""
        known = () if key is None else view.with_key(key)
        if known and len(known) != n:
            raise ConflictError(f"key {key!r} was asked for n={len(known)} before, now for n={n}; use another key")
        return known

    def _suggest(self, new: _New, patience: int, view: View) -> tuple[Asked, ...]:
        """Store what was chosen; nothing if another suggestion was stored since its choice began."""
        n = len(new.chosen)
        known = self._with_key(view, new.key, n)
        if known:
            return known
        if view.counts.asked != new.before.asked:  # they may be there since a commit whose answer was lost
            stored = tuple(map(asked_in, view.after(ASKED, new.before.last, n)))
            return stored if new.is_in(stored) else ()
        asked, now, steps = new.named(view), view.standing, list[Step]()
        for i, each in enumerate(asked):
            steps.append(now.asks(each, patience=patience, batch=n if n > 1 and i == 0 else None))
            now = steps[-1][0]
        telling.write(view.connection, steps)
        return asked

    def abandon(self, id: str) -> None:
        """Stop waiting for the reward of a suggestion."""

        def work(view: View) -> None:
            found = view.suggested(id)
            if OBSERVED in found:
                raise ConflictError(f"suggestion {id} has its reward and can no longer be abandoned")
            if ABANDONED not in found:
                telling.write(view.connection, [view.standing.abandons(found[ASKED].number)])

        self._write(work)

    # --- tell and observe ---------------------------------------------------------------------------------------

    def tell(
        self, id: str, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        """Store the outcome of a suggestion, once.

        What was told first, or what holds now, may be told again and changes nothing. Anything else raises a
        `ConflictError`, and so does a `key` that belongs to another observation.
        """
        return self._store(NewEntry(id, outcome, at, key, limit))

    def observe(
        self, x: Point, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        """Store an outcome at a point that was not suggested, once for each key."""
        return self._store(NewEntry(x, outcome, at, key, limit))

    def _store(self, entry: NewEntry) -> Told:
        (found,) = telling.store(self.store, [(self, entry)])
        if isinstance(found, Told):
            return found
        assert found is not None, "it waits for the study"
        raise found

    def load(self, entries: Sequence[NewObservation], first: int = 1) -> Loaded:
        """Store many such outcomes, all or none. An error counts them from `first`."""
        keyed = all(entry.key is not None for entry in entries)
        return self._write(lambda view: loading.load(view, entries, first), again=keyed)

    # --- decisions ----------------------------------------------------------------------------------------------

    def decide(self, made: Callable[[View], Mapping[str, Any] | None]) -> None:
        """Store the decision that `made` returns for the log as it is then; nothing if it returns None."""

        def work(view: View) -> None:
            if (said := made(view)) is not None:
                telling.write(view.connection, [view.standing.decides(said)])

        self._write(work, again=False)

    # --- corrections --------------------------------------------------------------------------------------------

    def correct(
        self, number: int, outcome: Outcome | None, who: str = "", why: str = "", limit: int | None = None
    ) -> Told:
        """From now on observation `number` has this outcome; None retracts it. What was told stays in the log.

        The outcome that already holds changes nothing. A retracted observation may be corrected again.
        """

        def work(view: View) -> Told:
            before = view.overlay.outcome(self._observed(view, number))
            if before == outcome:
                return view.told(number, new=False, limit=limit)
            when = datetime.now(UTC).isoformat(timespec="seconds")
            made = Correction(view.counts.corrected + 1, number, before, outcome, who, when, why)
            step = view.standing.corrects(made)
            telling.write(view.connection, [step])
            return View(view.connection, step[0], self.memo).told(number, new=True, limit=limit)

        return self._write(work)

    def _observed(self, view: View, number: int) -> Observation:
        if not 1 <= number <= view.counts.last:
            raise NotFoundError(f"study {self.name!r} has no observation {number}; it has up to {view.counts.last}")
        seen = view.numbered(number)
        if seen is None:
            raise NotFoundError(f"suggestion {number} of study {self.name!r} has no reward to correct; tell it first")
        return seen

    def outcome(self, number: int) -> Outcome | None:
        """What holds for observation `number` now; None if it is retracted."""
        return self.read(lambda view: view.overlay.outcome(self._observed(view, number)))

    def number_of(self, id: str) -> int:
        """The number of a suggestion."""
        return self.read(lambda view: view.suggested(id)[ASKED].number)

    def corrections(self) -> list[Correction]:
        """All corrections, oldest first."""
        return self.read(lambda view: view.corrections())

    # --- reading ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Observation]:
        """All observations as they hold now, in the order of their numbers, read page by page."""
        last: int | None = 0
        while last is not None:
            page, last = self.read(lambda view, above=last: view.page(above, PAGE))  # type: ignore[misc]
            yield from page  # outside the transaction: the reader may take its time


@dataclass(frozen=True)
class _New:
    """What was chosen when the log had the counts `before`, with the key for the first of them.

    The random part of an id distinguishes it from the one with the same number in a copy of the log.
    """

    chosen: Sequence[Chosen]
    key: str | None
    before: Counts
    token: str = field(default_factory=lambda: secrets.token_hex(6))

    def named(self, view: View) -> tuple[Asked, ...]:
        """The suggestions, with the numbers after the last one.

        Observations may have been stored meanwhile: the numbers are then not those for which it was chosen.
        """
        last, newest = view.counts.last, None
        moved = last != self.before.last and not all(each.own_time for each in self.chosen)
        if moved:
            newest = view.newest()
        made = list[Asked]()
        for number, each in enumerate(self.chosen, last + 1):
            id = f"{number}-{self.token}"
            at = time_of_next(number, newest) if moved and not each.own_time else each.at
            key = self.key if self.key is not None and not made else id
            made.append(Asked(number, id, key, at, each.x, each.jitter, each.serving))
        return tuple(made)

    def is_in(self, stored: Sequence[Asked]) -> bool:
        """Whether these are the suggestions that were chosen here."""
        return [each.id.partition("-")[2] for each in stored] == [self.token] * len(self.chosen)
