"""The best point within a distance of the current one, for worlds in which large moves are costly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.records import Array, Ask
from driftwise.rng import Stream, generator
from driftwise.spaces import Box, Score, Space
from driftwise.spaces.maximise import best_of
from driftwise.spaces.restricted import may, with_fixed

ROUNDS = 3  # rounds of points around the best, each in a smaller ball
POINTS = 256  # per round


def nearby(score: Score, space: Space, here: Array, reach: float, ask: Ask) -> Array:
    """Where `score` is largest among settings at most `reach` away from `here`, which is one of them: (d,).

    Coordinates that the ask fixes do not count as a distance. If nothing so near may be chosen, it is the nearest
    setting that may.
    """
    here = with_fixed(ask, here[None])[0]
    points = space.listed(ask)
    if points is not None or not may(ask, here[None])[0]:
        here = space.argmax(Nearness(here), ask)
    if points is not None:
        near = points[np.linalg.norm(points - here, axis=1) <= reach]
        return best_of(score, near[may(ask, near)])
    assert isinstance(space, Box)
    rng = generator(ask.seed, ask.number, Stream.POLICY)
    best, value, radius = here, float(score(here[None])[0]), reach
    for _ in range(ROUNDS):
        points = with_fixed(ask, space.snap(best + radius * _ball(rng, POINTS, space.dim)))
        points = points[np.linalg.norm(points - here, axis=1) <= reach]
        points = points[may(ask, points)]
        if len(points):
            values = score(points)
            if values.max() > value:
                best, value = points[int(np.argmax(values))], float(values.max())
        radius *= 0.25
    return best


@dataclass(frozen=True, eq=False)
class Nearness:
    """−‖x − here‖²."""

    here: Array  # (d,)

    def __call__(self, X: Array) -> Array:
        return -np.square(X - self.here).sum(axis=1)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return self(X), -2 * (X - self.here)

    def anchors(self) -> Array:
        return self.here[None]


def _ball(rng: np.random.Generator, n: int, d: int) -> Array:
    """n points in the unit ball, uniform in direction and in volume: (n, d)."""
    directions = rng.standard_normal((n, d))
    lengths = rng.random(n) ** (1 / d)
    return directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
