"""A shard: the keys of one process or device, their streams, an engine, and the journal that makes them durable.

Everything is written to the journal before it counts: new keys, suggestions and rewards, a batch at a time. A shard
is a fold over its journal, so that to come back after a crash is to read the newest snapshot and what follows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import ConflictError, DriftwiseError, InvalidInput, NotFoundError, StoreError
from driftwise.fleet.alarms import Alarms
from driftwise.fleet.engine import FleetEngine, Numbers
from driftwise.fleet.folding import FoldingEngine
from driftwise.fleet.frames import JournalEntry
from driftwise.fleet.journal import Journal
from driftwise.fleet.streams import Places, Rows, Streams
from driftwise.fleet.together import CLASSES, SEASONED
from driftwise.records import Array

Key = str | int
AT_ONCE = 4096  # keys whose beliefs at all candidates are in memory at the same time
CAUTION = 1.0  # advice maximises the mean less so many deviations, as that of a study
SNAPSHOT_AFTER = 5_000_000  # events in the journal after which a snapshot takes their place


@dataclass(frozen=True)
class Outcomes:
    """What became of a batch of rewards.

    Args:
        new: rewards that were stored.
        known: rewards that had been told before, to the same value as far as that is still known.
        missing: rewards that were NaN: their suggestions stay pending.
        expired: rewards of suggestions that were given up because `patience` newer ones had been made.
    """

    new: int = 0
    known: int = 0
    missing: int = 0
    expired: int = 0

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


class Shard:
    """Asks and tells in batches, exactly once each."""

    def __init__(
        self,
        definition: str,
        streams: Streams,
        engine: FleetEngine,
        journal: Journal,
        sign: float,
        teacher: FoldingEngine | None = None,
    ) -> None:
        self.definition, self.streams, self.engine, self.journal, self.sign = definition, streams, engine, journal, sign
        self.teacher, self.lessons = teacher, list[Any]()  # what keys taught those that came later
        self.alarms = Alarms()
        self.keys: list[Key] = []
        self._row_of: dict[Key, int] = {}
        self._events, self._is_level = 0, True
        self._recover()

    def __len__(self) -> int:
        return len(self.keys)

    def all_keys(self) -> list[Key]:
        """In the order of their rows."""
        return list(self.keys)

    # --- keys -------------------------------------------------------------------------------------------------------

    def rows(self, keys: Sequence[Key], *, create: bool = True) -> Rows:
        """The rows of keys; new ones are made, or refused."""
        try:
            found = [self._row_of.get(key, -1) for key in keys]
        except TypeError:  # one cannot be hashed
            for key in keys:
                check_key(key)
            raise
        if -1 in found:
            new = list(dict.fromkeys(key for key, row in zip(keys, found, strict=True) if row < 0))
            for key in new:
                check_key(key)
            if not create:
                raise NotFoundError(f"the fleet has no key {checks.shown(new[0])}; it has {len(self):,} others")
            self._record(JournalEntry("keys", {"keys": _packed(new)}))
            found = [self._row_of[key] for key in keys]
        return np.array(found, np.int64)

    def _add(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self._row_of[key] = len(self.keys)
            self.keys.append(key)
        self.streams.add(len(keys), len(self.lessons))
        self.alarms.add(len(keys))

    # --- ask --------------------------------------------------------------------------------------------------------

    def ask(self, keys: Sequence[Key]) -> tuple[Rows, Numbers, Places]:
        """The rows of keys, the numbers of their new suggestions, and the candidates. A key may be there twice."""
        rows = self.rows(keys)
        numbers, where = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
        for part in _rounds(rows):
            some = rows[part]
            numbers[part] = self.streams.asked[some] + 1
            where[part] = self.engine.choose(some, numbers[part])
            self._record(JournalEntry("asked", {"rows": some, "where": where[part]}))
        return rows, numbers, where

    # --- tell -------------------------------------------------------------------------------------------------------

    def tell(self, rows: Rows, numbers: Numbers, rewards: Array) -> Outcomes:
        """Store rewards of suggestions. All or none are: what cannot be right is refused before anything is written."""
        total = Outcomes()
        self._check(rows, numbers, rewards)
        for part in _rounds(rows):
            total += self._tell(rows[part], numbers[part], rewards[part])
        self._teach()
        if self._events > SNAPSHOT_AFTER:
            self.snapshot()
        return total

    def _teach(self) -> None:
        """If enough keys that were taught nothing have something to say, it is what new keys begin with."""
        if self.teacher is None or len(self.lessons) == len(CLASSES):
            return
        seasoned = np.flatnonzero((self.streams.told >= SEASONED) & (self.streams.lesson == 0))
        if len(seasoned) >= CLASSES[len(self.lessons)]:
            said = self.teacher.lesson(seasoned[: CLASSES[len(self.lessons)]])
            self._record(JournalEntry("lesson", {"lesson": _packed(said)}))

    def _learned(self, said: Any) -> None:
        assert self.teacher is not None
        self.teacher.teach(said)
        self.lessons.append(said)

    def _check(self, rows: Rows, numbers: Numbers, rewards: Array) -> None:
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise NotFoundError("the fleet has no suggestion with such an id; ids are those of its own batches")
        if len(bad := np.flatnonzero(np.isinf(rewards) | (np.abs(rewards) > checks.LARGEST))):
            raise InvalidInput(
                f"a reward must be at most 1e100 in size, or NaN where there is none yet, got {rewards[bad[0]]!r} "
                f"for key {checks.shown(self.keys[rows[bad[0]]])}"
            )
        if len(bad := np.flatnonzero((numbers < 1) | (numbers > self.streams.asked[rows]))):
            raise NotFoundError(
                f"key {checks.shown(self.keys[rows[bad[0]]])} has no suggestion {numbers[bad[0]]}; "
                f"it was asked {self.streams.asked[rows[bad[0]]]} times"
            )
        self._check_repeats(rows, numbers, rewards)

    def _check_repeats(self, rows: Rows, numbers: Numbers, rewards: Array) -> None:
        """A different reward than before, or than earlier in the batch, is a conflict, if that one is still known."""
        order = np.lexsort((numbers, rows))
        r, t, y = rows[order], numbers[order], rewards[order]
        differ = (r[1:] == r[:-1]) & (t[1:] == t[:-1]) & ~np.isnan(y[1:]) & ~np.isnan(y[:-1]) & (y[1:] != y[:-1])
        if len(twice := np.flatnonzero(differ)):
            i = twice[0]
            raise ConflictError(
                f"suggestion {t[i]} of key {checks.shown(self.keys[r[i]])} has two rewards in one batch, {y[i]} and "
                f"{y[i + 1]}; give it one"
            )
        asked = (self.streams.places(rows, numbers) < 0) & ~np.isnan(rewards)
        for i in np.flatnonzero(asked).tolist():
            held, _, y = self.streams.contents(int(rows[i]))
            at = int(np.searchsorted(held, numbers[i]))
            if at < len(held) and held[at] == numbers[i] and self.sign * y[at] != rewards[i]:
                raise ConflictError(
                    f"suggestion {numbers[i]} of key {checks.shown(self.keys[rows[i]])} was told {self.sign * y[at]} "
                    f"before, now {rewards[i]}; the first stays"
                )

    def _tell(self, rows: Rows, numbers: Numbers, rewards: Array) -> Outcomes:
        there = ~np.isnan(rewards)
        places = self.streams.places(rows, numbers)
        new = np.flatnonzero(there & (places >= 0))
        known = there & (places < 0)
        expired = known & (numbers <= self.streams.asked[rows] - self.streams.patience) & ~self._is_told(rows, numbers)
        if len(new):
            self._learn(rows[new], numbers[new], rewards[new], places[new])
        return Outcomes(len(new), int(known.sum() - expired.sum()), int((~there).sum()), int(expired.sum()))

    def _learn(self, rows: Rows, numbers: Numbers, rewards: Array, places: NDArray[np.intp]) -> None:
        """Rewards reach the beliefs, then the journal, then the streams. Beliefs are a cache that may be ahead."""
        where = self.streams.awaited_where[rows, places]
        now = numbers > self.streams.newest(rows)
        surprises = np.full(len(rows), np.nan)  # of those that come in time
        try:
            surprises[now] = self.engine.observe(rows[now], numbers[now], where[now], self.sign * rewards[now])
            told: dict[str, NDArray[Any]] = {
                "rows": rows,
                "numbers": numbers,
                "rewards": rewards,
                "surprises": surprises,
            }
            self._record(JournalEntry("told", told))
        except BaseException:
            for row in rows.tolist():
                self.engine.forget(row)
            raise

    def _is_told(self, rows: Rows, numbers: Numbers) -> NDArray[np.bool_]:
        """Whether the ring of a row has this number."""
        return np.asarray((self.streams.numbers[rows] == numbers[:, None]).any(axis=1))

    def _store(self, rows: Rows, numbers: Numbers, rewards: Array, surprises: Array) -> None:
        streams, places, y = self.streams, self.streams.places(rows, numbers), self.sign * rewards
        where, now = streams.awaited_where[rows, places], ~np.isnan(surprises)
        self.alarms.update(rows[now], numbers[now], surprises[now])
        streams.append(rows[now], numbers[now], where[now], y[now])
        for i in np.flatnonzero(~now).tolist():
            if streams.insert(int(rows[i]), int(numbers[i]), int(where[i]), float(y[i])):
                self.engine.forget(int(rows[i]))
        streams.awaited[rows, places] = 0
        streams.told[rows] += 1

    # --- what it says -----------------------------------------------------------------------------------------------

    def advise(self, keys: Sequence[Key]) -> tuple[Places, Array, Array]:
        """The candidates where the mean less its deviation is largest, and both there."""
        rows = self.rows(keys, create=False)
        best, each = np.empty(len(rows), np.int32), np.empty((2, len(rows)))
        for start in range(0, len(rows), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            best[part], mean, std = self.engine.advise(rows[part], self.streams.asked[rows[part]] + 1, CAUTION)
            each[:, part] = self.sign * mean, std
        return best, *each

    def figures(self, keys: Sequence[Key] | None) -> dict[str, NDArray[Any]]:
        """What is counted of these keys, or of all."""
        rows: Any = slice(0, len(self)) if keys is None else self.rows(keys, create=False)
        streams = {"asked": self.streams.asked[rows], "told": self.streams.told[rows]}
        return streams | {name: array[rows] for name, array in self.alarms.state().items()}

    # --- the journal ------------------------------------------------------------------------------------------------

    def _record(self, entry: JournalEntry) -> None:
        """Write an entry, then do what it says. An interrupt between the two leaves the journal ahead of the state."""
        self._check_level()
        self._is_level = False
        try:
            self.journal.append(entry)
        except DriftwiseError:  # nothing was stored
            self._is_level = True
            raise
        self._replay(entry)
        self._is_level = True

    def _check_level(self) -> None:
        if not self._is_level:
            raise StoreError("a call was interrupted while it was being stored; close the fleet and open it again")

    def snapshot(self) -> None:
        """Write the whole state, so that the journal before it is not needed any more."""
        self._check_level()
        state = {f"streams.{name}": array for name, array in self.streams.state().items()}
        state |= {f"alarms.{name}": array for name, array in self.alarms.state().items()}
        texts = {"keys": self.keys, "definition": self.definition, "lessons": self.lessons}
        self.journal.snapshot(state | {name: _packed(each) for name, each in texts.items()})
        self._events = 0

    def _recover(self) -> None:
        state = self.journal.latest()
        if state is not None:
            self._agree(unpacked(state["definition"]))
            for said in unpacked(state["lessons"]):
                self._learned(said)
            self._add(unpacked(state["keys"]))
            self.streams.restore({n.removeprefix("streams."): a for n, a in state.items() if n.startswith("streams.")})
            self.alarms.restore({n.removeprefix("alarms."): a for n, a in state.items() if n.startswith("alarms.")})
        begun = state is not None
        for entry in self.journal.entries():
            self._replay(entry)
            begun = True
        if not begun:
            self.journal.append(JournalEntry("definition", {"definition": _packed(self.definition)}))
        self._teach()  # which a kill may have prevented

    def _agree(self, definition: str) -> None:
        if definition != self.definition:
            raise ConflictError(
                f"the fleet was made with {checks.shown(definition)}, now {checks.shown(self.definition)}; "
                "open it as it was made, or choose another name"
            )

    def _replay(self, entry: JournalEntry) -> None:
        arrays = entry.arrays
        if entry.kind == "definition":
            self._agree(unpacked(arrays["definition"]))
        elif entry.kind == "keys":
            self._add(unpacked(arrays["keys"]))
        elif entry.kind == "lesson":
            self._learned(unpacked(arrays["lesson"]))
        elif entry.kind == "asked":
            self.streams.suggest(arrays["rows"], arrays["where"])
        else:
            self._store(**arrays)
        self._events += _events_in(entry)


def _rounds(rows: Rows) -> Iterator[Any]:
    """Parts of a batch in which no row is there twice, in the order of the batch."""
    if len(np.unique(rows)) == len(rows):
        yield slice(None)
        return
    order = np.argsort(rows, kind="stable")
    first = np.concatenate([[True], rows[order][1:] != rows[order][:-1]])
    begins = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
    occurrence = np.empty(len(rows), np.int64)
    occurrence[order] = np.arange(len(rows)) - begins
    for each in range(int(occurrence.max()) + 1):
        yield np.flatnonzero(occurrence == each)


def check_key(key: Any) -> None:
    """Refuse what cannot be a key."""
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise InvalidInput(f"a key must be a string or a whole number, got {checks.shown(key)}")


def _packed(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def unpacked(packed: NDArray[np.uint8]) -> Any:
    return json.loads(packed.tobytes())


def _events_in(entry: JournalEntry) -> int:
    return len(next(iter(entry.arrays.values())))
