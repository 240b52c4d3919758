"""Where the maximum of an acquisition is looked for: a low-discrepancy scan, then a gradient polish from the best few.

Deterministic in (seed, number). All starts are polished together, one batched evaluation an iteration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.stats import qmc

from driftwise.records import Array, Ask
from driftwise.rng import generator

SCAN = 256  # points of the scan, and as many again for every three dimensions more
STARTS = 5
ITERATIONS = 30


class Score(Protocol):
    """What is maximised."""

    def __call__(self, X: Array) -> Array:
        """Its value at the rows of X: (m,)."""
        ...

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        ...

    def anchors(self) -> Array:
        """Points near which the maximum may well be: (a, d), possibly none."""
        ...


class Cube(Protocol):
    """What `maximise` needs to know of a space."""

    @property
    def dim(self) -> int: ...
    @property
    def continuous(self) -> Array: ...
    def snap(self, X: Array) -> Array: ...
    def neighbours(self, x: Array) -> Array: ...


def best_of(score: Score, points: Array) -> Array:
    """The row of `points` where `score` is largest, the first of equals."""
    return points[int(np.argmax(score(points)))]


def maximise(score: Score, space: Cube, ask: Ask) -> Array:
    """The best point found."""
    scan = space.snap(_scan(score, space, ask))
    values = score(scan)
    starts = scan[np.argsort(-values, kind="stable")[:STARTS]]
    X, values = ascend(score, starts, space.continuous)
    best = int(np.argmax(values))
    if space.continuous.all():
        return X[best]
    return _walk(score, space, X[best], float(values[best]))


def _scan(score: Score, space: Cube, ask: Ask) -> Array:
    d = space.dim
    rng = generator(ask.seed, ask.number)
    spread = (_sobol(d, SCAN * (1 + d // 3)) + rng.random(d)) % 1.0
    anchors = score.anchors().reshape(-1, d)
    if not len(anchors):
        return spread
    near = anchors[rng.integers(len(anchors), size=32)] + 0.05 * rng.standard_normal((32, d))
    return np.vstack([spread, anchors, np.clip(near, 0.0, 1.0)])


@lru_cache(maxsize=64)
def _sobol(d: int, n: int) -> Array:
    points: Array = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2((n - 1).bit_length())
    return points


def ascend(score: Score, X: Array, free: Array) -> tuple[Array, Array]:
    """Projected BFGS in the unit cube from every row of X at once, over the `free` coordinates."""
    m, d = X.shape
    f, g = score.gradient(X)
    g = g * free
    H = np.tile(np.eye(d), (m, 1, 1)) * (0.1 / np.maximum(np.abs(g).max(axis=1), 1e-12))[:, None, None]
    step = np.ones(m)
    for _ in range(ITERATIONS):
        stuck = ((X <= 0) & (g < 0)) | ((X >= 1) & (g > 0))
        inner = np.where(stuck, 0.0, g)
        direction = np.where(stuck, 0.0, np.einsum("mij,mj->mi", H, inner))
        uphill = np.einsum("mi,mi->m", direction, inner) > 0
        direction = np.where(uphill[:, None], direction, inner)
        trial = np.clip(X + step[:, None] * direction, 0.0, 1.0)
        ft, gt = score.gradient(trial)
        gt = gt * free
        better = ft > f
        if (np.abs(trial - X).max(axis=1) < 1e-7).all() or (better & (ft - f < 1e-9)).all():
            break
        s, z = trial - X, g - gt  # the maximised function is concave near its top: sᵀz > 0
        sz = np.einsum("mi,mi->m", s, z)
        curved = better & (sz > 1e-12)
        rho = np.where(curved, 1 / np.where(curved, sz, 1.0), 0.0)[:, None, None]
        E = np.eye(d) - rho * s[:, :, None] * z[:, None, :]
        H = np.where(curved[:, None, None], E @ H @ E.transpose(0, 2, 1) + rho * s[:, :, None] * s[:, None, :], H)
        X = np.where(better[:, None], trial, X)
        f, g = np.where(better, ft, f), np.where(better[:, None], gt, g)
        step = np.where(better, 1.0, step * 0.3)
    return X, f


def _walk(score: Score, space: Cube, x: Array, value: float) -> Array:
    """From x to the best neighbour, polished, as long as that is better."""
    for _ in range(20):
        around = space.neighbours(x)
        if not len(around):
            return x
        X, values = ascend(score, around[np.argsort(-score(around), kind="stable")[:STARTS]], space.continuous)
        best = int(np.argmax(values))
        if values[best] <= value + 1e-12:
            return x
        x, value = X[best], float(values[best])
    return x
