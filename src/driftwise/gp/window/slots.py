"""What the window of one key has observed: a slot for each distinct candidate, and what a slide does to the slots.

A candidate keeps its slot while the window has an observation of it. Kernel rows lie in a buffer that successive states
share (`gp/buffers.py`), so that a slot that became free keeps its row until there are many such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.buffers import SharedRows
from driftwise.records import Array

SPARE = 64  # rows that fit behind those in use before a buffer is copied
FREE = 8  # slots that may be free, beside a quarter of those in use, before their rows are left out

Index = NDArray[np.intp]
Tally = tuple[int, float, float]  # how many rewards a slot has, their sum, and what rounding took from it

NOTHING: Tally = (0, 0.0, 0.0)


class SlotChange(NamedTuple):
    """One observation that leaves a slot, or enters it, beside `others` of the same candidate."""

    slot: int
    others: int
    delta: float  # what it adds to the candidate's mean reward; the mean of none is 0


class Exchange(NamedTuple):
    """What a slide does to slots."""

    leaving: SlotChange | None
    entering: SlotChange
    candidates: Index  # of all slots, also of those that are gone: (m,)
    K: Array  # their kernel rows: (m, n)
    means: Array  # (q, m): of rewards at each slot, and of ones, without what leaves and without what enters
    freed: int | None  # the slot that is left without an observation
    gone: int  # so many slots at the beginning are free afterwards, and left out


class Slots(NamedTuple):
    """Slots have serial numbers, of which the first in use goes up as candidates leave the window.

    (A tuple, because it is made at every step, in a third of the time of a frozen dataclass. Tallies are read one by
    one, and therefore in a list; it is never changed either.)
    """

    log: SharedRows  # the serial number of the slot, and the reward, of each observation, oldest first: (w,) both
    rows: SharedRows  # the candidate of each slot, (m,), and K, (m, n)
    first: int  # the serial number of the first slot
    free: int  # how many slots have no observation
    tallies: list[Tally]  # (m,)
    means: Array  # (q, m): of rewards, 0 where there is none, and of ones

    @classmethod
    def of(cls, slots: Index, y: Array, candidates: Index, K: Array, *, q: int) -> Slots:
        """Of observations at these slots, oldest first, and the candidates of the slots with their kernel rows."""
        counts, sums = np.bincount(slots, minlength=len(K)), np.bincount(slots, y, minlength=len(K))
        means = np.stack([sums / np.maximum(counts, 1), counts > 0])[:q]
        log, rows = SharedRows.of(slots, y, room=SPARE), SharedRows.of(candidates, K, room=SPARE)
        tallies = [(count, total, 0.0) for count, total in zip(counts.tolist(), sums.tolist(), strict=True)]
        return cls(log, rows, 0, 0, tallies, means)

    @property
    def counts(self) -> Index:
        """How many observations each slot has: (m,)."""
        return np.array([count for count, _, _ in self.tallies], dtype=np.intp)

    @property
    def slots(self) -> Index:
        """The slot of each observation, oldest first: (w,)."""
        return self.log.column(0) - self.first

    @property
    def where(self) -> Index:
        """The candidates observed, oldest first: (w,)."""
        candidates: Index = self.rows.column(0)[self.slots]
        return candidates

    def exchange(self, i: int, y: float, row: Callable[[int], Array], *, forget: bool) -> tuple[Slots, Exchange]:
        """Observe y at candidate i, whose kernel row is `row(i)`, and `forget` the oldest observation or not."""
        log, rows, first, free, tallies, before = self
        candidates = rows.column(0)
        known = (candidates == i).nonzero()[0]
        if len(known):
            entering, tallies, before = known.item(0), tallies.copy(), before.copy()
            free -= not tallies[entering][0]
        else:
            entering, tallies, before = len(tallies), [*tallies, NOTHING], _with_a_slot(before)
            rows = rows.append(i, row(i))
            candidates = rows.column(0)
        leaving, freed, gone = None, None, 0
        if forget:
            slot = log.oldest(0) - first
            leaving = _counted(tallies, before, slot, log.oldest(1), -1)
            if not leaving.others:
                freed = slot
                if slot != entering:
                    free, gone = free + 1, _leading(tallies, entering)
        means = before.copy()
        change = _counted(tallies, means, entering, y, 1)
        log = log.append(first + entering, y, drop=int(forget))
        how = Exchange(leaving, change, candidates, rows.column(1), before, freed, gone)
        if gone:
            del tallies[:gone]
            rows, first, free, means = rows.drop(gone), first + gone, free - gone, means[:, gone:]
        return Slots(log, rows, first, free, tallies, means), how

    def crowded(self) -> bool:
        """Whether too many slots are free."""
        return self.free > FREE + (len(self.tallies) - self.free) // 4

    def only(self, kept: Index) -> Slots:
        """The same with these slots alone; the others must be free."""
        candidates, K = self.rows.views
        return self.of(
            np.searchsorted(kept, self.slots), self.log.column(1), candidates[kept], K[kept], q=len(self.means)
        )


def _with_a_slot(means: Array) -> Array:
    """A copy with one slot more."""
    grown = np.zeros((len(means), means.shape[1] + 1))
    grown[:, :-1] = means
    return grown


def _counted(tallies: list[Tally], means: Array, slot: int, y: float, one: int) -> SlotChange:
    """Writes the tallies with a reward y more, or less: `one` is 1 or −1.

    Sums have what rounding takes from them (Knuth's two-sum): errors do not add up as rewards leave.
    """
    count, before, mean = tallies[slot][0], means.item(0, slot), 0.0
    now, tally = count + one, NOTHING
    if now:
        _, total, rest = tallies[slot]
        more = one * y
        after = total + more
        part = after - total
        rest += (total - (after - part)) + (more - part)
        tally, mean = (now, after, rest), (after + rest) / now
    tallies[slot], means[0, slot] = tally, mean
    others = min(count, now)
    if not others:
        means[1:, slot] = now
    return SlotChange(slot, others, one * (mean - before))


def _leading(tallies: list[Tally], entering: int) -> int:
    """How many slots come before the first in use, if `entering` is in use."""
    first = 0
    while first != entering and not tallies[first][0]:
        first += 1
    return first


def distinct(where: Index) -> tuple[Index, Index]:
    """The candidates in `where`, (w,), in the order in which they come first, and which of them each is: (m,), (w,)."""
    _, first, which = np.unique(where, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return where[first[order]], rank[which]
