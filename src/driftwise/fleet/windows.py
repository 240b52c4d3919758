"""The engine for policies with a window: it knows what is in the window, and leaves arithmetic to `WindowBeliefs`."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from driftwise.fleet.engine import Numbers
from driftwise.fleet.residents import Residents
from driftwise.fleet.streams import Places, Rows, Streams, span
from driftwise.fleet.windowed import Terms
from driftwise.records import Array


class WindowBeliefs(Protocol):
    """WindowBeliefs in slots of arrays, on a processor or a device. Slots of one call are all different."""

    name: str

    def grow(self, slots: int) -> None:
        """Make room for so many beliefs."""
        ...

    def fill(self, slots: Rows, counts: Places, where: Places, y: Array) -> None:
        """Compute beliefs afresh from windows, (r, w) each, oldest first, of which the first `counts` are used."""
        ...

    def slide(self, slots: Rows, counts: Places, places: Places, where: Places, y: Array, beta: Array) -> Array:
        """Observe a reward each, in these places of windows with `counts` observations, and choose what is next.

        Returned are the surprises.
        """
        ...

    def choose(self, slots: Rows, counts: Places, beta: Array) -> None:
        """Choose what is next with these widths."""
        ...

    def chosen(self, slots: Rows) -> Places:
        """What was chosen last."""
        ...

    def windows(self, slots: Rows) -> tuple[Places, Array]:
        """Candidates and rewards in the windows, (r, w) each, in their places."""
        ...

    def predict(self, slots: Rows, counts: Places) -> tuple[Array, Array, Array]:
        """μ and σ of the targets where beliefs are held, (r, n) each, and location and scale of the rewards, (2, r)."""
        ...

    def near(self, slots: Rows, counts: Places, firsts: Places) -> tuple[Array, Array, Array]:
        """The same at the blocks that begin with these candidates; only asked where there are blocks."""
        ...

    def covariances(self, slot: int, count: int, candidates: Places, others: Places) -> Array:
        """The posterior covariance of some candidates with others: (m, o)."""
        ...


class WindowEngine:
    """Windows of as many keys as fit into memory; others are made again from the streams when they are needed."""

    def __init__(self, terms: Terms, streams: Streams, beliefs: WindowBeliefs, most: int) -> None:
        self.name, self.terms, self.streams, self.beliefs = beliefs.name, terms, streams, beliefs
        self.residents = Residents(most)
        # by slot: how many observations the window has, where the next goes, their last number, the number at which
        # everything is computed afresh, and that of the choice
        self.count, self.next, self.last, self.due, self.chosen_for = np.zeros((5, 0), np.int32)
        self.last_units = np.zeros((2, 0))  # of the rewards before the last restart

    # --- the interface ----------------------------------------------------------------------------------------------

    def choose(self, rows: Rows, numbers: Numbers) -> Places:
        chosen = np.empty(len(rows), np.int32)
        for part in self._parts(rows):
            slots = self._slots(rows[part])
            self._restart(slots, numbers[part])
            stale = np.flatnonzero(self.chosen_for[span(slots)] != numbers[part])
            if len(stale):
                old = slots[stale]
                self.beliefs.choose(old, self.count[old], self.terms.beta(numbers[part][stale]))
                self.chosen_for[old] = numbers[part][stale]
            chosen[part] = self.beliefs.chosen(slots)
        for i in np.flatnonzero(self.streams.waits(rows)).tolist():
            chosen[i] = self._choose_knowing(rows[i : i + 1], numbers[i : i + 1])
        return chosen

    def _choose_knowing(self, rows: Rows, numbers: Numbers) -> int:
        """As if what the row awaits had been answered at the mean: the mean stays, the variance shrinks."""
        slots, awaited = self._slots(rows), self.streams.awaited_by(int(rows[0]))
        beta, counts, block = float(self.terms.beta(numbers)[0]), self.count[slots], self.terms.block
        firsts = np.arange(len(self.terms.prior), dtype=np.int32) * block
        found = self._best_knowing(slots, awaited, firsts, self.beliefs.predict(slots, counts), beta)
        if block > 1:
            places = found + np.arange(block, dtype=np.int32)
            found = self._best_knowing(slots, awaited, places, self.beliefs.near(slots, counts, places[:1]), beta)
        return found

    def _best_knowing(
        self, slots: Rows, awaited: Places, places: Places, predicted: tuple[Array, Array, Array], beta: float
    ) -> int:
        """The same among these candidates, of which μ and σ are predicted."""
        mean, std, waiting = predicted[0][0], predicted[1][0], len(awaited)
        both, var = np.concatenate([awaited, places]), std**2
        C = self.beliefs.covariances(int(slots[0]), int(self.count[slots[0]]), awaited, both)
        for i in range(waiting):
            D = C[i] / np.sqrt(max(C[i, i], 0.0) + self.terms.noise)
            C, var = C - np.outer(D[:waiting], D), var - D[waiting:] ** 2
        return int(places[np.argmax(mean + beta * np.sqrt(np.maximum(var, 0.0)))])

    def observe(self, rows: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        surprises = np.empty(len(rows))
        for part in self._parts(rows):
            slots = self._slots(rows[part])
            surprises[part] = self._observe(slots, numbers[part], where[part], y[part])
        return surprises

    def forget(self, row: int) -> None:
        self.residents.dismiss(row)

    def predict(self, rows: Rows, numbers: Numbers) -> tuple[Array, Array]:
        """μ and σ where beliefs are held, in the units of rewards, (r, n) each."""
        means, stds = np.empty((2, len(rows), len(self.terms.prior)))
        for part in self._parts(rows):
            slots = self._slots(rows[part])
            self._restart(slots, numbers[part])
            means[part], stds[part] = self._in_units(slots, self.beliefs.predict(slots, self.count[slots]))
        return means, stds

    def advise(self, rows: Rows, numbers: Numbers, caution: float) -> tuple[Places, Array, Array]:
        best, means, stds = np.empty(len(rows), np.int32), *np.empty((2, len(rows)))
        for part in self._parts(rows):
            mean, std = self.predict(rows[part], numbers[part])
            firsts = self.terms.block * np.argmax(mean - caution * std, axis=1).astype(np.int32)
            if self.terms.block > 1:
                slots = self._slots(rows[part])
                mean, std = self._in_units(slots, self.beliefs.near(slots, self.count[slots], firsts))
            at = np.argmax(mean - caution * std, axis=1)
            best[part] = firsts + at if self.terms.block > 1 else at
            each = np.arange(len(at)), at
            means[part], stds[part] = mean[each], std[each]
        return best, means, stds

    def _in_units(self, slots: Rows, predicted: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """μ and σ in the units of rewards."""
        mean, std, units = predicted
        location, scale = np.where(self.count[slots] > 0, units, self.last_units[:, slots])
        return location[:, None] + scale[:, None] * mean, scale[:, None] * std

    # --- windows ----------------------------------------------------------------------------------------------------

    def _observe(self, slots: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        self._restart(slots, numbers)
        surprises = self._slide(slots, numbers, where, y)
        at = span(slots)
        due = numbers >= self.due[at]
        self.last[at] = numbers
        if due.any():
            self._refresh(slots[due])
            self._set_due(slots[due])
        return surprises

    def _set_due(self, slots: Rows) -> None:
        self.due[slots] = (self.last[slots] // self.terms.refresh + 1) * self.terms.refresh

    def _slide(self, slots: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        at, w = span(slots), self.terms.window
        counts, places = self.count[at], self.next[at]
        surprises = self.beliefs.slide(slots, counts, places, where, y, self.terms.beta(numbers + 1))
        self.count[at] = np.minimum(counts + 1, w)
        self.next[at] = np.where(places + 1 < w, places + 1, 0)  # a modulo takes ten times as long
        self.chosen_for[at] = numbers + 1
        return surprises

    def _refresh(self, slots: Rows) -> None:
        """Compute beliefs afresh from their windows, which lie oldest first from then on."""
        where, y = self.beliefs.windows(slots)
        counts, w = self.count[slots], self.terms.window
        oldest = np.where(counts == w, self.next[slots], 0)
        order = (oldest[:, None] + np.arange(w)) % w
        self._fill(slots, counts, np.take_along_axis(where, order, 1), np.take_along_axis(y, order, 1))

    def _fill(self, slots: Rows, counts: Places, where: Places, y: Array) -> None:
        self.beliefs.fill(slots, counts, where, y)
        self.count[slots], self.next[slots], self.chosen_for[slots] = counts, counts % self.terms.window, 0

    def _restart(self, slots: Rows, numbers: Numbers) -> None:
        """Empty the windows of a policy that restarts where a new period begins."""
        if not self.terms.restarts:
            return
        new = (self.terms.period(numbers) != self.terms.period(self.last[slots])) & (self.count[slots] > 0)
        if new.any():
            over = slots[new]
            self.last_units[:, over] = self.beliefs.predict(over, self.count[over])[2]
            self._empty(over)

    def _empty(self, slots: Rows) -> None:
        w, none = self.terms.window, np.zeros(len(slots), np.int32)
        self._fill(slots, none, np.zeros((len(slots), w), np.int32), np.zeros((len(slots), w)))

    # --- from the streams -------------------------------------------------------------------------------------------

    def _parts(self, rows: Rows) -> list[slice]:
        """The rows in parts that fit into memory."""
        most = self.residents.most
        return [slice(start, start + most) for start in range(0, len(rows), most)]

    def _slots(self, rows: Rows) -> Rows:
        """Where the beliefs of these rows are; those that are not there are made."""
        slots, absent = self.residents.admit(rows, self.streams.size)
        if len(self.residents) > len(self.count):
            more = len(self.residents) - len(self.count)
            self.beliefs.grow(len(self.residents))
            self.count, self.next, self.last, self.due, self.chosen_for = (
                np.pad(each, (0, more)) for each in (self.count, self.next, self.last, self.due, self.chosen_for)
            )
            self.last_units = np.pad(self.last_units, ((0, 0), (0, more)))
        if len(absent):
            self._load(slots[absent], rows[absent])
        return slots

    def _load(self, slots: Rows, rows: Rows) -> None:
        """WindowBeliefs from the streams: computed afresh where that was last done, and from there step by step."""
        self._empty(slots)
        self.last[slots], self.last_units[:, slots] = 0, ((0.0,), (1.0,))
        self._set_due(slots)
        known = self.streams.held[rows] > 0
        if not known.any():
            return
        slots = slots[known]
        numbers, where, y, counts = self.streams.tables(rows[known])
        starts = self._fill_from(slots, numbers, where, y, counts)
        self._set_due(slots)
        for step in range(int((counts - starts).max())):
            at = starts + step
            on = np.flatnonzero(at < counts)
            at = at[on]
            self._restart(slots[on], numbers[on, at])
            self._slide(slots[on], numbers[on, at], where[on, at], y[on, at])
            self.last[slots[on]] = numbers[on, at]

    def _fill_from(self, slots: Rows, numbers: Numbers, where: Places, y: Array, counts: Rows) -> Rows:
        """Fill each window as it was at the last multiple of `refresh`, and return after how many observations."""
        w, columns = self.terms.window, np.arange(numbers.shape[1])
        blocks = numbers // self.terms.refresh
        passed = np.diff(blocks, axis=1, prepend=0) != 0
        passed &= columns < counts[:, None]
        starts = np.where(passed.any(axis=1), numbers.shape[1] - passed[:, ::-1].argmax(axis=1), 0)
        last = np.where(starts > 0, np.take_along_axis(numbers, np.maximum(starts - 1, 0)[:, None], 1)[:, 0], 0)
        mine = (columns < starts[:, None]) & (columns >= starts[:, None] - w)
        mine &= self.terms.period(numbers) == self.terms.period(last)[:, None]
        sizes = mine.sum(axis=1)
        order = (starts - sizes)[:, None] + np.arange(w)
        order = np.minimum(order, numbers.shape[1] - 1)
        kept = np.take_along_axis(where, order, 1), np.take_along_axis(y, order, 1)
        self._fill(slots, sizes.astype(np.int32), *kept)
        self.last[slots] = last
        return np.asarray(starts)
