"""Surfaces as users of live systems have them: cliffs, timeouts, decades, prices that multiply.

Each is drawn from a seed. A cost is minus a reward. The lab's suite `ops` has their boxes and their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftwise.environments.searched import Additive, Hills, Relative
from driftwise.records import Array
from driftwise.rng import Stream, generator
from driftwise.spaces import Box, Choice, Float, Int

PLANE = Box.of({"share": Float(0, 1), "load": Float(0, 1)})
CUBE = Box.of({"share": Float(0, 1), "load": Float(0, 1), "depth": Float(0, 1)})
FOUR = Box.of({f"x{j}": Float(0, 1) for j in range(4)})
MODES = Box.of({"share": Float(0, 1), "load": Float(0, 1), "mode": Choice(["a", "b", "c"])})
SERVICE = Box.of({"workers": Int(1, 64, log=True), "batch": Int(1, 20), "mode": Choice(["a", "b", "c"])})
DISCRETE = Box.of(
    {"workers": Int(1, 64, log=True), "batch": Int(1, 12), "codec": Choice(list("abcd")), "cache": Choice(list("xyz"))}
)


@dataclass(frozen=True)
class _Drawn:
    seed: int
    horizon: int

    def uniform(self, low: float, high: float, size: int) -> Array:
        return generator(self.seed, 100, Stream.WORLD).uniform(low, high, size)


class Cliff(_Drawn, Relative):
    """A smooth cost from 10 to 16, and 20 times that where it falls off.

    By the seed, that is for one mode of three, beyond an edge of one coordinate, or both together.
    """

    def value(self, X: Array, phase: float) -> Array:
        edge, *modes = self.uniform(0.0, 1.0, 4)
        smooth = 10 + 5 * self._hills(X) + X[:, 2:] @ np.array(modes)
        kind, axis = self.seed % 3, self.seed // 3 % 2
        beyond, mode = X[:, axis] > 0.5 + 0.3 * edge, X[:, 2 + self.seed // 6 % 3] > 0.5
        off = (mode, beyond, mode & (X[:, axis] > 0.3))[kind]
        return -np.where(off, 20 * smooth, smooth)

    @cached_property
    def _hills(self) -> Hills:
        return Hills(2, self.seed)


class Timeouts(_Drawn, Additive):
    """A smooth cost from 5 to 15 seconds, and 30 seconds, always the same, beyond a slanting edge: a timeout."""

    def value(self, X: Array, phase: float) -> Array:
        edge, slope = self.uniform(0.0, 1.0, 2)
        beyond = X[:, 0] + (0.5 + slope) * X[:, 1] > 0.7 + 0.5 * edge
        return -np.where(beyond, 30.0, 5 + 10 * self._hills(X))

    def reading(self, value: float, x: Array, draw: float) -> float:
        return value if value == -30.0 else value + draw

    @cached_property
    def _hills(self) -> Hills:
        return Hills(2, self.seed)


class Latency(_Drawn, Additive):
    """The latency s(x)/(1 − ρ) of a queue of capacity c(x) in ms, ρ = load/c(x), under a load with four cycles.

    Where the queue is saturated it stays near 100 s(x). The load goes from 0.4 to 1.1, c(x) from 0.5 to 1.4.
    The noise multiplies: a reading is the latency times exp(draw − ½ std²), of which the latency is the mean.
    """

    STD = 0.2

    def phase(self, t: int) -> float:
        start = float(self.uniform(0.0, 1.0, 1)[0])
        return round(0.75 + 0.35 * math.sin(2 * math.pi * (4 * t / self.horizon + start)), 9)  # the same in each cycle

    def value(self, X: Array, phase: float) -> Array:
        service, capacity = (hills(X) for hills in self._hills)
        free = 1 - phase / (0.5 + 0.9 * capacity)
        soft = 0.01 + 0.02 * np.logaddexp(0.0, free / 0.02)
        return -(4 + 4 * service) / np.minimum(soft, 1.0)

    def reading(self, value: float, x: Array, draw: float) -> float:
        return value * math.exp(draw - self.STD**2 / 2)

    @cached_property
    def _hills(self) -> tuple[Hills, Hills]:
        return Hills(2, self.seed), Hills(2, self.seed, 1, length=0.45)


class Throughput(_Drawn, Additive):
    """From 1,000 to 6,000 requests a second; the noise is 2% to 30% of that, depending on the place."""

    def value(self, X: Array, phase: float) -> Array:
        return 1000 + 5000 * self._hills[0](X)

    def reading(self, value: float, x: Array, draw: float) -> float:
        ratio = float(self._hills[1](np.asarray(x)[None])[0])
        return value * (1 + draw * (0.02 + 0.28 * min(max(ratio, 0.0), 1.0)))

    @cached_property
    def _hills(self) -> tuple[Hills, Hills]:
        return Hills(2, self.seed), Hills(2, self.seed, 1)


class Tenfold(_Drawn, Relative):
    """A cost from 1 to 4, and from the middle on another one, ten times as dear, with its best setting elsewhere."""

    def phase(self, t: int) -> float:
        return float(t > self.horizon // 2)

    def value(self, X: Array, phase: float) -> Array:
        return -((1 + 3 * self._before(X)) if phase == 0 else 10 * (1 + 3 * self._after(X)))

    @cached_property
    def _before(self) -> Hills:
        return Hills(2, self.seed)

    @cached_property
    def _after(self) -> Hills:
        """The first function that is lowest more than 0.35 away from where the one before is."""
        drawn = (Hills(2, self.seed, number) for number in range(1, 100))
        return next(each for each in drawn if np.linalg.norm(each.lowest() - self._before.lowest()) > 0.35)


class Smooth(_Drawn, Additive):
    """A smooth cost from 30 to 100 of three numbers."""

    def value(self, X: Array, phase: float) -> Array:
        return -(30 + 70 * self._hills(X))

    @cached_property
    def _hills(self) -> Hills:
        return Hills(3, self.seed)


class ServiceCost(_Drawn, Additive):
    """A cost from 30 to about 100 of two whole numbers, one of them logarithmic, and a choice."""

    def value(self, X: Array, phase: float) -> Array:
        rng = np.random.default_rng(self.seed)
        centre, modes = rng.uniform(0.2, 0.8, 2), rng.permutation([0.0, 4.0, 8.0])
        return -(30 + 60 * (X[:, 0] - centre[0]) ** 2 + 40 * (X[:, 1] - centre[1]) ** 2 + X[:, 2:] @ modes)


class Discrete(_Drawn, Additive):
    """A reward from 0 to about 1.5 of two whole numbers and two choices; each codec has a function of its own."""

    def value(self, X: Array, phase: float) -> Array:
        bonus = self.uniform(0.0, 0.5, 3)
        each = np.column_stack([hills(X) for hills in self._hills])
        return (X[:, 2:6] * each).sum(axis=1) + X[:, 6:9] @ bonus

    @cached_property
    def _hills(self) -> list[Hills]:
        return [Hills(2, self.seed, number) for number in range(4)]


class OneOfFour(_Drawn, Additive):
    """A smooth reward from 0 to 2.5 of one parameter of four; which one, the seed says."""

    def value(self, X: Array, phase: float) -> Array:
        which = self.seed % 4
        return 2.5 * self._hills(X[:, which : which + 1])

    @cached_property
    def _hills(self) -> Hills:
        return Hills(1, self.seed)


class Peak(_Drawn, Additive):
    """A broad hill of height 1, and a peak of height 3 and width 0.05 away from it."""

    def value(self, X: Array, phase: float) -> Array:
        peak, broad = self.uniform(0.15, 0.85, 4).reshape(2, 2)
        broad = np.where(np.linalg.norm(broad - peak) < 0.3, 1 - peak, broad)
        near, far = (np.square(X - centre).sum(axis=1) for centre in (peak, broad))
        return 3 * np.exp(-near / (2 * 0.05**2)) + np.exp(-far / (2 * 0.3**2))
