"""Arms in no order: of those that look equally good none is the first.

If a list of arms happens to be sorted, to try equal ones in turn would be to try the worst of them first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.records import Array, Ask
from driftwise.rng import Stream, generator
from driftwise.spaces.maximise import Score

EQUAL = 1e-9  # values that differ by less, relative to the largest, count as equal


def in_no_order(points: Array | None) -> bool:
    """Whether each candidate has one coordinate of its own, so that any two are equally far apart."""
    return points is not None and np.array_equal(points, np.eye(len(points)))


@dataclass(frozen=True, eq=False)
class AnyOfEquals:
    """Another score, to which a little is added at random: the same for the same ask."""

    score: Score
    ask: Ask

    def __call__(self, X: Array) -> Array:
        values = self.score(X)
        luck = generator(self.ask.seed, self.ask.number, Stream.EQUALS).random(len(X))
        return values + EQUAL * float(np.abs(values).max()) * luck

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return self.score.gradient(X)

    def anchors(self) -> Array:
        return self.score.anchors()
