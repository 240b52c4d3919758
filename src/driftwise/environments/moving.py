"""Worlds given by a formula f(x, t), among them a translation along one coordinate. The optimum is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.environments.noise import Noise
from driftwise.environments.optimum import highest
from driftwise.environments.playback import BLOCK, KEPT, place
from driftwise.environments.rkhs import Expansion
from driftwise.environments.truth import WorldTruth, covariance_of, unknown
from driftwise.environments.world import KnownOptimum
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Combined, Kernel, Matern, as_kernel
from driftwise.records import Array
from driftwise.rng import Stream, generator
from driftwise.spaces import Box, Space


class Formula(Protocol):
    """f(x, t): each row of X, (n, d), at its own time, (n,)."""

    def __hash__(self) -> int: ...

    @property
    def anchors(self) -> Array | None:
        """Additional points at which maxima are searched: (m, d)."""
        ...

    def value(self, X: Array, t: Array) -> Array: ...

    def gradient(self, X: Array, t: Array) -> tuple[Array, Array]:
        """Values and ∂f/∂x: (n,), (n, d)."""
        ...

    def best_x(self, t: int) -> Array | None:
        """The maximiser of f_t on the box, if it is known in closed form: (d,)."""
        ...

    def variation(self, horizon: int) -> float:
        """P_T; nan if the functions are in no known RKHS."""
        ...


class Path(Protocol):
    """A formula for each seed."""

    def drawn(self, seed: int) -> Formula: ...


@dataclass(frozen=True)
class Moving(KnownOptimum):
    """f_t = f(·, t), observed as f_t(x) + `noise`. The optimum is exact on candidates and known to 1e-6 on a box.

    `kernel` is the kernel that policies are given.
    """

    space: Space
    path: Path
    kernel: Kernel
    noise: Noise
    seed: int = 0
    horizon: int = 200
    name: str = "moving"

    def __post_init__(self) -> None:
        path = partial(checks.like, parts=("drawn",), example="a path, as Swept('hartmann3', over=200)")
        self.settle(path=path, kernel=as_kernel, horizon=checks.count)
        self._at(1, self.space.sample(generator(seed=0), 1))  # a path for another space is refused now

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X: (n,)."""
        X = checks.table("X", X, columns=self.space.dim)
        known = [self._index.get(tuple(x), -1) for x in X.tolist()]
        if self._index and -1 not in known:
            return self._row(t)[known]  # from the table that the optimum is taken from
        return self._at(t, X)

    def truth(self) -> WorldTruth:
        """The covariance of f_t(x) over space and time, and the noise, where the path knows it."""
        if not isinstance(self.path, Translated):
            raise unknown(f"nothing about {type(self.path).__name__} is random")
        return WorldTruth(Translating(self.path), self.noise)

    def variation(self, horizon: int) -> float:
        """P_T = Σ_{t<T} ‖f_{t+1} − f_t‖_H; nan if the functions are in no known RKHS."""
        return self._formula.variation(checks.count("horizon", horizon))

    def sup_variation(self, horizon: int) -> float:
        """Σ_{t<T} max |f_{t+1} − f_t|: exact on candidates, and to 1e-6 per step on a box."""
        if checks.count("horizon", horizon) == 1:
            return 0.0
        if self.space.points is not None:
            return float(sum(np.abs(self._row(t + 1) - self._row(t)).max() for t in range(1, horizon)))
        return float(np.maximum(self._differences(horizon, 1.0), self._differences(horizon, -1.0)).sum())

    # --- what it keeps in mind, all of which can be made again -------------------------------------------------

    @cached_property
    def _formula(self) -> Formula:
        return self.path.drawn(self.seed)

    def _at(self, t: int, X: Array) -> Array:
        return self._formula.value(X, np.full(len(X), float(checks.count("t", t, fix="steps count from 1"))))

    @cached_property
    def _row(self) -> Callable[[int], Array]:
        """t ↦ f_t at every candidate: (n,)."""
        points = self.space.points
        assert points is not None
        return lru_cache(maxsize=KEPT)(lambda t: self._at(t, points))

    def _optimum(self, t: int) -> tuple[Array, float]:
        if self.space.points is not None:
            i = int(np.argmax(self._row(t)))
            return self.space.points[i], float(self._row(t)[i])
        known = self._formula.best_x(checks.count("t", t, fix="steps count from 1"))
        if known is not None:
            return known, float(self._at(t, known[None])[0])
        block, row = place(t)
        assert isinstance(self.space, Box)
        X, tops = _block_optima(self._formula, self.space, block)
        return X[row], float(tops[row])

    def _differences(self, horizon: int, sign: float) -> Array:
        """max ±(f_{t+1} − f_t), t < T: (T − 1,)."""
        assert isinstance(self.space, Box)
        times = np.arange(1.0, horizon)
        moves = _Slices(self._formula, np.column_stack([times + 1, times]), (sign, -sign))
        return highest(moves, self.space, len(times), anchors=self._formula.anchors)[1]


@lru_cache(maxsize=64)  # worlds of different seeds share the formula where it does not depend on the seed
def _block_optima(formula: Any, box: Box, block: int) -> tuple[Array, Array]:
    times = np.arange(block * BLOCK + 1.0, (block + 1) * BLOCK + 1)[:, None]
    return highest(_Slices(formula, times, (1.0,)), box, BLOCK, anchors=formula.anchors)


@dataclass(frozen=True, eq=False)
class _Slices:
    """For each row t_1, t_2, … of `times` the function Σ_j w_j f(·, t_j)."""

    formula: Formula
    times: Array  # (n, j), or (1, j)
    weights: tuple[float, ...]  # (j,)

    def only(self, which: NDArray[np.intp]) -> _Slices:
        return replace(self, times=self.times[which])

    def __call__(self, X: Array) -> Array:
        total = np.zeros(len(X))
        for w, t in zip(self.weights, self._each(X), strict=True):
            total += w * self.formula.value(X, t)
        return total

    def gradient(self, X: Array) -> tuple[Array, Array]:
        total, slope = np.zeros(len(X)), np.zeros(X.shape)
        for w, t in zip(self.weights, self._each(X), strict=True):
            value, gradient = self.formula.gradient(X, t)
            total, slope = total + w * value, slope + w * gradient
        return total, slope

    def _each(self, X: Array) -> Array:
        return np.broadcast_to(self.times, (len(X), self.times.shape[1])).T


@dataclass(frozen=True)
class Translated:
    """f_t(x) = g(x − s(t) e_axis), g = Σ a_i k(·, c_i): the function is translated along one coordinate.

    s is a triangle wave: from 0 to `reach`, to −`reach` and back to 0 in `period` steps, at constant speed.
    """

    basis: Expansion
    axis: int
    reach: float
    period: float

    def __post_init__(self) -> None:
        if not isinstance(self.basis, Expansion) or not isinstance(self.basis.kernel, RBF | Matern):
            raise InvalidInput("a translation needs an Expansion of a stationary kernel, RBF or Matern")
        if checks.count("axis", self.axis, least=0) >= self.basis.centres.dim:
            raise InvalidInput(f"axis must be below the {self.basis.centres.dim} dimensions, got {self.axis}")
        checks.settle(self, reach=checks.nonnegative, period=checks.positive)

    def shift(self, t: Array) -> Array:
        """s(t)."""
        wave: Array = np.arcsin(np.sin(2 * math.pi * (t - 1) / self.period))
        return 2 / math.pi * self.reach * wave

    def back(self, X: Array, t: Array) -> Array:
        """x − s(t) e for each row of X at its own time: (n, d)."""
        X = np.array(X, dtype=float)
        X[:, self.axis] -= self.shift(t)
        return X

    def drawn(self, seed: int) -> _Translation:
        return _Translation(self, self.basis.draw(generator(seed, 0, Stream.WORLD)))


@dataclass(frozen=True)
class Translating(Combined):
    """Cov[f_s(x), f_t(y)] = k(x − s(s) e, y − s(t) e) over rows (x, t), k the covariance of the function that moves."""

    path: Translated

    def __call__(self, X: Array, Y: Array) -> Array:
        return self._kernel(self._back(X), self._back(Y))

    def diagonal(self, X: Array) -> Array:
        return self._kernel.diagonal(self._back(X))

    def gradient(self, X: Array, Y: Array) -> Array:
        """∂/∂x, and 0 for time, which is not chosen: (n, m, d + 1)."""
        inner = self._kernel.gradient(self._back(X), self._back(Y))
        return np.concatenate([inner, np.zeros((*inner.shape[:2], 1))], axis=2)

    @property
    def _kernel(self) -> Kernel:
        return covariance_of(self.path.basis)

    def _back(self, X: Array) -> Array:
        return self.path.back(X[:, :-1], X[:, -1])


@dataclass(frozen=True, eq=False)
class _Translation:
    path: Translated
    a: Array  # (m,)

    @property
    def anchors(self) -> Array | None:
        return None

    def value(self, X: Array, t: Array) -> Array:
        return self.path.basis.features(self.path.back(X, t)) @ self.a

    def gradient(self, X: Array, t: Array) -> tuple[Array, Array]:
        X = self.path.back(X, t)
        return self.path.basis.features(X) @ self.a, np.einsum("m,nmd->nd", self.a, self.path.basis.gradient(X))

    def best_x(self, t: int) -> Array | None:
        return None

    def variation(self, horizon: int) -> float:
        """‖f_{t+1} − f_t‖² = 2(aᵀKa − aᵀK′a), K′ between the centres and the centres moved on by one step."""
        C, moved = self.path.basis.centres.points, self.path.basis.centres.points.copy()
        total, itself = 0.0, float(self.path.basis.norms(self.a[None])[0]) ** 2
        for step in np.diff(self.path.shift(np.arange(1, horizon + 1, dtype=float))):
            moved[:, self.path.axis] = C[:, self.path.axis] + step
            squared = 2 * (itself - float(self.a @ self.path.basis.kernel(C, moved) @ self.a))
            total += math.sqrt(max(squared, 0.0))  # rounding can leave −1e−17
        return total
