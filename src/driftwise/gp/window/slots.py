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
Sum = tuple[float, float]  # and what rounding took from it

NOTHING: Sum = (0.0, 0.0)


class SlotChange(NamedTuple):
    """One observation that leaves a slot, or enters it, beside `others` of the same candidate."""

    slot: int
    others: int
    delta: float  # what it adds to the candidate's mean reward; the mean of none is 0


class Exchange(NamedTuple):
    """What a slide does to slots."""

    leaving: SlotChange | None
    entering: SlotChange
    rows: SharedRows  # those of `Slots` afterwards
    means: Array  # (q, m): of rewards at each slot, and of ones, without what leaves and without what enters
    freed: int | None  # the slot that is left without an observation
    gone: int  # so many slots at the beginning are free afterwards, and left out

    @property
    def candidates(self) -> Index:
        """Of all slots, also of those that are gone: (m,)."""
        return self.rows.column(0, dropped=self.gone)

    @property
    def K(self) -> Array:
        """Their kernel rows: (m, n)."""
        return self.rows.column(1, dropped=self.gone)


class Slots(NamedTuple):
    """Slots have serial numbers, of which the first in use goes up as candidates leave the window.

    (A tuple, because it is made at every step, in a third of the time of a frozen dataclass. Counts are read one by
    one, and therefore in a list, as sums are; these are never changed either.)
    """

    log: SharedRows  # the serial number of the slot, and the reward, of each observation, oldest first: (w,) both
    rows: SharedRows  # the candidate of each slot, (m,), and K, (m, n)
    first: int  # the serial number of the first slot
    free: int  # how many slots have no observation
    counts: list[int]  # (m,): how many observations each slot has
    sums: list[Sum]  # (m,): of their rewards
    means: Array  # (q, m): the same divided by the counts, and of ones

    @classmethod
    def of(cls, slots: Index, y: Array, candidates: Index, K: Array, *, q: int) -> Slots:
        """Of observations at these slots, oldest first, and the candidates of the slots with their kernel rows."""
        counts, sums = np.bincount(slots, minlength=len(K)), np.bincount(slots, y, minlength=len(K))
        means = np.stack([sums / np.maximum(counts, 1), counts > 0])[:q]
        log, rows = SharedRows.of(slots, y, room=SPARE), SharedRows.of(candidates, K, room=SPARE)
        return cls(log, rows, 0, 0, counts.tolist(), [(each, 0.0) for each in sums.tolist()], means)

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
        log, rows, first, free, counts, sums, before = self
        known = (rows.column(0) == i).nonzero()[0]
        if len(known):
            entering, counts, sums, before = known.item(0), counts.copy(), sums.copy(), before.copy()
            free -= not counts[entering]
        else:
            entering, counts, sums, before = len(counts), [*counts, 0], [*sums, NOTHING], _with_a_slot(before)
        leaving, freed, gone = None, None, 0
        if forget:
            slot = log.oldest(0) - first
            leaving = _taken(counts, sums, before, slot, log.oldest(1))
            if not leaving.others:
                freed = slot
                if slot != entering:
                    free, gone = free + 1, _leading(counts, entering)
        if len(known):
            rows = rows.drop(gone) if gone else rows
        else:
            rows = rows.append(i, row(i), drop=gone)
        means = before.copy()
        change = _put(counts, sums, means, entering, y)
        log = log.append(first + entering, y, drop=int(forget))
        if gone:
            counts, sums, means = counts[gone:], sums[gone:], means[:, gone:]
        after = Slots(log, rows, first + gone, free - gone, counts, sums, means)
        return after, Exchange(leaving, change, rows, before, freed, gone)

    def crowded(self) -> bool:
        """Whether too many slots are free."""
        return self.free > FREE + (len(self.counts) - self.free) // 4

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


def _taken(counts: list[int], sums: list[Sum], means: Array, slot: int, y: float) -> SlotChange:
    """Writes the tallies without an observation of y."""
    others, before = counts[slot] - 1, means.item(0, slot)
    if others:
        total = _plus(sums[slot], -y)
        mean = (total[0] + total[1]) / others
    else:
        total, mean, means[1:, slot] = NOTHING, 0.0, 0.0
    counts[slot], sums[slot], means[0, slot] = others, total, mean
    return SlotChange(slot, others, before - mean)


def _put(counts: list[int], sums: list[Sum], means: Array, slot: int, y: float) -> SlotChange:
    """Writes the tallies with an observation of y more."""
    others, before = counts[slot], means.item(0, slot)
    if others:
        total = _plus(sums[slot], y)
        mean = (total[0] + total[1]) / (others + 1)
    else:
        total, mean, means[1:, slot] = (y, 0.0), y, 1.0
    counts[slot], sums[slot], means[0, slot] = others + 1, total, mean
    return SlotChange(slot, others, mean - before)


def _plus(total: Sum, y: float) -> Sum:
    """A sum with y more, and what rounding takes from it (Knuth's two-sum): errors do not add up as rewards leave."""
    before, rest = total
    after = before + y
    part = after - before
    return after, rest + ((before - (after - part)) + (y - part))


def _leading(counts: list[int], entering: int) -> int:
    """How many slots come before the first in use, if `entering` is in use."""
    first = 0
    while first != entering and not counts[first]:
        first += 1
    return first


def distinct(where: Index) -> tuple[Index, Index]:
    """The candidates in `where`, (w,), in the order in which they come first, and which of them each is: (m,), (w,)."""
    _, first, which = np.unique(where, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return where[first[order]], rank[which]
