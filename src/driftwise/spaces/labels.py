"""The labels of candidates: names of their own, which are what a user chooses among."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.records import Array, Point
from driftwise.spaces.parameters import Choice

HELD = 4  # what a coordinate takes in an ask, in numbers: about half a second for 2,048 labels


def as_labels(given: Any) -> tuple[str, ...]:
    """Names that can be printed in a line, all different, and not too many."""
    known = checks.each("labels", given, lambda _, label: checks.name("a label", label), "['red', 'green']")
    n = len(known)
    what = f"{n:,} labels of {n:,} coordinates, as each is as far from each, {HELD} for each"
    limits.check("a space", HELD * n * n, what, "give fewer, or points, as Candidates(points, labels=[...])")
    seen: set[str] = set()
    for label in known:
        if label in seen:
            raise InvalidInput(f"labels must differ, got {label!r} twice")
        seen.add(label)
    return known


@dataclass(frozen=True, init=False)
class Labels(Choice):
    """A choice among labels, each with coordinates that others may be near to.

    >>> Labels(("small", "large"), ((1.0,), (5.0,))).decode((5.0,))
    'large'
    """

    coordinates: tuple[Point, ...] = field(repr=False)

    def __init__(self, values: tuple[str, ...], coordinates: tuple[Point, ...]) -> None:
        super().__init__(values)
        object.__setattr__(self, "coordinates", coordinates)

    @property
    def size(self) -> int:
        return len(self.coordinates[0])

    def encode(self, value: Any) -> Point:
        return self.coordinates[super().encode(value).index(1.0)]

    def decode(self, unit: Point) -> Any:
        if unit not in self._at:
            raise InvalidInput(f"{checks.shown(unit)} is none of the {self.levels} candidates")
        return self.values[self._at[unit]]

    def flags(self, U: Array) -> NDArray[np.bool_]:
        """Which label each of the points has, if it is a candidate: (m, n)."""
        flags = np.zeros((len(U), self.levels), dtype=bool)
        for row, unit in zip(flags, map(tuple, U.tolist()), strict=True):
            if unit in self._at:
                row[self._at[unit]] = True
        return flags

    @cached_property
    def _at(self) -> dict[Point, int]:
        return {point: place for place, point in enumerate(self.coordinates)}
