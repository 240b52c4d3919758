"""Worlds whose f_t is any formula on a box, without a gradient: the optimum is searched for, always in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np

from driftwise import checks
from driftwise.environments.noise import Noise
from driftwise.environments.optimum import scan_points
from driftwise.environments.rkhs import Expansion
from driftwise.environments.truth import WorldTruth, unknown
from driftwise.environments.world import KnownOptimum
from driftwise.gp.kernels import RBF, Kernel, Matern
from driftwise.records import Array
from driftwise.rng import Stream, generator
from driftwise.spaces import Box
from driftwise.spaces.sobol import sobol

STARTS, SPREAD, ROUNDS = 8, 64, 30  # of the refinement: where it starts, settings looked at around each, how often


class Surface(Protocol):
    """A function of a setting and of a `phase`, which is all of the time that it depends on."""

    def phase(self, t: int) -> float: ...

    def value(self, X: Array, phase: float) -> Array:
        """The rewards at the rows of X, without noise: (n,)."""
        ...

    def reading(self, value: float, x: Array, draw: float) -> float:
        """What is read where the reward is `value`, given the `draw` of the noise."""
        ...


class Additive:
    """A surface that stands still, read with noise that is added; most others differ in one of these."""

    def phase(self, t: int) -> float:
        return 0.0

    def reading(self, value: float, x: Array, draw: float) -> float:
        return value + draw


class Relative(Additive):
    """Read with noise relative to the reward."""

    def reading(self, value: float, x: Array, draw: float) -> float:
        return value * (1 + draw)


@dataclass(frozen=True)
class Searched(KnownOptimum):
    """f_t(x) = surface.value(x, phase(t)), observed through `noise` as the surface says.

    The optimum is that of a scan of thousands of settings, refined around its best ones. `kernel` is what policies are
    given. `changes` are the last steps before the surface changes abruptly.
    """

    space: Box
    surface: Callable[[int, int], Surface]  # of the seed and the horizon
    noise: Noise
    seed: int = 0
    horizon: int = 160
    name: str = "searched"
    changes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.settle(horizon=checks.count)

    @property
    def kernel(self) -> Kernel:
        return Matern(2.5, 0.3)

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X: (n,)."""
        return self._surface.value(checks.table("X", X, columns=self.space.dim), self._surface.phase(t))

    def observe(self, t: int, x: Array) -> float:
        value, x = float(self.value(t, checks.table("x", [x]))[0]), np.asarray(x, dtype=float)
        return self._surface.reading(value, x, self.noise.draw(self.seed, t))

    def truth(self) -> WorldTruth:
        """Refused: these functions are drawn from no Gaussian process."""
        raise unknown(f"{self.name} is no draw of a Gaussian process")

    def variation(self, horizon: int) -> float:
        """nan: these functions are given in no RKHS."""
        return math.nan

    def sup_variation(self, horizon: int) -> float:
        """Σ_{t<T} max |f_{t+1} − f_t|, over the points of the scan."""
        X = scan_points(self.space)
        F = [self.value(t, X) for t in range(1, checks.count("horizon", horizon) + 1)]
        return float(sum(np.abs(b - a).max() for a, b in pairwise(F)))

    @cached_property
    def _surface(self) -> Surface:
        return self.surface(self.seed, self.horizon)

    def _optimum(self, t: int) -> tuple[Array, float]:
        return self._optima(self._surface.phase(checks.count("t", t, fix="steps count from 1")))

    @cached_property
    def _optima(self) -> Callable[[float], tuple[Array, float]]:
        return lru_cache(maxsize=512)(lambda phase: highest(lambda X: self._surface.value(X, phase), self.space))


def highest(f: Callable[[Array], Array], box: Box) -> tuple[Array, float]:
    """Where f is largest on the box, and its value there: (d,).

    From the best points of the scan it goes on to the best of ever smaller neighbourhoods and of all single steps of
    whole numbers and choices. Nothing is random.
    """
    X = scan_points(box) if box.points is None else box.points
    values = f(X)
    tops = X[np.argsort(-values, kind="stable")[:STARTS]]
    steps = 2 * sobol(box.dim, SPREAD) - 1
    for i in range(ROUNDS):
        around = [box.snap(np.clip(x + 0.1 * 0.6**i * steps * box.continuous, 0, 1)) for x in tops]
        near = [np.vstack([x[None], some, box.neighbours(x)]) for x, some in zip(tops, around, strict=True)]
        tops = np.array([each[np.argmax(f(each))] for each in near])
    values = f(tops)
    return tops[np.argmax(values)], float(values.max())


@dataclass(frozen=True)
class Hills:
    """A smooth random function of the first `dim` coordinates, from about 0 to about 1: Σ a_i k(·, c_i), scaled."""

    dim: int
    seed: int
    number: int = 0
    length: float = 0.3

    def __call__(self, X: Array) -> Array:
        low, high = self._range
        return (self._raw(X[:, : self.dim]) - low) / (high - low)

    def lowest(self) -> Array:
        """About where it is lowest: (dim,)."""
        points = sobol(self.dim, 1024)
        return points[np.argmin(self._raw(points))]

    def _raw(self, X: Array) -> Array:
        return self._basis.features(X) @ self._a

    @cached_property
    def _basis(self) -> Expansion:
        from driftwise.environments.catalogue import halton

        return Expansion(RBF(self.length * math.sqrt(self.dim / 2)), halton(40, self.dim))

    @cached_property
    def _a(self) -> Array:
        return self._basis.draw(generator(self.seed, self.number, Stream.WORLD))

    @cached_property
    def _range(self) -> tuple[float, float]:
        values = self._raw(sobol(self.dim, 1024))
        return float(values.min()), float(values.max())
