"""A finite set of candidates: points whose coordinates are used as given, or arms that have a name alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.records import Array, Ask, Params, Point
from driftwise.spaces.labels import Labels, as_labels
from driftwise.spaces.maximise import Score, best_of
from driftwise.spaces.parameters import Choice
from driftwise.spaces.restricted import best_allowed

WRITTEN = 16  # what a coordinate takes, in numbers: it is kept as Python has it, found by it, and written as text
ARM = "arm"  # the name of the parameter whose values are the labels, unless another is given


@dataclass(frozen=True, init=False)
class Candidates:
    """Finitely many points, (n, d), with names for their coordinates: x0, x1, … by default.

    With `labels` each candidate has a name of its own, and `names` are that of the label and those of the coordinates.
    Labels without points are arms in no order: any two are equally far apart, like the values of a `Choice`.

    Args:
        points: an array of shape (n, d), or n lists of d numbers, which policies see as they are.
        names: a name for each coordinate.
        labels: a name for each candidate.
        coordinates: the same as `points`, by the name of the field.

    >>> Candidates([[0.0, 0.0], [0.5, 1.0]]).from_unit((0.5, 1.0))
    {'x0': 0.5, 'x1': 1.0}
    >>> Candidates([[1.0], [5.0]], labels=["small", "large"]).from_unit((5.0,))
    {'arm': 'large', 'x0': 5.0}
    >>> Candidates(labels=["red", "green"]).to_unit({"arm": "green"})
    (0.0, 1.0)
    """

    coordinates: tuple[Point, ...] = field(repr=False)  # none, if there are labels alone
    names: tuple[str, ...]
    labels: tuple[str, ...] = field(default=(), repr=False)

    def __init__(
        self,
        points: Sequence[Sequence[float]] | Sequence[str] | Array | None = None,
        names: Sequence[str] | None = None,
        *,
        labels: Sequence[str] | None = None,
        coordinates: Sequence[Sequence[float]] | None = None,
    ) -> None:
        given = points if points is not None else coordinates
        if labels is None and _are_labels(given):
            given, labels = None, given
        known = () if labels is None else as_labels(labels)
        rows = () if known and (given is None or (isinstance(given, list | tuple) and not given)) else _rows(given)
        if known and rows:
            _check_told_apart(rows, known)
        object.__setattr__(self, "coordinates", rows)
        object.__setattr__(self, "labels", known)
        object.__setattr__(self, "names", _names(names, len(rows[0]) if rows else 0, labelled=bool(known)))

    def __len__(self) -> int:
        return len(self.labels or self.coordinates)

    @cached_property
    def points(self) -> Array:
        """(n, d)."""
        array = np.array(self.coordinates) if self.coordinates else np.eye(len(self))
        array.flags.writeable = False
        return array

    @property
    def dim(self) -> int:
        return len(self.coordinates[0]) if self.coordinates else len(self)

    @cached_property
    def label(self) -> Choice | None:
        """The parameter whose values are the labels, if there are any."""
        if not self.labels:
            return None
        return Labels(self.labels, self.coordinates) if self.coordinates else Choice(self.labels)

    @cached_property
    def parameters(self) -> tuple[tuple[str, Choice | None], ...]:
        """The parameters by name; a coordinate is None."""
        labelled = ((self.names[0], self.label),) if self.label else ()
        return (*labelled, *((name, None) for name in self.names[len(labelled) :]))

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which coordinates each parameter takes: a label all of them."""
        each = tuple(slice(j, j + 1) for j in range(self.dim)) if self.coordinates else ()
        return (slice(0, self.dim), *each) if self.labels else each

    @cached_property
    def _known(self) -> frozenset[Point]:
        return frozenset(self.coordinates)

    def listed(self, ask: Ask) -> Array:
        """Every candidate: (n, d)."""
        return self.points

    def to_unit(self, params: Params) -> Point:
        """The candidate with this label, or with these coordinates; refused where there is none."""
        if not isinstance(params, Mapping):
            raise InvalidInput(f"params must be a dict of {', '.join(self.names)}, got {checks.shown(params)}")
        return self._labelled(params) if self.label else self._located(params)

    def _labelled(self, params: Params) -> Point:
        """By its label alone; if coordinates are given, too, they must be its own."""
        assert self.label is not None
        name = self.names[0]
        if name not in params or not set(params) <= set(self.names):
            raise InvalidInput(f"params must be a dict with {name!r}, got {checks.shown(params)}")
        try:
            point = self.label.encode(params[name])
        except InvalidInput as error:
            raise InvalidInput(f"{name!r} {error}") from None
        for coordinate, value in zip(self.names[1:], point, strict=False):
            if coordinate in params and checks.real(f"parameter {coordinate!r}", params[coordinate]) != value:
                got = checks.shown(params[coordinate])
                raise InvalidInput(f"{coordinate!r} of {params[name]!r} is {value!r}, got {got}; leave it out")
        return point

    def _located(self, params: Params) -> Point:
        if set(params) != set(self.names):
            raise InvalidInput(f"params must be a dict of {', '.join(self.names)}, got {checks.shown(params)}")
        point = tuple(checks.real(f"parameter {name!r}", params[name]) for name in self.names)
        if point not in self._known:
            raise InvalidInput(f"{dict(zip(self.names, point, strict=True))} is none of the {len(self)} candidates")
        return point

    def from_unit(self, x: Point) -> dict[str, Any]:
        """A candidate as the user's setting: its label, if it has one, and its coordinates, if it has some."""
        x = checks.point("x", x, self.dim)
        if not self.label:
            return dict(zip(self.names, x, strict=True))
        return {self.names[0]: self.label.decode(x)} | dict(zip(self.names[1:], x, strict=False))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n candidates at random: (n, d)."""
        return self.points[rng.integers(len(self), size=n)]

    def argmax(self, score: Score, ask: Ask) -> Array:
        """The candidate where `score` is largest of all that may be chosen, the first of equals."""
        if ask.fixed or ask.allowed is not None:
            return best_allowed(score, self, self.points, ask)
        return best_of(score, self.points)


def _are_labels(given: Any) -> bool:
    """Whether it is a list of text."""
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(item, str) for item in given)


def _rows(given: Any) -> tuple[Point, ...]:
    """The coordinates of points, if they are a table of numbers that is not too large."""
    array = checks.numbers(given)
    if array is None:
        raise InvalidInput("candidates must be rows of numbers, all of one length")
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
    return tuple(map(tuple, array.tolist()))


def _names(given: Any, d: int, *, labelled: bool) -> tuple[str, ...]:
    """The label's name, if there are labels, and one for each of the d coordinates."""
    first = (ARM,) if labelled else ()
    if given is None:
        return (*first, *(f"x{j}" for j in range(d)))
    names = checks.each("names", given, _label, "['price', 'size']")
    if labelled and d and len(names) == d:
        names = first + names
    if len(names) != len(first) + d or len(set(names)) < len(names):
        rule = f"{d} different ones, one a column"
        if labelled:
            rule = "that of the label" + (f" and {rule}" if d else " alone") + ", all different"
        raise InvalidInput(f"names must be {rule}, got {checks.shown(names)}")
    return names


def _check_told_apart(rows: tuple[Point, ...], labels: tuple[str, ...]) -> None:
    """One label for each candidate, and no two candidates at one point."""
    if len(rows) != len(labels):
        raise InvalidInput(f"labels must be one for each candidate, got {len(labels):,} for {len(rows):,}")
    places: dict[Point, int] = {}
    for i, row in enumerate(rows):
        j = places.setdefault(row, i)
        if j != i:
            raise InvalidInput(
                f"candidates with labels must have different coordinates, {labels[j]!r} and {labels[i]!r} are both at "
                f"{checks.shown(row)}; leave the coordinates out, or add one in which they differ"
            )


def _label(which: str, given: Any) -> str:
    return checks.name("a coordinate's name", given)
