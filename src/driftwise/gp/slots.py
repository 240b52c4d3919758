"""The observations of a window by the distinct candidates that they are of, and what changes when it slides.

A candidate keeps its slot while the window has an observation of it. Kernel rows lie in a buffer that successive states
share (`gp/buffers.py`), so that a slot that became free keeps its row until there are many such.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.gp.buffers import SharedRows
from driftwise.gp.inverses import Index, Inverse, WindowInverse
from driftwise.records import Array

CompiledStep = Callable[..., tuple[Array, Array, Array, float, int]]

SPARE = 64  # rows that fit behind those in use before a buffer is copied
FREE = 8  # slots that may be free, beside a quarter of those in use, before their rows are left out


class Move(NamedTuple):
    """What a step changes: A⁻¹ by ∓ u uᵀ for each row u of U, the first with − if an observation was forgotten."""

    K: Array  # (m, n): the kernel rows of all slots
    U: Array  # (r, m)
    slopes: list[list[float]]  # (q, r): the mean of each column of Y changes by these times Kᵀu
    gain: float  # what the information gain grows by
    freed: int | None  # the slot that was left without an observation

    @property
    def forgot(self) -> bool:
        return len(self.U) > 1


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Slots have serial numbers, of which the first in use goes up as candidates leave the window."""

    contents: SharedRows  # the serial number of the slot, (w,), and Y, (w, q), of each observation, oldest first
    rows: SharedRows  # the candidate of each slot, (m,), and K, (m, n)
    first: int  # the serial number of the first slot
    inverse: WindowInverse  # A⁻¹, (m, m)
    noise: float

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
        (numbers, Y), (entering, rows) = self.contents.views, self._slot(i, row)
        (candidates, K), drop = rows.views, int(forget)
        m, slots = len(candidates), numbers - self.first
        stay = slots[drop:]
        counts, sums = np.bincount(stay, minlength=m), np.bincount(stay, Y[drop:, 0], minlength=m)
        leaving = slots.item(0) if forget else None
        inverse, U, roots = self.inverse.step(leaving, entering, counts, K[entering, candidates])
        means = sums / np.maximum(counts, 1)
        moves = [(entering, y, 1)] if leaving is None else [(leaving, Y.item(0, 0), -1), (entering, y, 1)]
        slopes, gain = [], (0.5 * drop - 0.5) * math.log(self.noise)
        for (slot, reward, sign), root, explained in zip(moves, roots, U.dot(means).tolist(), strict=True):
            c = counts.item(slot)
            delta = (sums.item(slot) + reward) / (c + 1) - means.item(slot)
            slopes.append(sign * (delta / root + explained))
            gain += sign * math.log((c + 1) * root)
        both = [slopes] if Y.shape[1] == 1 else [slopes, _slopes_of_ones(moves, roots, U, counts)]
        contents = self.contents.append(self.first + entering, (y, 1.0)[: Y.shape[1]], drop=drop)
        freed = leaving if leaving is not None and not counts.item(leaving) else None
        return Slots(contents, rows, self.first, inverse, self.noise), Move(K, U, both, gain, freed)

    def compiled_step(
        self, step: CompiledStep, i: int, y: float, kernel: Array, mean: Array, var: Array, *, forget: bool
    ) -> tuple[Slots, Array, Array, float, bool]:
        """The same by `gp/compiled.py`, with the next mean and variance at once, and whether a slot was freed."""
        assert isinstance(self.inverse, Inverse)
        (numbers, Y), (entering, rows) = self.contents.views, self._slot(i, kernel.__getitem__)
        P, mean, var, gain, stay = step(
            *(np.ascontiguousarray(self.inverse.P), kernel, rows.views[0], numbers, self.first, Y),
            *(mean, var, entering, y, int(forget), self.noise),
        )
        contents = self.contents.append(self.first + entering, (y, 1.0)[: Y.shape[1]], drop=int(forget))
        return Slots(contents, rows, self.first, Inverse(P, self.noise), self.noise), mean, var, gain, not stay

    def _slot(self, i: int, row: Callable[[int], Array]) -> tuple[int, SharedRows]:
        """The slot of candidate i: its own, if it has one or had it last, or else a new one behind."""
        known = (self.rows.views[0] == i).nonzero()[0]
        return (known.item(0), self.rows) if len(known) else (len(self.rows), self.rows.append(i, row(i)))

    def kept(self) -> slice | Index | None:
        """The slots to keep: those behind the first in use, or those in use if many others are free. None: all."""
        used = self.counts > 0
        free, first = len(used) - int(np.count_nonzero(used)), int(used.argmax())
        if free - first > FREE + (len(used) - free) // 4:
            return used.nonzero()[0]
        return slice(first, None) if first else None

    def select(self, kept: slice | Index) -> Slots:
        """Of these slots alone; the others must be free."""
        inverse = self.inverse.select(kept)
        if isinstance(kept, slice):
            return Slots(self.contents, self.rows.drop(kept.start), self.first + kept.start, inverse, self.noise)
        candidates, K = self.rows.views
        contents = SharedRows.of(np.searchsorted(kept, self.slots), self.contents.views[1], room=SPARE)
        return Slots(contents, SharedRows.of(candidates[kept], K[kept], room=SPARE), 0, inverse, self.noise)


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
