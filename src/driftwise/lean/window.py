"""The observations that each key holds, and the units of its rewards.

A window has w slots. A new observation takes an empty slot, or that of the observation with the most newer ones nearby,
the oldest of equals: of many measurements of the maximum the newest say it all, while a single old one elsewhere is all
the information there is about that region.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.window.experts import HeldSlots
from driftwise.gp.window.slots import Index
from driftwise.lean.bank import LeanBank
from driftwise.records import Array

CLIPPED = 6.0  # scales from the location beyond which a reward is read as if it were there
SEVERAL = 8  # observations from which on it is
EMPTY = 1 << 62
NEWER = 1 << 40  # beyond any number

Numbers = NDArray[np.int64]


class WindowSlots(NamedTuple):
    """What is in the slots of k keys. Rewards are relative to the key's `origin`, and clipped."""

    where: Index  # (k, w): candidates
    y: Array  # (k, w)
    number: Numbers  # (k, w): 0 if the slot is empty
    newer: Numbers  # (k, w): how many newer observations were made nearby

    @classmethod
    def nothing(cls, keys: int, slots: int) -> WindowSlots:
        where, numbers = np.zeros((keys, slots), dtype=np.intp), np.zeros((keys, slots), dtype=np.int64)
        return cls(where, np.zeros((keys, slots)), numbers, numbers)

    @property
    def filled(self) -> NDArray[np.bool_]:
        return self.number > 0

    @property
    def Y(self) -> Array:
        """Rewards and ones, 0 in empty slots: (k, w, 2)."""
        return np.stack([self.y, self.filled.astype(float)], axis=2)

    def slot(self) -> Index:
        """The slot that the next observation takes: (k,)."""
        superseded = self.newer * NEWER - self.number
        return np.argmax(np.where(self.filled, superseded, EMPTY), axis=1)

    def at(self, number: Numbers) -> HeldSlots:
        """The same for the beliefs at the steps `number` of the keys."""
        return HeldSlots(self.where, self.Y, (number[:, None] - self.number).astype(float))

    def put(self, bank: LeanBank, slot: Index, j: Index, y: Array, number: Numbers) -> WindowSlots:
        """With an observation in `slot` of each key."""
        keys = np.arange(len(j))
        where, rewards, numbers = self.where.copy(), self.y.copy(), self.number.copy()
        newer = self.newer + bank.near[j[:, None], self.where]
        where[keys, slot], rewards[keys, slot], numbers[keys, slot], newer[keys, slot] = j, y, number, 0
        return WindowSlots(where, rewards, numbers, newer)


class Units(NamedTuple):
    """Of rewards, (k,) each: a reward is location + scale · target. `places` is of how many they were found.

    `reach` is how far from the location a reward is believed.
    """

    location: Array
    scale: Array
    places: Array
    reach: Array

    @classmethod
    def of(cls, bank: LeanBank, held: WindowSlots, origin: Array) -> Units:
        """Averages over places: observations at one place count as one together, and the prior as `strength` places.

        The scale is an upper confidence bound: a few places with low rewards do not
        show that the others are low.
        """
        strength, spread, level = bank.prior.strength, bank.prior.scale, bank.prior.location - origin
        together = bank.same_place[held.where[:, :, None], held.where[:, None, :]] & held.filled[:, None, :]
        weights = held.filled / np.maximum(together.sum(axis=2), 1)
        places = weights.sum(axis=1) + strength
        location = (np.einsum("kw,kw->k", weights, held.y) + strength * level) / np.maximum(places, 1e-300)
        squares = np.einsum("kw,kw->k", weights, np.square(held.y - location[:, None]))
        squares = squares + strength * (spread**2 + np.square(level - location))
        scale = np.sqrt(squares / np.interp(places, np.arange(len(bank.quantiles)), bank.quantiles))
        # rewards that differ only by rounding have no scale
        some = scale > 1e-12 * np.abs(held.y).max(axis=1, initial=0.0)
        reach = np.where(some & (held.filled.sum(axis=1) >= SEVERAL), CLIPPED * scale, np.inf)
        return cls(location, np.where(some, scale, 1.0), places, reach)

    def clipped(self, y: Array) -> Array:
        """A reward far from all others is read as one at the end of their range: one wrong reading does little harm."""
        return np.clip(y, self.location - self.reach, self.location + self.reach)


class Recent(NamedTuple):
    """The last observations of each key as they came, oldest first: (k, span) each."""

    where: Index
    y: Array
    number: Numbers  # 0: none

    @classmethod
    def nothing(cls, keys: int, span: int) -> Recent:
        shape = keys, span
        return cls(np.zeros(shape, dtype=np.intp), np.zeros(shape), np.zeros(shape, dtype=np.int64))

    def followed_by(self, j: Index, y: Array, number: Numbers) -> Recent:
        def appended(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
            return np.append(old[:, 1:], new[:, None], axis=1)

        return Recent(appended(self.where, j), appended(self.y, y), appended(self.number, number))

    def selected(self, bank: LeanBank) -> Index:
        """Which of them to hold, oldest first: those with the fewest newer ones nearby, the newest of equals. (k, w)"""
        span = self.number.shape[1]
        near = bank.near[self.where[:, :, None], self.where[:, None, :]] & (self.number > 0)[:, :, None]
        newer = np.triu(near, 1).sum(axis=2)
        order = np.argsort(np.where(self.number > 0, newer * NEWER - self.number, EMPTY), axis=1, kind="stable")
        return np.sort(order[:, : min(bank.window, span)], axis=1)
