"""A level that moves for all settings: f_t + h(t). The best setting does not depend on h; what is seen does.

The level is one more coefficient, that of the constant 1 (`Lifted`), and moves by a rule of its own (`Levelled`). Its
draws come after those of the function, so that a world with a level has the same functions as the one without.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from driftwise import checks
from driftwise.environments.drift import Draw, Drift, as_drift
from driftwise.environments.rkhs import Basis, Described, as_basis
from driftwise.gp.kernels import Kernel, Level, Scaled, Sum
from driftwise.records import Array


@dataclass(frozen=True)
class Lifted(Described):
    """The functions of another basis, and the constant 1: ‖f + c‖² = ‖f‖² + c²/v in the RKHS of k + v.

    The kernel that policies are given is (k + v)/(1 + v), at most 1 where k is, and norms are those of its RKHS.

    >>> from driftwise.environments.rkhs import Coordinates
    >>> Lifted(Coordinates(2), 3.0).norms(np.array([[1.0, 0.0, 3.0]])).tolist()
    [4.0]
    """

    basis: Basis
    variance: float

    def __post_init__(self) -> None:
        checks.settle(self, basis=as_basis, variance=checks.positive)

    @property
    def kernel(self) -> Kernel:
        return Scaled(Sum(self.basis.kernel, Level(self.variance)), 1 / (1 + self.variance))

    def features(self, X: Array) -> Array:
        return np.hstack([self.basis.features(X), np.ones((len(X), 1))])

    def gradient(self, X: Array) -> Array:
        G = self.basis.gradient(X)  # (n, m, d)
        return np.concatenate([G, np.zeros((len(X), 1, G.shape[2]))], axis=1)

    def norms(self, C: Array) -> Array:
        squares = np.square(self.basis.norms(C[:, :-1])) + np.square(C[:, -1]) / self.variance
        return np.sqrt((1 + self.variance) * squares)

    def draw(self, rng: np.random.Generator) -> Array:
        return np.append(self.basis.draw(rng), rng.standard_normal())


class LevelPath(Protocol):
    """h(t). `draw` gives standard normal numbers, and `before` is h(t − 1), from t = 2 on."""

    def at(self, t: int, draw: Draw, before: float | None) -> float: ...

    def covariance(self, s: Array, t: Array) -> Array:
        """E h(s) h(t), element by element."""
        ...


@dataclass(frozen=True)
class CyclingLevel:
    """√2 s sin(2πt/period + φ), of standard deviation s; φ is drawn."""

    std: float
    period: float

    def at(self, t: int, draw: Draw, before: float | None) -> float:
        return math.sqrt(2) * self.std * math.sin(2 * math.pi * t / self.period + math.pi * float(draw(0)[-1]))

    def covariance(self, s: Array, t: Array) -> Array:
        """s² cos(2π(s − t)/period): φ, normal of standard deviation π, is uniform on the circle to 3e-9."""
        return self.std**2 * np.cos((2 * math.pi / self.period) * (s - t))


@dataclass(frozen=True)
class WalkingLevel:
    """A random walk from 0, with steps of standard deviation s√(6/T): s is that about its mean over T steps."""

    std: float
    over: int

    def at(self, t: int, draw: Draw, before: float | None) -> float:
        return 0.0 if before is None else before + self.std * math.sqrt(6 / self.over) * float(draw(t)[-1])

    def covariance(self, s: Array, t: Array) -> Array:
        return self.std**2 * 6 / self.over * (np.minimum(s, t) - 1)


@dataclass(frozen=True)
class JumpingLevel:
    """A level of standard deviation s, drawn anew after each of `times`."""

    std: float
    times: tuple[int, ...]

    def at(self, t: int, draw: Draw, before: float | None) -> float:
        return self.std * float(draw(bisect_left(self.times, t))[-1])

    def covariance(self, s: Array, t: Array) -> Array:
        return self.std**2 * (np.searchsorted(self.times, s) == np.searchsorted(self.times, t))


@dataclass(frozen=True)
class Levelled(Drift):
    """Another drift, and a level: the coefficients of f_t, and h(t) as the last one, on a `Lifted` basis."""

    drift: Drift
    level: LevelPath

    chained: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, drift=as_drift)

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        function = None if before is None or not self.drift.chained else before[:-1]
        h = self.level.at(t, draw, None if before is None else float(before[-1]))
        return np.append(self.drift.at(t, lambda j: draw(j)[:-1], function), h)
