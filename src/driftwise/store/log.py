"""The log of one study. Each method is one transaction; an ask is two, and the policy chooses in between."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.records import Observation, Point
from driftwise.store import corrections, keys, loading, rows, telling
from driftwise.store.base import (
    Asked,
    Choice,
    Chosen,
    Correction,
    Loaded,
    NewEntry,
    NewObservation,
    Outcome,
    Told,
)
from driftwise.store.corrections import Memo
from driftwise.store.schema import ABANDONED, ANSWERED, ASKED, AWAITED
from driftwise.store.view import SqlView

PAGE = 1000  # rows that `observations` reads at a time
TRIES = 8  # choices repeated because another process took their number, before one is made with the file locked

Result = TypeVar("Result")


class Transactions(Protocol):
    """What a log needs of a database. SQLite and PostgreSQL implement it; all statements are the same for both."""

    where: str  # for messages

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        """Return what `work` returns, in a transaction that is on the disk when this returns, or undone.

        `work` begins by locking what it changes. `again` says that it may be done a second time after it was stored,
        because it then finds what it did: so it is, if the connection is lost during the commit.
        """
        ...

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        """Return what `work` returns, in a transaction that sees one state."""
        ...

    def numbering(self, study: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, while nobody else takes a number of this study. Others may tell and read."""
        ...


@dataclass(frozen=True, eq=False)
class SqlLog:
    """The log of study number `study` in a store."""

    store: Transactions
    study: int
    name: str
    description: str
    memo: Memo = field(default_factory=Memo)
    is_new: bool = False  # it was just made

    # --- transactions -------------------------------------------------------------------------------------------

    def read(self, work: Callable[[SqlView], Result]) -> Result:
        return self.store.reading(lambda connection: work(self.view(connection)))

    def _write(self, work: Callable[[SqlView], Result], *, again: bool = True) -> Result:
        return self.store.writing(lambda connection: work(self.view(connection, lock=True)), again=again)

    def view(self, connection: sa.Connection, *, lock: bool = False) -> SqlView:
        """The log within a transaction; with `lock` no other one may change it."""
        standing = rows.standing_of(connection, self.study, self.name, lock=lock)
        if standing is None:
            raise StoreError(
                f"{self.store.where}: study {self.name!r:.80} is no longer in it; if it was renamed, open it by "
                "its new name"
            )
        return SqlView(connection, standing, self.memo)

    # --- ask and abandon ----------------------------------------------------------------------------------------

    def ask(self, key: str | None, prepare: Callable[[SqlView], Choice], patience: int) -> Asked:
        return self.ask_many(key, prepare, patience, 1)[0]

    def ask_many(
        self, key: str | None, prepare: Callable[[SqlView], Choice], patience: int, n: int
    ) -> tuple[Asked, ...]:
        return self.store.numbering(self.study, lambda: self._ask(key, prepare, patience, n))

    def _ask(self, key: str | None, prepare: Callable[[SqlView], Choice], patience: int, n: int) -> tuple[Asked, ...]:
        """Read, choose outside any transaction, and write if the number of the choice is still the next one.

        It always is if every process waits for its turn. The attempts are for the case that one does not.
        """

        def read(view: SqlView) -> tuple[tuple[Asked, ...], int, Choice | None]:
            known = self._with_key(view, key, n)
            return known, view.counts.last, None if known else prepare(view)

        for _ in range(TRIES):
            known, last, choose = self.read(read)
            if choose is None:
                return known
            made = self._write(partial(self._suggest, key, _named(last, choose(), n, key), patience, last))
            if made:
                return made
        return self._write(lambda view: self._choose_and_suggest(key, prepare, patience, n, view), again=False)

    def _choose_and_suggest(
        self, key: str | None, prepare: Callable[[SqlView], Choice], patience: int, n: int, view: SqlView
    ) -> tuple[Asked, ...]:
        last = view.counts.last
        return self._with_key(view, key, n) or self._suggest(
            key, _named(last, prepare(view)(), n, key), patience, last, view
        )

    def _with_key(self, view: SqlView, key: str | None, n: int) -> tuple[Asked, ...]:
        """The suggestions with this key, or none."""
        known, batch = ((), 1) if key is None else view.with_key(key)
        if known and batch != n:
            raise ConflictError(f"key {key!r} was asked for n={batch} before, now for n={n}; use another key")
        return known

    def _suggest(
        self, key: str | None, asked: tuple[Asked, ...], patience: int, last: int, view: SqlView
    ) -> tuple[Asked, ...]:
        """Store what was chosen when `last` was the last number; nothing where it no longer is."""
        n = len(asked)
        known = self._with_key(view, key, n)
        if known:
            return known
        if view.counts.last != last:  # they may be there since a commit whose answer was lost
            return asked if view.suggestion(asked[0].id) is not None else ()
        standing = view.standing if key is None else keys.insert(view.connection, view.standing, ASKED, key, last + 1)
        written: list[dict[str, Any]] = []
        for each in asked:
            standing = standing.asks(each, patience=patience)
            batch = n if n > 1 and not written else None
            written.append(rows.suggestion_row(self.study, each, standing.counts.asked, AWAITED, batch))
        rows.execute(view.connection, rows.INSERT_SUGGESTION, written)
        rows.update_study(view.connection, standing)
        return asked

    def abandon(self, id: str) -> None:
        def work(view: SqlView) -> None:
            row = view.suggested(id)
            if row.status == ANSWERED:
                raise ConflictError(f"suggestion {id} has its reward and can no longer be abandoned")
            if row.status == AWAITED:
                counts = replace(view.counts, abandoned=view.counts.abandoned + 1)
                view.connection.execute(rows.MARK, rows.mark(row, ABANDONED))
                rows.update_study(view.connection, replace(view.standing, counts=counts).no_longer_awaits(row.number))

        self._write(work)

    # --- tell and observe ---------------------------------------------------------------------------------------

    def tell(
        self, id: str, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        return self._store(NewEntry(id, outcome, at, key, limit))

    def observe(
        self, x: Point, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        return self._store(NewEntry(x, outcome, at, key, limit))

    def _store(self, entry: NewEntry) -> Told:
        store = partial(telling.store, self.store, [(self, entry)])
        (found,) = store() if isinstance(entry.of, str) else self.store.numbering(self.study, store)
        if isinstance(found, Told):
            return found
        assert found is not None, "it waits for the study"
        raise found

    def load(self, entries: Sequence[NewObservation], first: int = 1) -> Loaded:
        keyed = all(entry.key is not None for entry in entries)
        return self.store.numbering(
            self.study, lambda: self._write(lambda view: loading.load(view, entries, first), again=keyed)
        )

    # --- corrections --------------------------------------------------------------------------------------------

    def correct(
        self, number: int, outcome: Outcome | None, who: str = "", why: str = "", limit: int | None = None
    ) -> Told:
        def work(view: SqlView) -> Told:
            before = view.overlay.outcome(self._observed(view, number))
            if before == outcome:
                return view.told(number, new=False, limit=limit)
            when = datetime.now(UTC).isoformat(timespec="seconds")
            made = Correction(view.counts.corrected + 1, number, before, outcome, who, when, why)
            row = corrections.row_of(self.study, made)
            view.connection.execute(corrections.INSERT, row)
            standing = view.standing.corrects(made, row["checksum"])
            rows.update_study(view.connection, standing)
            return SqlView(view.connection, standing, self.memo).told(number, new=True, limit=limit)

        return self._write(work)

    def _observed(self, view: SqlView, number: int) -> Observation:
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
        return self.read(lambda view: int(view.suggested(id).number))

    def corrections(self) -> list[Correction]:
        return self.read(lambda view: view.corrections())

    # --- reading ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Observation]:
        last: int | None = 0
        while last is not None:
            page, last = self.read(lambda view, above=last: view.page(above, PAGE))  # type: ignore[misc]
            yield from page  # outside the transaction: the reader may take its time


def _named(last: int, chosen: Sequence[Chosen], n: int, key: str | None) -> tuple[Asked, ...]:
    """The choices after number `last`, with the key for the first and with ids.

    The random part of an id distinguishes it from the one with the same number in a copy of the log.
    """
    assert len(chosen) == n, f"{n} were asked for, {len(chosen)} chosen"
    ids = [f"{last + i}-{secrets.token_hex(6)}" for i in range(1, n + 1)]
    given = [ids[0] if key is None else key, *ids[1:]]
    return tuple(
        Asked(last + i, ids[i - 1], given[i - 1], each.at, each.x, each.jitter) for i, each in enumerate(chosen, 1)
    )
