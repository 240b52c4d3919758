"""The maxima of known functions over a box: a dense scan, and a polish from its highest well-separated points.

Many functions are polished together, with one batched evaluation per iteration. The polish ends within 1e-7 of a local
maximum; that it is the global one rests on the scan, of 4,096 points in one and two dimensions and 16,384 in more.
Nothing is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise.environments.rkhs import Basis
from driftwise.records import Array, Ask
from driftwise.spaces import Box
from driftwise.spaces.ascent import ascend
from driftwise.spaces.maximise import maximise

STARTS = 8
APART = 0.05  # starts of the polish are at least this far from each other, in sup-norm
ROUNDS = 6


@lru_cache(maxsize=16)
def scan_points(box: Box) -> Array:
    """The points of the scan on `box`: (n, d). They include the corners of the cube in up to six dimensions."""
    d = box.dim
    from scipy.stats import qmc  # slow to import

    spread: Array = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2(12 if d <= 2 else 14)
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * d)).reshape(d, -1).T if d <= 6 else np.zeros((0, d))
    points = np.unique(box.snap(np.vstack([spread, corners])), axis=0)
    points.flags.writeable = False
    return points


class Functions(Protocol):
    """A function for each row of X, asked at that row; where there is one, it is asked at every row."""

    def __call__(self, X: Array) -> Array: ...

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Values and gradients: (n,), (n, d)."""
        ...

    def only(self, which: NDArray[np.intp]) -> Functions:
        """Function which[j], to be asked at row j."""
        ...


def maxima(basis: Basis, box: Box, C: Array, features: Array) -> tuple[Array, Array]:
    """The maximiser of Σ c_i φ_i on `box` and its value, for each row c of C: (k, d), (k,).

    `features` are the basis at `scan_points(box)`: (n, m).
    """
    C, back = np.unique(C, axis=0, return_inverse=True)  # a world that stands still is searched once
    X, values = highest(_Combinations(basis, C), box, len(C), table=C @ features.T)
    back = back.reshape(-1)
    return X[back], values[back]


def highest(
    functions: Functions, box: Box, k: int, *, anchors: Array | None = None, table: Array | None = None
) -> tuple[Array, Array]:
    """The maximiser of each of k functions on `box` and its value: (k, d), (k,).

    `anchors` are scanned too. `table`, (k, n), has the values at the points of the scan, if they are known.
    """
    points, every = scan_points(box), np.arange(k)
    if anchors is not None:
        points = np.vstack([points, anchors])
    each = [functions.only(every[i : i + 1]) for i in range(k)]
    tops = [_separate(points, each[i](points) if table is None else table[i]) for i in range(k)]
    owner = np.repeat(every, [len(top) for top in tops])
    X, values = ascend(functions.only(owner), np.vstack(tops), box.continuous, tolerance=1e-13)
    X = np.array([X[owner == i][np.argmax(values[owner == i])] for i in range(k)])
    if not box.continuous.all():
        X = np.array([maximise(_From(each[i], X[i : i + 1]), box, Ask(1, 1.0)) for i in range(k)])
    return _polish(functions, X, box.continuous)


def _separate(points: Array, values: Array) -> Array:
    """The highest points of which none is within APART of a higher one: (≤ STARTS, d)."""
    upper = np.argpartition(-values, len(values) // 16)[: len(values) // 16 + 1]
    points = points[upper[np.argsort(-values[upper], kind="stable")]]
    chosen: list[Array] = []
    while len(points) and len(chosen) < STARTS:
        chosen.append(points[0])
        points = points[np.abs(points - points[0]).max(axis=1) > APART]
    return np.array(chosen)


def _polish(f: Functions, X: Array, free: Array) -> tuple[Array, Array]:
    """Uphill again and again, each time as if from the start, until nothing is gained."""
    values = f(X)
    for _ in range(ROUNDS):
        X, better = ascend(f, X, free, tolerance=1e-13)
        if (better - values).max() < 1e-10:
            break
        values = better
    return X, better


@dataclass(frozen=True, eq=False)
class _Combinations:
    """Σ c_i φ_i for each row c of C."""

    basis: Basis
    C: Array  # (n, m), or (1, m)

    def only(self, which: NDArray[np.intp]) -> _Combinations:
        return _Combinations(self.basis, self.C[which])

    def __call__(self, X: Array) -> Array:
        return np.einsum("nm,nm->n", self.basis.features(X), np.broadcast_to(self.C, (len(X), self.C.shape[1])))

    def gradient(self, X: Array) -> tuple[Array, Array]:
        C = np.broadcast_to(self.C, (len(X), self.C.shape[1]))
        return self(X), np.matmul(C[:, None, :], self.basis.gradient(X))[:, 0]


@dataclass(frozen=True, eq=False)
class _From:
    """One function as a score, to be maximised from `start` as well."""

    f: Functions
    start: Array  # (1, d)

    def __call__(self, X: Array) -> Array:
        return self.f(X)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return self.f.gradient(X)

    def anchors(self) -> Array:
        return self.start
