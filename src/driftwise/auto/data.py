"""The observations that experts use: which of them, rewards standardised robustly, time in typical gaps."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.readings import informative, unit_changes
from driftwise.gp.clock import reckoned, typical_gap
from driftwise.gp.noise import Own, Pair, all_pairs, appended, location_scale, pair_of, selected
from driftwise.records import Array, Observation

SPAN = 2000  # the last observations, from which those in use are selected
NEAR = 0.05  # times √d: radius within which a newer observation supersedes an older one
PLACE = 0.1  # times √d: radius within which observations count as made at one place
CHOICES = 100  # d up to which that grows: two values of a Choice are √2 apart however many coordinates it has
WIDTH = 0.25  # of the neighbourhood in which far readings are expected again, in parts of the space, times √(d/2)

UnitChanges = tuple[tuple[int, float], ...]  # changes of the unit: the first number in a new one, and its factor


def _squared(part: float, d: int) -> float:
    """(part √d)², d at most CHOICES."""
    return part**2 * min(d, CHOICES)


@dataclass(frozen=True)
class Frame:
    """The extent of the space along each coordinate, and whether rewards are centred and scaled.

    `past` are the level and the scale that rewards had before, in a history.
    """

    sides: tuple[float, ...]
    standardise: bool = True
    past: tuple[float, float] | None = None

    @cached_property
    def neighbourhood(self) -> float:
        """The standard deviation of the neighbourhood in which far readings are expected again, per side."""
        return WIDTH * max(len(self.sides), 2) ** 0.5 / 2**0.5


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations in the order of their numbers. It never changes; `observe` returns the next."""

    numbers: NDArray[np.int64]  # (n,)
    at: Array  # (n,)
    X: Array  # (n, d)
    y: Array  # (n,)
    frame: Frame
    settled: tuple[float, Array] | None = None  # the typical gap and elapsed times, if these are given
    own: Own = None  # (n, 2): the noises of the observations' own, if any has one

    @classmethod
    def nothing(cls, frame: Frame) -> Observations:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, len(frame.sides))), np.zeros(0), frame)

    def __len__(self) -> int:
        return len(self.y)

    def observe(self, seen: Observation, *, keep: int) -> Observations:
        """The last `keep` observations, the newest of which is `seen`."""
        old = slice(max(len(self) - keep + 1, 0), None)
        return Observations(
            np.append(self.numbers[old], seen.number),
            np.append(self.at[old], seen.at),
            np.vstack([self.X[old], seen.x]),
            np.append(self.y[old], seen.y),
            self.frame,
            own=selected(appended(self.own, len(self), pair_of(seen)), old),
        )

    def followed_by(self, later: Observations) -> Observations:
        """These and `later` observations, in the time units of these, so that fits to these can be extended."""
        at, plain = np.concatenate([self.at, later.at]), self.own is None and later.own is None
        return Observations(
            np.concatenate([self.numbers, later.numbers]),
            at,
            np.vstack([self.X, later.X]),
            np.concatenate([self.y, later.y]),
            self.frame,
            (self.gap, reckoned(at, self.gap, known=self.elapsed)),
            None if plain else np.vstack([all_pairs(self.own, len(self)), all_pairs(later.own, len(later))]),
        )

    def after(self, number: int) -> Observations:
        """The observations with larger numbers."""
        return self.only(np.arange(self.place(number + 1), len(self)))

    def only(self, rows: NDArray[np.intp]) -> Observations:
        settled = self.settled and (self.settled[0], self.settled[1][rows])
        some = replace(self, numbers=self.numbers[rows], at=self.at[rows], X=self.X[rows], y=self.y[rows])
        return replace(some, settled=settled, own=selected(self.own, rows))

    def in_unit_of(self, newest: UnitChanges) -> Observations:
        """The same in the newest unit: rewards before each of these changes are multiplied by its factor."""
        if not newest:
            return self
        factors = np.ones(len(self))
        for number, factor in newest:
            factors[: self.place(number)] *= factor
        own = None if self.own is None else self.own * np.stack([factors**2, np.ones(len(self))], axis=1)
        return replace(self, y=self.y * factors, own=own)

    def place(self, number: int) -> int:
        """The index of the first observation from `number` on."""
        return bisect_left(self._listed, number)

    @cached_property
    def _listed(self) -> list[int]:
        """The numbers: in a list the place of one is found in a fraction of the time."""
        return self.numbers.tolist()

    @cached_property
    def place_weights(self) -> Array:
        """The weight of each observation; those made at one place count as one together: (n,), Σ = number of places.

        A policy that has found the maximum stays there. The mean and the variance of the function are not those of the
        rewards it got, but about those of the rewards averaged by place. With noises of their own, observations at one
        place count by their precision, and a place where all is noise counts for less than one.
        """
        X = self.X / np.array(self.frame.sides)
        squares = np.square(X).sum(axis=1)
        apart = squares[:, None] + squares[None, :] - 2 * (X @ X.T)
        near = apart <= _squared(PLACE, X.shape[1])
        if self.own is None:
            return 1 / np.maximum(near.sum(axis=1), 1)
        return self._precision / np.maximum(near @ self._precision, 1.0)

    @property
    def _precision(self) -> Array:
        """The variance of rewards, as a part of that and the known noise variance together: (n,), 1 without noise."""
        spread = location_scale(self.y, self.own)[1] ** 2
        return spread / (spread + all_pairs(self.own, len(self))[:, 0])

    @cached_property
    def known_std(self) -> Array | None:
        """The known noise variances, in the units of the rewards, 0 where none is known: (n,). None: none at all."""
        return None if self.own is None or not self.own[:, 0].any() else self.own[:, 0]

    @property
    def all_known(self) -> bool:
        """Whether the noise of every observation is known."""
        return self.own is not None and bool((self.own[:, 1] == 0).all())

    @cached_property
    def gap(self) -> float:
        """The typical time between two observations."""
        return self.settled[0] if self.settled else typical_gap(self.at, self.numbers)

    @cached_property
    def elapsed(self) -> Array:
        """The time of each as `gp/clock.py` counts it; unless given, relative to the last observation: (n,)."""
        if self.settled:
            return self.settled[1]
        elapsed = reckoned(self.at, self.gap)
        return elapsed - elapsed[-1] if len(elapsed) else elapsed

    @cached_property
    def clock(self) -> Array:
        """The same in typical gaps: (n,)."""
        return self.elapsed / self.gap

    def clock_at(self, at: float) -> float:
        """The clock at time `at`, if the next observation were made then."""
        return float(reckoned(np.append(self.at, at), self.gap, known=self.elapsed)[-1]) / self.gap


@dataclass(frozen=True, eq=False)
class Memory:
    """The last `span` observations, and the number of newer ones near each.

    Experts use `most` of them: those with the fewest newer ones nearby, the newest first. Of a hundred observations of
    one setting the newest say it all, while a single old observation elsewhere is all the information there is about
    that region. (An expert that believes in drift discounts it anyway, by its kernel of time.)
    """

    all: Observations
    newer: Array  # (n,); a newer one that is r times as noisy counts as 1/r
    most: int
    span: int = SPAN

    @classmethod
    def nothing(cls, frame: Frame, *, most: int, span: int = SPAN) -> Memory:
        return cls(Observations.nothing(frame), np.zeros(0), most, span)

    def observe(self, seen: Observation) -> Memory:
        old = slice(max(len(self.newer) - self.span + 1, 0), None)
        away = (self.all.X[old] - np.array(seen.x)) / np.array(self.all.frame.sides)
        near = np.square(away).sum(axis=1) <= _squared(NEAR, len(seen.x))
        grown = self.all.observe(seen, keep=self.span)
        superseded = near if grown.own is None else near * _as_exact(grown.own[:-1], pair_of(seen))
        return Memory(grown, np.append(self.newer[old] + superseded, 0.0), self.most, self.span)

    @cached_property
    def informative(self) -> Observations:
        """All but the repeats of a sensor that sticks."""
        rows = informative(self.all.y, self.all.X)
        return self.all if len(rows) == len(self.all) else self.all.only(rows)

    @property
    def stuck(self) -> bool:
        """Whether the newest reading only repeats the one before."""
        return bool(len(self.all) and self.informative.numbers[-1] < self.all.numbers[-1])

    @cached_property
    def units(self) -> UnitChanges:
        """The changes of the unit of rewards."""
        seen, frame = self.informative, self.all.frame
        if not frame.standardise:
            return ()
        found = unit_changes(seen.y, seen.X / np.array(frame.sides), _squared(PLACE, seen.X.shape[1]) ** 0.5)
        return tuple((int(seen.numbers[place]), factor) for place, factor in found)

    @cached_property
    def chosen(self) -> Observations:
        """The `most` observations to use, in order, in the units they came in."""
        seen = self.informative
        if len(seen) <= self.most:
            return seen
        newer = self.newer[np.searchsorted(self.all.numbers, seen.numbers)]
        return seen.only(np.sort(np.lexsort((-np.arange(len(seen)), newer))[: self.most]))

    @cached_property
    def selected(self) -> Observations:
        """The same in the newest unit."""
        return self.chosen.in_unit_of(self.units)


def _as_exact(own: Array, pair: Pair) -> Array:
    """How exact an observation is beside each of the older ones, 1 at most: (n,). Only like is compared with like."""
    a, b = pair
    ratio = own[:, 0] / a if a else own[:, 1] / b
    return np.where(ratio > 0, np.minimum(ratio, 1.0), 1.0)
