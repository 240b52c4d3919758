"""A finite set of candidates, whose coordinates are used as given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.records import Array, Ask, Params, Point
from driftwise.spaces.maximise import Score, best_of
from driftwise.spaces.restricted import best_allowed

WRITTEN = 16  # what a coordinate takes, in numbers: it is kept as Python has it, found by it, and written as text


@dataclass(frozen=True, init=False)
class Candidates:
    """Finitely many points, (n, d), with names for their coordinates: x0, x1, … by default.

    >>> Candidates([[0.0, 0.0], [0.5, 1.0]]).from_unit((0.5, 1.0))
    {'x0': 0.5, 'x1': 1.0}
    """

    coordinates: tuple[Point, ...] = field(repr=False)
    names: tuple[str, ...]

    def __init__(
        self,
        points: Sequence[Sequence[float]] | Array | None = None,
        names: Sequence[str] | None = None,
        *,
        coordinates: Sequence[Sequence[float]] | None = None,
    ) -> None:
        given = points if points is not None else coordinates
        array = _table(given)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or not array.size:
            raise InvalidInput(f"candidates must be a table of n ≥ 1 rows and d ≥ 1 columns, got shape {array.shape}")
        n, d = array.shape
        what = f"{n:,} candidates of {d:,} coordinates, {WRITTEN} for each"
        limits.check("a space", WRITTEN * n * d, what, "give fewer, or a box of Float and Int parameters")
        if not np.all(np.abs(array) <= checks.LARGEST):  # nor is nan
            row = int(np.flatnonzero(~(np.abs(array) <= checks.LARGEST).all(axis=1))[0])
            rule = "at most 1e100 in size" if np.isfinite(array[row]).all() else "finite"
            raise InvalidInput(f"candidates must be {rule}, got {checks.shown(array[row].tolist())} in row {row}")
        default = tuple(f"x{j}" for j in range(array.shape[1]))
        labels = default if names is None else checks.each("names", names, _label, "['price', 'size']")
        if len(labels) != array.shape[1] or len(set(labels)) < len(labels):
            got = checks.shown(labels)
            raise InvalidInput(f"names must be {array.shape[1]} different ones, one a column, got {got}")
        object.__setattr__(self, "coordinates", tuple(map(tuple, array.tolist())))
        object.__setattr__(self, "names", labels)

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def points(self) -> Array:
        """(n, d)."""
        array = np.array(self.coordinates)
        array.flags.writeable = False
        return array

    @property
    def dim(self) -> int:
        return len(self.names)

    @cached_property
    def _known(self) -> frozenset[Point]:
        return frozenset(self.coordinates)

    def listed(self, ask: Ask) -> Array:
        """Every candidate: (n, d)."""
        return self.points

    def to_unit(self, params: Params) -> Point:
        """The candidate with these coordinates; refused where there is none."""
        if not isinstance(params, Mapping) or set(params) != set(self.names):
            raise InvalidInput(f"params must be a dict of {', '.join(self.names)}, got {checks.shown(params)}")
        point = tuple(checks.real(f"parameter {name!r}", params[name]) for name in self.names)
        if point not in self._known:
            raise InvalidInput(f"{dict(zip(self.names, point, strict=True))} is none of the {len(self)} candidates")
        return point

    def from_unit(self, x: Point) -> dict[str, float]:
        return dict(zip(self.names, checks.point("x", x, self.dim), strict=True))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n candidates at random: (n, d)."""
        return self.points[rng.integers(len(self), size=n)]

    def argmax(self, score: Score, ask: Ask) -> Array:
        """The candidate where `score` is largest of all that may be chosen, the first of equals."""
        if ask.fixed or ask.allowed is not None:
            return best_allowed(score, self.points, ask)
        return best_of(score, self.points)


def _label(which: str, given: Any) -> str:
    return checks.name("a coordinate's name", given)


def _table(given: Any) -> Array:
    try:
        array = np.array(given)
        if array.dtype.kind not in "iuf":
            raise ValueError
        return array.astype(float)
    except Exception:  # what NumPy says of odd objects is of many kinds
        raise InvalidInput("candidates must be rows of numbers, all of one length") from None
