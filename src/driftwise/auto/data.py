"""What the experts of a bank see: which observations, rewards standardised robustly, time in typical gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from driftwise.gp.clock import reckoned, typical_gap
from driftwise.records import Array, Observation

SPAN = 2000  # observations of which some are kept
NEAR = 0.05  # times √d: the later of two observations so near makes the earlier one less needed
PLACE = 0.1  # times √d: observations so near were made at one place
CHOICES = 100  # d up to which that counts: two choices, each with a coordinate of its own, are √2 apart whatever d is
TAIL = 0.1  # so large a part of the places, at either end, may be outliers
REACH = 3.0  # rewards are cut off so many times the range of the rest beyond it
CAUTION = 0.1  # how likely the true spread is above the one assumed


def _squared(part: float, d: int) -> float:
    """(part √d)², d at most CHOICES."""
    return part**2 * min(d, CHOICES)


@dataclass(frozen=True)
class Frame:
    """How they are looked at: the space's extent along each coordinate, and whether rewards are standardised."""

    sides: tuple[float, ...]
    standardise: bool = True


@dataclass(frozen=True, eq=False)
class Seen:
    """Observations in the order of their numbers. It never changes; `observe` returns the next."""

    numbers: NDArray[np.int64]  # (n,)
    at: Array  # (n,)
    X: Array  # (n, d)
    y: Array  # (n,)
    frame: Frame
    settled: tuple[float, Array] | None = None  # the typical gap and elapsed times, where these are

    @classmethod
    def nothing(cls, frame: Frame) -> Seen:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, len(frame.sides))), np.zeros(0), frame)

    def __len__(self) -> int:
        return len(self.y)

    def observe(self, seen: Observation, *, keep: int) -> Seen:
        """The last `keep` observations after `seen`."""
        old = slice(max(len(self) - keep + 1, 0), None)
        return Seen(
            np.append(self.numbers[old], seen.number),
            np.append(self.at[old], seen.at),
            np.vstack([self.X[old], seen.x]),
            np.append(self.y[old], seen.y),
            self.frame,
        )

    def followed_by(self, later: Seen) -> Seen:
        """These and `later` ones, time counted as it is here: what was believed of these can be extended."""
        at = np.concatenate([self.at, later.at])
        return Seen(
            np.concatenate([self.numbers, later.numbers]),
            at,
            np.vstack([self.X, later.X]),
            np.concatenate([self.y, later.y]),
            self.frame,
            (self.gap, reckoned(at, self.gap, known=self.elapsed)),
        )

    def after(self, number: int) -> Seen:
        """Those that came after it."""
        return self.only(np.arange(self.place(number + 1), len(self)))

    def only(self, rows: NDArray[np.intp]) -> Seen:
        settled = self.settled and (self.settled[0], self.settled[1][rows])
        some = replace(self, numbers=self.numbers[rows], at=self.at[rows], X=self.X[rows], y=self.y[rows])
        return replace(some, settled=settled)

    def place(self, number: int) -> int:
        """Where among them the observations from `number` on begin."""
        return int(np.searchsorted(self.numbers, number))

    @cached_property
    def standing(self) -> Array:
        """What each counts: those made at one place count as one together. (n,), adding up to the number of places.

        A policy that has found the top stays there. The mean and the spread of the function are not those of the
        rewards it got, but about those of rewards at places.
        """
        X = self.X / np.array(self.frame.sides)
        squares = np.square(X).sum(axis=1)
        apart = squares[:, None] + squares[None, :] - 2 * (X @ X.T)
        return 1 / np.maximum((apart <= _squared(PLACE, X.shape[1])).sum(axis=1), 1)

    @cached_property
    def cut(self) -> Array:
        """The rewards, those far beyond the range of most places cut off: (n,)."""
        if len(self) < 5:
            return self.y
        order = np.argsort(self.y, kind="stable")
        below = np.cumsum(self.standing[order]) / self.standing.sum()
        low, high = self.y[order[np.searchsorted(below, [TAIL, 1 - TAIL])]]
        spread = high - low
        if not spread > 1e-12 * max(abs(low), abs(high)):  # most are equal: the rest is all there is to see
            return self.y
        return np.clip(self.y, low - REACH * spread, high + REACH * spread)

    @cached_property
    def units(self) -> tuple[float, float]:
        """(location, scale): a reward is location + scale · target.

        With p places the scale is √(Σ w (y − ȳ)² / χ²), χ² the CAUTION-quantile with p − 1 degrees of freedom: an upper
        confidence bound of the standard deviation, since few places, all of them low, are no proof that the rest is.
        """
        if not self.frame.standardise or not len(self):
            return 0.0, 1.0
        places = float(self.standing.sum())
        location = float(self.standing @ self.cut) / places
        squares = float(self.standing @ np.square(self.cut - location))
        scale = float(np.sqrt(squares / chdtri(max(places - 1, 1.0), 1 - CAUTION)))
        # rewards that differ by rounding alone have no spread
        return location, scale if scale > 1e-12 * float(np.abs(self.cut).max()) else 1.0

    @cached_property
    def targets(self) -> Array:
        """The rewards as experts see them: (n,)."""
        location, scale = self.units
        return (self.cut - location) / scale

    @cached_property
    def gap(self) -> float:
        """The typical time between two observations."""
        return self.settled[0] if self.settled else typical_gap(self.at, self.numbers)

    @cached_property
    def elapsed(self) -> Array:
        """The time of each as it is reckoned (`clock.py`), after the last one where nothing is settled: (n,)."""
        if self.settled:
            return self.settled[1]
        elapsed = reckoned(self.at, self.gap)
        return elapsed - elapsed[-1] if len(elapsed) else elapsed

    @cached_property
    def clock(self) -> Array:
        """The same in typical gaps: (n,)."""
        return self.elapsed / self.gap

    def read(self, at: float) -> float:
        """What the clock shows at another time, were that of the next observation."""
        return float(reckoned(np.append(self.at, at), self.gap, known=self.elapsed)[-1]) / self.gap


@dataclass(frozen=True, eq=False)
class Memory:
    """The last `span` observations, and of each how many newer ones were made near it.

    Not the latest are kept but those with the fewest newer ones nearby, and the latest of these: of a hundred
    observations of one setting the newest say it all, while the one look elsewhere long ago is all there is of it. (An
    expert for whom the world drifts forgets it anyway, by its kernel of time.)
    """

    all: Seen
    newer: NDArray[np.int64]  # (n,)
    most: int
    span: int = SPAN

    @classmethod
    def nothing(cls, frame: Frame, *, most: int, span: int = SPAN) -> Memory:
        return cls(Seen.nothing(frame), np.zeros(0, dtype=np.int64), most, span)

    def observe(self, seen: Observation) -> Memory:
        old = slice(max(len(self.newer) - self.span + 1, 0), None)
        away = (self.all.X[old] - np.array(seen.x)) / np.array(self.all.frame.sides)
        near = np.square(away).sum(axis=1) <= _squared(NEAR, len(seen.x))
        all_seen = self.all.observe(seen, keep=self.span)
        return Memory(all_seen, np.append(self.newer[old] + near, 0), self.most, self.span)

    @cached_property
    def kept(self) -> Seen:
        """The `most` that are needed most, in order."""
        n = len(self.newer)
        if n <= self.most:
            return self.all
        return self.all.only(np.sort(np.lexsort((-np.arange(n), self.newer))[: self.most]))
