"""What a world is: a random function of an RKHS that drifts, seen through noise, with its optimum known.

Named worlds are made in `catalogue.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self

import numpy as np

from driftwise import checks
from driftwise.environments.drift import Drift, as_drift
from driftwise.environments.noise import Noise, as_noise
from driftwise.environments.optimum import maxima, scan_points
from driftwise.environments.playback import KEPT, Playback, place
from driftwise.environments.rkhs import Basis, Described, as_basis
from driftwise.environments.truth import WorldTruth, in_space_and_time
from driftwise.gp.kernels import Kernel
from driftwise.records import Array, Point
from driftwise.rng import generator
from driftwise.spaces import Box, Space, as_space


class Environment(Protocol):
    """All that `run` needs. Times count from 1; X are rows, (n, d), of the space's own coordinates."""

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X: (n,)."""
        ...

    def observe(self, t: int, x: Array) -> float:
        """f_t(x) + noise."""
        ...

    def best(self, t: int) -> float:
        """max f_t."""
        ...


class SeededEnvironment(Environment, Protocol):
    """What the environments of this package offer in addition: a space, and a version for any seed."""

    @property
    def name(self) -> str: ...
    @property
    def space(self) -> Space: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def seed(self) -> int: ...
    @property
    def horizon(self) -> int: ...
    def seeded(self, seed: int) -> Self: ...
    def best_x(self, t: int) -> Array: ...
    def variation(self, horizon: int) -> float: ...
    def sup_variation(self, horizon: int) -> float: ...


class KnownOptimum(Described):
    """What worlds have in common whose optimum is known."""

    space: Space
    noise: Noise
    seed: int

    def settle(self, **rules: checks.Rule) -> None:
        """Check the fields: by the rules given, and those that all of them have by these."""
        known: dict[str, checks.Rule] = {
            "space": lambda _, given: as_space(given),
            "noise": as_noise,
            "seed": checks.seed,
            "name": lambda _, given: checks.name("a world's name", given),
        }
        checks.settle(self, **known | rules)

    def seeded(self, seed: int) -> Self:
        """The same kind of world, with the functions and the noise of `seed`."""
        return replace(self, seed=seed)  # type: ignore[type-var]

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X: (n,)."""
        raise NotImplementedError

    def observe(self, t: int, x: Array) -> float:
        """f_t(x) + η_t."""
        return float(self.value(t, checks.table("x", [x]))[0]) + self.noise.draw(self.seed, t)

    def best(self, t: int) -> float:
        """max f_t."""
        return self._optimum(t)[1]

    def best_x(self, t: int) -> Array:
        """The maximiser of f_t, the first one if there are several: (d,)."""
        return self._optimum(t)[0]

    def _optimum(self, t: int) -> tuple[Array, float]:
        raise NotImplementedError

    @cached_property
    def _index(self) -> dict[Point, int]:
        """Candidates, where there are any, to the first place where they stand."""
        points = () if self.space.points is None else self.space.points.tolist()
        return {tuple(x): i for i, x in reversed(list(enumerate(points)))}


@dataclass(frozen=True)
class World(KnownOptimum):
    """f_t = Σ c_i(t) φ_i, with c(t) from `drift` and `seed`, observed as f_t(x) + `noise`. `horizon` is the default.

    The optimum is exact on candidates and known to 1e-6 on a box (`optimum.py`).

    >>> from driftwise import RBF, Candidates
    >>> from driftwise.environments import Abrupt, Expansion, Gaussian, World
    >>> line = Candidates(np.linspace(0, 1, 5))
    >>> world = World(line, Expansion(RBF(0.2), line, norm=1.0), Abrupt((10,)), Gaussian(0.1), seed=3)
    >>> bool(world.best(1) == world.value(1, line.points).max())
    True
    >>> world.variation(10), world.variation(11) > 0
    (0.0, True)
    """

    space: Space
    basis: Basis
    drift: Drift
    noise: Noise
    seed: int = 0
    horizon: int = 500
    name: str = "world"

    def __post_init__(self) -> None:
        self.settle(basis=as_basis, drift=as_drift, horizon=checks.count)
        self.basis.features(self.space.sample(generator(seed=0), 1))  # a basis for another space is refused now

    @property
    def kernel(self) -> Kernel:
        """The kernel of the RKHS that the functions live in."""
        return self.basis.kernel

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X: (n,)."""
        X = checks.table("X", X, columns=self.space.dim)
        if self.space.points is not None and np.array_equal(X, self.space.points):
            return self._playback.values(t).copy()
        # from the same table that the optimum is taken from: regret is exactly 0 there, not 1e-16
        known = [self._index.get(tuple(x), -1) for x in X.tolist()]
        if -1 not in known:
            return self._playback.values(t)[known]
        return self.basis.features(X) @ self._playback.coefficients(t)

    def truth(self) -> WorldTruth:
        """The covariance of f_t(x) over space and time, and the noise: what the lab's `oracle` is told."""
        return WorldTruth(in_space_and_time(self.basis, self.drift), self.noise)

    def norm(self, t: int) -> float:
        """‖f_t‖_H."""
        return float(self.basis.norms(self._playback.coefficients(t)[None])[0])

    def bound(self, horizon: int) -> float:
        """B = max ‖f_t‖_H over t ≤ horizon."""
        return float(max(self.basis.norms(C).max() for C in self._playback.coefficient_blocks(horizon)))

    def variation(self, horizon: int) -> float:
        """P_T = Σ_{t<T} ‖f_{t+1} − f_t‖_H."""
        moves = differences(self._playback.coefficient_blocks(horizon))
        return float(sum(self.basis.norms(C).sum() for C in moves))

    def sup_variation(self, horizon: int) -> float:
        """Σ_{t<T} max |f_{t+1} − f_t|: exact on candidates, and to 1e-6 per step on a box."""
        if self.space.points is not None:
            moves = differences(self._playback.value_blocks(horizon))
            return float(sum(np.abs(V).max(axis=1).sum() for V in moves))
        moves = differences(self._playback.coefficient_blocks(horizon))
        return float(sum(np.maximum(self._maxima(C)[1], self._maxima(-C)[1]).sum() for C in moves))

    # --- what it keeps in mind, all of which can be made again -------------------------------------------------

    @cached_property
    def _playback(self) -> Playback:
        return Playback(self.basis, self.drift, self.seed, lambda: _features(self.basis, self.space))

    @cached_property
    def _block_optima(self) -> Callable[[int], tuple[Array, Array]]:
        return lru_cache(maxsize=KEPT)(lambda block: self._maxima(self._playback.coefficient_block(block)))

    def _optimum(self, t: int) -> tuple[Array, float]:
        if self.space.points is not None:
            values = self._playback.values(t)
            i = int(np.argmax(values))
            return self.space.points[i], float(values[i])
        block, row = place(t)
        X, tops = self._block_optima(block)
        return X[row], float(tops[row])

    def _maxima(self, C: Array) -> tuple[Array, Array]:
        assert isinstance(self.space, Box)
        return maxima(self.basis, self.space, C, _features(self.basis, self.space))


@lru_cache(maxsize=2)
def _features(basis: Any, space: Space) -> Array:
    """The basis at the candidates, or at the scan points of a box: (n, m). Worlds of different seeds share it."""
    if space.points is not None:
        return basis.features(space.points)
    assert isinstance(space, Box)
    return basis.features(scan_points(space))


def differences(blocks: Iterator[Array]) -> Iterator[Array]:
    """Row t + 1 minus row t of a table that comes in blocks of rows."""
    last: Array | None = None
    for block in blocks:
        rows = block if last is None else np.vstack([last, block])
        last = rows[-1:]
        if len(rows) > 1:
            yield np.diff(rows, axis=0)
