"""The search for the maximum of an acquisition function: a low-discrepancy scan, then climbs from the best points.

Deterministic in (seed, number). The constants were chosen by measurement (docs/speed.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist

from driftwise.records import Array, Ask
from driftwise.rng import generator
from driftwise.spaces.ascent import ascend
from driftwise.spaces.sobol import sobol

SCAN = 128  # points of the scan per dimension
STRETCH = 1.3  # the scan reaches beyond the cube by this factor and is cut off: maxima of σ lie on faces and in corners
RECENT = 16  # the newest anchors are scanned too
NEARBY = 32  # and so many points around any of them
STARTS = 8  # climbs, or 2 + 2d if that is more


class Score(Protocol):
    """A function that is maximised."""

    def __call__(self, X: Array) -> Array:
        """Its value at the rows of X: (m,)."""
        ...

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        ...

    def anchors(self) -> Array:
        """Points near which the maximum may be: (a, d), possibly none."""
        ...


class Cube(Protocol):
    """The part of a space that `maximise` uses."""

    @property
    def dim(self) -> int: ...
    @property
    def continuous(self) -> Array: ...
    def snap(self, X: Array) -> Array: ...
    def neighbours(self, x: Array, some: Callable[[int], Iterable[int]] = range) -> Array: ...


def best_of(score: Score, points: Array) -> Array:
    """The row of `points` where `score` is largest, the first of equals."""
    return points[score(points).argmax()]


def maximise(score: Score, space: Cube, ask: Ask) -> Array:
    """The best point found."""
    return climbed(score, space, scanned(score, space, ask))


def scanned(score: Score, space: Cube, ask: Ask) -> Array:
    """Settings all over the space, and around the anchors: (m, d)."""
    points = _scan(score, space.dim, ask)
    return points if space.continuous.all() else space.snap(points)


def climbed(score: Score, space: Cube, points: Array) -> Array:
    """The best point that climbs from the best of `points` reach."""
    starts = points[apart(points, score(points), _climbs(space))]
    if space.continuous.all():
        return _top(score, starts, space)[0]
    # first as if every coordinate were continuous: a whole number may have far to go
    relaxed, _ = ascend(score, starts, np.ones(space.dim, dtype=bool))
    return _walk(score, space, *_top(score, np.vstack([starts, space.snap(relaxed)]), space))


def _climbs(space: Cube) -> int:
    """How many climbs there are at a time."""
    return max(STARTS, 2 + 2 * space.dim)


def _top(score: Score, starts: Array, space: Cube) -> tuple[Array, float]:
    """The highest of the climbs' tops, and its value."""
    X, values = ascend(score, starts, space.continuous, race=True)
    best = int(np.argmax(values))
    return X[best], float(values[best])


def _scan(score: Score, d: int, ask: Ask) -> Array:
    rng = generator(ask.seed, ask.number)
    shifted = sobol(d, SCAN * d) + rng.random(d)
    shifted -= shifted >= 1.0
    scan = stretched(shifted)
    anchors = score.anchors().reshape(-1, d)
    if not len(anchors):
        return scan
    near = anchors[rng.integers(len(anchors), size=NEARBY)] + 0.05 * rng.standard_normal((NEARBY, d))
    return np.vstack([scan, anchors[-RECENT:], np.clip(near, 0.0, 1.0)])


def stretched(U: Array) -> Array:
    """Points of the cube moved outwards, and clipped at its faces."""
    return np.clip(0.5 + STRETCH * (U - 0.5), 0.0, 1.0)


def apart(points: Array, values: Array, n: int) -> list[int]:
    """The n best that are no nearer to each other than points of the scan typically are."""
    best = np.argsort(-values, kind="stable")[: 5 * n]
    near = cdist(points[best], points[best], "chebyshev") < len(points) ** (-1 / points.shape[1])
    left = np.ones(len(best), dtype=bool)
    chosen: list[int] = []
    while left.any() and len(chosen) < n:
        first = int(np.argmax(left))
        chosen.append(int(best[first]))
        left &= ~near[first]
    return chosen


def _walk(score: Score, space: Cube, x: Array, value: float) -> Array:
    """From x to the best neighbour, climbed from, as long as that is better."""
    for _ in range(20):
        around = space.neighbours(x)
        if not len(around):
            return x
        there, better = _top(score, around[np.argsort(-score(around), kind="stable")[: _climbs(space)]], space)
        if better <= value + 1e-12:
            return x
        x, value = there, better
    return x
