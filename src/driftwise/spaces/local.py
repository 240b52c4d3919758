"""The best point within a distance of the current one, for worlds in which large moves are costly."""

from __future__ import annotations

import numpy as np

from driftwise.records import Array, Ask
from driftwise.rng import Stream, generator
from driftwise.spaces import Score, Space

ROUNDS = 3  # rounds of points around the best, each in a smaller ball
POINTS = 256  # per round


def nearby(score: Score, space: Space, here: Array, reach: float, ask: Ask) -> Array:
    """Where `score` is largest among settings at most `reach` away from `here`, which is one of them: (d,)."""
    if space.points is not None:
        near = space.points[np.linalg.norm(space.points - here, axis=1) <= reach]
        return near[int(np.argmax(score(near)))] if len(near) else here
    rng = generator(ask.seed, ask.number, Stream.POLICY)
    best, value, radius = here, float(score(here[None])[0]), reach
    for _ in range(ROUNDS):
        points = space.snap(best + radius * _ball(rng, POINTS, space.dim))
        points = points[np.linalg.norm(points - here, axis=1) <= reach]
        if len(points):
            values = score(points)
            if values.max() > value:
                best, value = points[int(np.argmax(values))], float(values.max())
        radius *= 0.25
    return best


def _ball(rng: np.random.Generator, n: int, d: int) -> Array:
    """n points in the unit ball, uniform in direction and in volume: (n, d)."""
    directions = rng.standard_normal((n, d))
    lengths = rng.random(n) ** (1 / d)
    return directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
