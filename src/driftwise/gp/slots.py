"""The observations of a window by the distinct candidates that they are of, and what changes when it slides.

A candidate keeps its slot while the window has an observation of it. Kernel rows lie in a buffer that successive states
share (`gp/buffers.py`), so that a slot that became free keeps its row until there are many such.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.gp.buffers import SharedRows
from driftwise.gp.inverses import Index, Inverse, WindowInverse
from driftwise.records import Array

CompiledStep = Callable[..., tuple[Array, Array, Array, float, int, int, bool]]

SPARE = 64  # rows that fit behind those in use before a buffer is copied
FREE = 8  # slots that may be free, beside a quarter of those in use, before their rows are left out


class Move(NamedTuple):
    """What a step changes: A⁻¹ by ∓ u uᵀ for each row u of U, the first with − if an observation was forgotten."""

    K: Array  # (m, n): the kernel rows of all slots
    U: Array  # (r, m)
    slopes: list[list[float]]  # (q, r): the mean of each column of Y changes by these times Kᵀu
    gain: float  # what the information gain grows by
    freed: int | None  # the slot that was left without an observation
    kept: slice | Index  # the slots that the next state has

    @property
    def forgot(self) -> bool:
        return len(self.U) > 1


class Slots(NamedTuple):
    """Slots have serial numbers, of which the first in use goes up as candidates leave the window.

    (A tuple, as `Inverse` is, because it is made at every step, in a third of the time of a frozen dataclass.)
    """

    contents: SharedRows  # the serial number of the slot, (w,), and Y, (w, q), of each observation, oldest first
    rows: SharedRows  # the candidate of each slot, (m,), and K, (m, n)
    first: int  # the serial number of the first slot
    inverse: WindowInverse  # A⁻¹, (m, m)
    noise: float
    in_order: bool  # whether each observation has a slot of its own, oldest first

    @property
    def slots(self) -> Index:
        """The slot of each observation, oldest first: (w,)."""
        return self.contents.views[0] - self.first

    @property
    def counts(self) -> Index:
        """How many observations each slot has: (m,)."""
        return np.bincount(self.slots, minlength=len(self.rows))

    @property
    def where(self) -> Index:
        """The candidates observed, oldest first: (w,)."""
        candidates: Index = self.rows.views[0][self.slots]
        return candidates

    def step(self, i: int, y: float, row: Callable[[int], Array], *, forget: bool) -> tuple[Slots, Move]:
        """Observe y at candidate i, whose kernel row is `row(i)`, and `forget` the oldest observation or not.

        With c and ȳ the counts and mean rewards of the observations that stay, and Δ what an observation adds to the
        mean reward of its candidate, the mean changes by ±(Δ/√g + uᵀȳ) Kᵀu, and the information gain by
        ±(ln((c + 1)√g) − ½ ln λ). (Where rewards are standardised the same holds for ones in place of rewards.)
        """
        known = self._known(i)
        if known is None and forget and self.in_order:
            return self._slide(i, y, row(i))
        entering, rows = (len(self.rows), self.rows.append(i, row(i))) if known is None else (known, self.rows)
        (numbers, Y), (candidates, K), drop = self.contents.views, rows.views, int(forget)
        m, slots = len(candidates), numbers - self.first
        stay = slots[drop:]
        counts, sums = np.bincount(stay, minlength=m), np.bincount(stay, Y[drop:, 0], minlength=m)
        means = sums / np.maximum(counts, 1)
        leaving = slots.item(0) if forget else None
        staying = (0 if leaving is None else counts.item(leaving)), counts.item(entering)
        gone, crowded = (0, False) if leaving is None or staying[0] else leftover(counts, entering)
        inverse, U, roots = self.inverse.step(leaving, entering, staying, K[entering].take(candidates), gone)
        moves = [(entering, y, 1)] if leaving is None else [(leaving, Y.item(0, 0), -1), (entering, y, 1)]
        slopes, gain = [], (0.5 * drop - 0.5) * math.log(self.noise)
        for (slot, reward, sign), c, root, explained in zip(
            moves, staying[1 - drop :], roots, U.dot(means).tolist(), strict=True
        ):
            delta = (sums.item(slot) + reward) / (c + 1) - means.item(slot)
            slopes.append(sign * (delta / root + explained))
            gain += sign * math.log((c + 1) * root)
        both = [slopes] if Y.shape[1] == 1 else [slopes, _slopes_of_ones(moves, roots, U, counts)]
        freed = leaving if not staying[0] else None
        after = self._after(entering, y, drop, rows, inverse, gone)
        if not crowded:
            return after, Move(K, U, both, gain, freed, slice(gone, None))
        used = after.in_use()
        return after.only(used), Move(K, U, both, gain, freed, gone + used)

    def _slide(self, i: int, y: float, row: Array) -> tuple[Slots, Move]:
        """The same where every observation has a slot of its own, in order, and the one that comes gets a new one."""
        Y, rows, entering = self.contents.column(1), self.rows.append(i, row, drop=1), len(self.rows)
        k, K = row.take(rows.column(0, dropped=1)), rows.column(1, dropped=1)
        inverse, U, (out, into) = self.inverse.step(0, entering, (0, 0), k, 1)
        explained, target = np.dot(U[:, 1:-1], Y[1:]), (y, 1.0)[: Y.shape[1]]
        slopes = [
            [-(Y.item(0, q) / out + explained.item(0, q)), new / into + explained.item(1, q)]
            for q, new in enumerate(target)
        ]
        contents = self.contents.append(self.first + entering, target, drop=1)
        after = Slots(contents, rows, self.first + 1, inverse, self.noise, in_order=True)
        return after, Move(K, U, slopes, math.log(into / out), 0, slice(1, None))

    def compiled_step(
        self, step: CompiledStep, i: int, y: float, kernel: Array, mean: Array, var: Array, *, forget: bool
    ) -> tuple[Slots, Array, Array, float]:
        """The same by `gp/compiled.py`, with the next mean and variance, and what the information gain grows by."""
        assert isinstance(self.inverse, Inverse)
        numbers, Y = self.contents.views
        P, mean, var, gain, entering, gone, crowded = step(
            *(self.inverse.P, kernel, self.rows.column(0), numbers, self.first, Y),
            *(mean, var, i, float(y), forget, self.noise),
        )
        rows = self.rows if entering < len(self.rows) else self.rows.append(i, kernel[i])
        after = self._after(entering, y, int(forget), rows, Inverse(P, self.noise), gone)
        return after.only(after.in_use()) if crowded else after, mean, var, gain

    def _known(self, i: int) -> int | None:
        """The slot of candidate i, if it has one or had it last."""
        known = (self.rows.column(0) == i).nonzero()[0]
        return known.item(0) if len(known) else None

    def _after(self, entering: int, y: float, drop: int, rows: SharedRows, inverse: WindowInverse, gone: int) -> Slots:
        """With y at the slot `entering`, and without the first `drop` observations and the first `gone` slots."""
        q, first = self.contents.buffers[1].shape[1], self.first + gone
        contents = self.contents.append(self.first + entering, y if q == 1 else (y, 1.0), drop=drop)
        rows = rows.drop(gone) if gone else rows
        return Slots(contents, rows, first, inverse, self.noise, in_order(contents, rows, first))

    def in_use(self) -> Index:
        """The slots that are not free."""
        return self.counts.nonzero()[0]

    def only(self, kept: Index) -> Slots:
        """The same with these slots alone; the others must be free."""
        (_, Y), (candidates, K) = self.contents.views, self.rows.views
        contents = SharedRows.of(np.searchsorted(kept, self.slots), Y, room=SPARE)
        rows = SharedRows.of(candidates[kept], K[kept], room=SPARE)
        return Slots(contents, rows, 0, self.inverse.select(kept), self.noise, in_order(contents, rows, 0))


def in_order(contents: SharedRows, rows: SharedRows, first: int) -> bool:
    """Whether each observation has a slot of its own, oldest first; asked of the numbers only where that can be."""
    w = len(contents)
    return len(rows) == w and bool((contents.views[0] == np.arange(first, first + w)).all())


def leftover(counts: Index | Array, entering: int) -> tuple[int, bool]:
    """How many slots before the first in use are dropped, and whether so many others are free that all of them are.

    `counts` are those of the observations that stay, and `entering` is the slot of the one that comes.
    """
    first = 0
    while first != entering and not counts[first]:
        first += 1
    used = np.count_nonzero(counts) + (counts[entering] == 0)
    return first, bool(len(counts) - first - used > FREE + used // 4)


def _slopes_of_ones(moves: list[tuple[int, float, int]], roots: list[float], U: Array, counts: Index) -> list[float]:
    """The slopes if all rewards are 1: the mean of ones is 1, and 0 where there is none."""
    some = (counts > 0).astype(float)
    pairs = zip(moves, roots, (U @ some).tolist(), strict=True)
    return [sign * ((1.0 - some.item(slot)) / root + explained) for (slot, _, sign), root, explained in pairs]


def distinct(where: Index) -> tuple[Index, Index]:
    """The candidates in `where`, (w,), in the order in which they come first, and which of them each is: (m,), (w,)."""
    _, first, which = np.unique(where, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return where[first[order]], rank[which]


def mean_rewards(slots: Index, Y: Array, counts: Index) -> Array:
    """The mean of Y's rows at each slot: (m, q)."""
    sums = [np.bincount(slots, column, minlength=len(counts)) for column in Y.T]
    return np.stack(sums, axis=1) / counts[:, None]
