"""Points of a box that many keys share: a coarse low-discrepancy set, and around each of its points a few finer ones.

The maximum of a score is looked for in two steps: the best of the coarse points, and then the best of its block, which
is that point and the finer ones around it. So a belief is needed at all coarse points, and at those of one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array, Ask, Params, Point
from driftwise.spaces.box import Box
from driftwise.spaces.maximise import Score
from driftwise.spaces.parameters import Choice, Parameter
from driftwise.spaces.restricted import best_allowed
from driftwise.spaces.sobol import sobol

COARSE, FINER = 256, 7
MOST = 64  # coordinates, for which there are Sobol' points
STRETCH = 1.1  # points reach beyond the cube by this factor and are cut off: many maxima lie on faces
REACH = 0.75  # how far a block reaches, in distances between coarse points


@dataclass(frozen=True)
class Mesh:
    """A box as finitely many of its settings, in blocks of 1 + `finer`, of which the first is the coarse point.

    >>> from driftwise import Float
    >>> mesh = Mesh(Box.of({"price": Float(5, 20)}), coarse=4, finer=1)
    >>> mesh.points[:, 0].round(3).tolist()
    [0.401, 0.496, 0.779, 0.874, 0.566, 0.661, 0.119, 0.214]
    >>> mesh.from_unit((0.5,))
    {'price': 12.5}
    """

    box: Box
    coarse: int = COARSE
    finer: int = FINER

    def __post_init__(self) -> None:
        checks.like("box", self.box, ("parameters", "continuous"), "a box, as Box.of({'price': Float(5, 20)})")
        checks.count("coarse", self.coarse, most=2500)
        checks.count("finer", self.finer, least=0, most=2500 // self.coarse)
        if self.dim > MOST or not self.box.ordered.any():
            numbers = int(self.box.ordered.sum())
            raise InvalidInput(
                f"points are spread over a box with a Float or an Int and at most {MOST} coordinates, of which a "
                f"Choice has one for each value; got {self.dim} coordinates, {numbers} of them of numbers; give "
                "candidates"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return self.box.names

    @property
    def parameters(self) -> tuple[tuple[str, Parameter], ...]:
        return self.box.parameters

    @property
    def slices(self) -> tuple[slice, ...]:
        return self.box.slices

    @property
    def dim(self) -> int:
        return self.box.dim

    @property
    def block(self) -> int:
        """How many points belong to each of the coarse ones, itself included."""
        return 1 + self.finer

    @cached_property
    def points(self) -> Array:
        """Block after block: (n, d)."""
        coarse = self._coarse()
        around = np.where(self.box.ordered, 2.0 * sobol(self.dim, self.block)[1:] - 1.0, 0.0)
        offsets = np.vstack([np.zeros((1, self.dim)), REACH * self._distance(len(coarse)) * around])
        points = self.box.snap((coarse[:, None] + offsets).reshape(-1, self.dim))
        points.flags.writeable = False
        return points

    def _coarse(self) -> Array:
        """The first of the Sobol' points that are different settings, `coarse` of them if there are so many."""
        spread = self.box.spread(sobol(self.dim, 4 * self.coarse))
        spread = np.where(self.box.continuous, np.clip(0.5 + STRETCH * (spread - 0.5), 0.0, 1.0), spread)
        first = np.sort(np.unique(spread, axis=0, return_index=True)[1])
        return spread[first[: self.coarse]]

    def _distance(self, count: int) -> float:
        """Between neighbours among so many points, which are divided among the values of choices."""
        parts = np.prod([float(len(p.values)) for _, p in self.parameters if isinstance(p, Choice)])
        return float(max(count / parts, 1.0) ** (-1.0 / self.box.ordered.sum()))

    def listed(self, ask: Ask) -> Array:
        """Every point: (n, d)."""
        return self.points

    def to_unit(self, params: Params) -> Point:
        """The user's setting as a point of the unit cube."""
        return self.box.to_unit(params)

    def from_unit(self, x: Point) -> dict[str, Any]:
        """A point of the unit cube as the user's setting."""
        return self.box.from_unit(x)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n of the points at random: (n, d)."""
        return self.points[rng.integers(len(self.points), size=n)]

    def argmax(self, score: Score, ask: Ask) -> Array:
        """The best of the block of the best coarse point."""
        if ask.fixed or ask.allowed is not None:
            return best_allowed(score, self, self.points, ask)
        return self.points[best_places(score(self.points)[None], self.block)[0]]


def block_of(space: object) -> int:
    """How many points a block of this space has; 1 where there are none."""
    return space.block if isinstance(space, Mesh) else 1


def best_places(scores: Array, block: int) -> Array:
    """In each row, the place of the best of the block whose first is the best of all first ones: (r, n) to (r,)."""
    starts = block * np.argmax(scores[:, ::block], axis=1)
    inside = np.take_along_axis(scores, starts[:, None] + np.arange(block), axis=1)
    return np.asarray(starts + np.argmax(inside, axis=1))
