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


class SlotChange(NamedTuple):
    """One observation that leaves a slot, or enters it, beside `others` of the same candidate."""

    slot: int
    others: int
    delta: tuple[float, float]  # what it adds to the candidate's mean reward, and to that of ones (the mean of none: 0)


class Exchange(NamedTuple):
    """What a slide does to slots."""

    leaving: SlotChange | None
    entering: SlotChange
    means: Array  # (q, m): of rewards at each slot, and of ones, without what leaves and without what enters
    gone: int  # so many slots at the beginning are free afterwards, and left out

    @property
    def freed(self) -> int | None:
        """The slot that is left without an observation."""
        return None if self.leaving is None or self.leaving.others else self.leaving.slot


class Slots(NamedTuple):
    """Slots have serial numbers, of which the first in use goes up as candidates leave the window.

    (A tuple, because it is made at every step, in a third of the time of a frozen dataclass. What is read number by
    number is in lists, which are never changed either.)
    """

    log: SharedRows  # the serial number of the slot, and the reward, of each observation, oldest first: (w,) both
    rows: SharedRows  # the candidate of each slot, (m,), and K, (m, n)
    first: int  # the serial number of the first slot
    candidates: list[int]  # (m,)
    counts: list[int]  # (m,): how many observations each slot has
    sums: list[float]  # (m,): of their rewards
    means: Array  # (q, m): of the rewards, and of ones

    @classmethod
    def of(cls, slots: Index, y: Array, candidates: Index, K: Array, *, q: int) -> Slots:
        """Of observations at these slots, oldest first, and the candidates of the slots with their kernel rows."""
        counts, sums = np.bincount(slots, minlength=len(K)), np.bincount(slots, y, minlength=len(K))
        means = np.stack([sums / np.maximum(counts, 1), counts > 0])[:q]
        log, rows = SharedRows.of(slots, y, room=SPARE), SharedRows.of(candidates, K, room=SPARE)
        return cls(log, rows, 0, candidates.tolist(), counts.tolist(), sums.tolist(), means)

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
        """Observe y at candidate i, whose kernel row is `row(i)`, and `forget` the oldest observation or not.

        The slots that are `gone` are still there.
        """
        log, rows, first, candidates, counts, sums, means = self
        if i in candidates:
            entering, counts, sums, means = candidates.index(i), counts.copy(), sums.copy(), means.copy()
        else:
            entering, rows = len(candidates), rows.append(i, row(i))
            candidates, counts, sums, means = [*candidates, i], [*counts, 0], [*sums, 0.0], _with_a_slot(means)
        leaving, gone = None, 0
        if forget:
            leaving = _take(counts, sums, means, log.oldest(0) - first, log.oldest(1))
            gone = 0 if leaving.others else _leading(counts, entering)
        before = means.copy()
        change = _put(counts, sums, means, entering, y)
        log = log.append(first + entering, y, drop=int(forget))
        after = Slots(log, rows, first, candidates, counts, sums, means)
        return after, Exchange(leaving, change, before, gone)

    def without(self, gone: int) -> Slots:
        """Without the first slots, which are free."""
        log, rows, first, candidates, counts, sums, means = self
        lists = candidates[gone:], counts[gone:], sums[gone:]
        return Slots(log, rows.drop(gone), first + gone, *lists, means[:, gone:])

    def crowded(self) -> bool:
        """Whether too many slots are free."""
        free = self.counts.count(0)
        return free > FREE + (len(self.counts) - free) // 4

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


def _take(counts: list[int], sums: list[float], means: Array, slot: int, y: float) -> SlotChange:
    """Writes the tallies without an observation of y."""
    others, before = counts[slot] - 1, means.item(0, slot)
    total = sums[slot] - y if others else 0.0  # not what rounding leaves
    mean = total / others if others else 0.0
    counts[slot], sums[slot], means[0, slot] = others, total, mean
    if not others:
        means[1:, slot] = 0.0
    return SlotChange(slot, others, (before - mean, 0.0 if others else 1.0))


def _put(counts: list[int], sums: list[float], means: Array, slot: int, y: float) -> SlotChange:
    """Writes the tallies with an observation of y more."""
    others, before, total = counts[slot], means.item(0, slot), sums[slot] + y
    mean = total / (others + 1)
    counts[slot], sums[slot], means[0, slot] = others + 1, total, mean
    if not others:
        means[1:, slot] = 1.0
    return SlotChange(slot, others, (mean - before, 0.0 if others else 1.0))


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
