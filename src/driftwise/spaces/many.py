"""The same search in spaces of many coordinates, with a bounded number of evaluations.

Most coordinates then belong to choices, which have one for each value. A scan with so many points for each of them, or
climbs along them, would be nearly all the cost, and would find nothing that trying values does not find. So the scan is
of random settings and of those observed; climbs move numbers alone; and a walk tries other values of choices, or a
random sample of them if there are many: of values that were never tried, one is as good as another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise import limits
from driftwise.records import Array, Ask
from driftwise.rng import generator
from driftwise.spaces.ascent import ascend
from driftwise.spaces.maximise import NEARBY, Cube, Score, apart, stretched

MANY = 64  # coordinates beyond which this is the search
SCANNED = 2048  # random settings, or neighbours, at most
OBSERVED = 256  # newest anchors that are scanned
CLIMBS = 16
FEW = 8  # numbers up to which a slope is a difference quotient along each, else a gradient along every coordinate
STEP = 1e-6  # of the quotient, in the unit cube
STEEPEST = 1e150  # a quotient beyond this is across the border of what is allowed, where there is no slope
ROUNDS, LOOKS = 20, 8192  # of the walk: rounds, and points in all


class ManyCoordinates(Cube, Protocol):
    """A space whose coordinates are those of numbers and of choices."""

    @property
    def ordered(self) -> Array: ...


def maximise_in_many(score: Score, space: ManyCoordinates, ask: Ask) -> Array:
    """The best point found."""
    rng = generator(ask.seed, ask.number)
    return climbed_in_many(score, space, scanned_in_many(score, space, rng), rng)


def climbed_in_many(score: Score, space: ManyCoordinates, points: Array, rng: np.random.Generator) -> Array:
    """The best point that climbs from the best of `points`, and a walk, reach."""
    values = score(points)
    x, value = _best(points, values)
    starts = points[apart(points, values, CLIMBS)]
    for free in (space.ordered, space.continuous):  # first as if whole numbers were continuous: they may have far to go
        starts = space.snap(_climbed(score, starts, free))
    x, value = _better(score, starts, x, value)
    return _walk(score, space, x, value, rng)


@dataclass(frozen=True, eq=False)
class Along:
    """A score as a function of the coordinates `free` alone, each row with the others as in its row of X."""

    score: Score
    X: Array  # (m, d)
    free: NDArray[np.intp]  # (k,)

    def at(self, Z: Array) -> Array:
        """The points whose free coordinates are the rows of Z, of which there may be several for each of X."""
        points = np.repeat(self.X, len(Z) // len(self.X), axis=0)
        points[:, self.free] = Z
        return points

    def gradient(self, Z: Array) -> tuple[Array, Array]:
        if len(self.free) > FEW:
            values, slopes = self.score.gradient(self.at(Z))
            return values, slopes[:, self.free]
        m, k = Z.shape
        steps = np.where(Z < 0.5, STEP, -STEP)  # into the cube
        trials = np.repeat(Z[:, None], k + 1, axis=1)
        trials[:, np.arange(k) + 1, np.arange(k)] += steps
        values = self.score(self.at(trials.reshape(-1, k))).reshape(m, k + 1)
        slopes = (values[:, 1:] - values[:, :1]) / steps
        return values[:, 0], np.where(np.abs(slopes) < STEEPEST, slopes, 0.0)


def scanned_in_many(score: Score, space: ManyCoordinates, rng: np.random.Generator) -> Array:
    """Random settings, and some around the anchors: (m, d)."""
    d = space.dim
    scan = rng.random((limits.rows(d, most=SCANNED), d))
    scan[:, space.ordered] = stretched(scan[:, space.ordered])
    anchors = score.anchors().reshape(-1, d)
    if not len(anchors):
        return space.snap(scan)
    near = anchors[rng.integers(len(anchors), size=NEARBY)]
    near = np.clip(near + 0.05 * space.ordered * rng.standard_normal(near.shape), 0.0, 1.0)
    return space.snap(np.vstack([scan, anchors[-OBSERVED:], near]))


def _climbed(score: Score, starts: Array, free: Array) -> Array:
    """Where climbs along the coordinates `free` end, of as many of the starts as there is room for."""
    where = np.flatnonzero(free)
    room = limits.PART // max(len(where), 1) ** 2  # a climb has a matrix of so many rows and columns
    if len(where) > FEW:
        room = min(room, limits.LARGEST // (OBSERVED * starts.shape[1]))  # and a gradient for each observation
    starts, rest = starts[:room], starts[room:]
    if not len(where) or not len(starts):
        return rest if len(rest) else starts
    along = Along(score, starts, where)
    tops, _ = ascend(along, starts[:, where], np.ones(len(where), dtype=bool))
    return np.vstack([along.at(tops), rest])


def _walk(score: Score, space: ManyCoordinates, x: Array, value: float, rng: np.random.Generator) -> Array:
    """From x to the best neighbour, climbed from, as long as that is better."""
    most, left = limits.rows(space.dim, most=SCANNED), LOOKS

    def some(m: int) -> Iterable[int]:
        return range(m) if m <= most else rng.choice(m, most, replace=False).tolist()

    for _ in range(ROUNDS):
        around = space.neighbours(x, some)
        left -= len(around)
        if not len(around) or left < 0:
            return x
        values = score(around)
        nearby = _climbed(score, around[np.argsort(-values, kind="stable")[:CLIMBS]], space.continuous)
        there, better = _better(score, nearby, *_best(around, values))
        if better <= value + 1e-12:
            return x
        x, value = there, better
    return x


def _best(points: Array, values: Array) -> tuple[Array, float]:
    best = int(np.argmax(values))
    return points[best], float(values[best])


def _better(score: Score, points: Array, x: Array, value: float) -> tuple[Array, float]:
    """The best of `points`, if it is better than x, which has this value."""
    there, found = _best(points, score(points))
    return (there, found) if found > value else (x, value)
