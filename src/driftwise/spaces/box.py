"""A space of named parameters, seen by policies as the unit cube."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.records import Array, Ask, Params, Point
from driftwise.spaces.many import MANY, maximise_in_many
from driftwise.spaces.maximise import Score, best_of, maximise
from driftwise.spaces.parameters import Choice, Float, Int, Parameter
from driftwise.spaces.restricted import argmax_within
from driftwise.text import did_you_mean

ENUMERABLE = 2500  # a space of no more settings than this is searched whole
LISTED = 2**20  # numbers that the list of them may have, a row for each setting
LOOKED_AT = 1024  # points that are looked at in an ask, at the least, however many coordinates each has


@dataclass(frozen=True)
class Box:
    """Parameters by name.

    >>> box = Box.of({"price": Float(5, 20), "size": Int(1, 3)})
    >>> box.to_unit({"price": 12.5, "size": 3})
    (0.5, 1.0)
    >>> box.from_unit((0.5, 1.0))
    {'price': 12.5, 'size': 3}
    """

    parameters: tuple[tuple[str, Parameter], ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Parameter]) -> Box:
        return cls(tuple(parameters.items()))

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "parameters", checks.each("parameters", self.parameters, _pair, "[('price', Float(5, 20))]")
        )
        if not self.parameters:
            raise InvalidInput('a space needs at least one parameter, as {"price": Float(5, 20)}')
        for name, parameter in self.parameters:
            checks.name("a parameter's name", name)
            if not isinstance(parameter, Float | Int | Choice):
                raise InvalidInput(f"parameter {name!r} must be a Float, Int or Choice, got {checks.shown(parameter)}")
        if len(set(self.names)) < len(self.parameters):
            raise InvalidInput(f"parameters must have different names, got {checks.shown(list(self.names))}")
        what = f"{LOOKED_AT:,} points of {self.dim:,} coordinates, one for each value of a Choice"
        fix = "where values have an order use Int, else Candidates with coordinates that describe each value"
        limits.check("a space", LOOKED_AT * self.dim, what, fix)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parameters)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which coordinates each parameter takes."""
        ends = list(itertools.accumulate((p.size for _, p in self.parameters), initial=0))
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return sum(p.size for _, p in self.parameters)

    @cached_property
    def continuous(self) -> Array:
        """Which coordinates may take any value in [0, 1]: (d,) of bool."""
        return np.concatenate([np.full(p.size, p.continuous) for _, p in self.parameters])

    @cached_property
    def ordered(self) -> Array:
        """Which coordinates are those of numbers, whole ones too, and not of choices: (d,) of bool."""
        return np.concatenate([np.full(p.size, not isinstance(p, Choice)) for _, p in self.parameters])

    @cached_property
    def points(self) -> Array | None:
        """Every setting there is, where they are few: (n, d)."""
        levels = [p.levels for _, p in self.parameters]
        settings = math.prod(n for n in levels if n)
        if None in levels or settings > ENUMERABLE or settings * self.dim > LISTED:
            return None
        places = np.unravel_index(np.arange(settings), [n for n in levels if n])
        each = [p.settings[at] for (_, p), at in zip(self.parameters, places, strict=True) if not isinstance(p, Float)]
        points = np.hstack(each)
        points.flags.writeable = False
        return points

    def listed(self, ask: Ask) -> Array | None:
        """Every setting that there is at an ask, where they are few: (n, d)."""
        return self.points

    def to_unit(self, params: Params) -> Point:
        """The user's setting as a point of the unit cube; refused where it is not in the space."""
        if not isinstance(params, Mapping):
            raise InvalidInput(f"params must be a dict of {', '.join(self.names)}, got {checks.shown(params)}")
        unknown = [name for name in params if name not in self.names]
        if unknown:
            question, known = did_you_mean(unknown[0], self.names), ", ".join(self.names)
            raise InvalidInput(f"unknown parameter {checks.shown(unknown[0])}; {question}the space has {known}")
        unit: list[float] = []
        for name, parameter in self.parameters:
            if name not in params:
                raise InvalidInput(f"parameter {name!r} is missing; it is {parameter.range}")
            try:
                unit.extend(parameter.encode(params[name]))
            except InvalidInput:
                got = checks.shown(params[name])
                raise InvalidInput(f"parameter {name!r} must be {parameter.range}, got {got}") from None
        return tuple(unit)

    def from_unit(self, x: Point) -> dict[str, Any]:
        """A point of the unit cube as the user's setting."""
        x = checks.point("x", x, self.dim)
        return {name: p.decode(x[s]) for (name, p), s in zip(self.parameters, self.slices, strict=True)}

    def snap(self, X: Array) -> Array:
        """The nearest points that are settings: whole numbers whole, one choice chosen."""
        parts = [p.snap(X[:, s]) for (_, p), s in zip(self.parameters, self.slices, strict=True)]
        return np.hstack(parts)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n settings at random, each as likely as any other: (n, d)."""
        return self.spread(rng.random((n, self.dim)))

    def spread(self, U: Array) -> Array:
        """Points of the unit cube to settings, so that uniform ones make each as likely as any other: (n, d)."""
        return np.hstack([p.spread(U[:, s]) for (_, p), s in zip(self.parameters, self.slices, strict=True)])

    def neighbours(self, x: Array, some: Callable[[int], Iterable[int]] = range) -> Array:
        """x with one discrete parameter moved: a whole number by one step, a choice to each other value. (m, d)

        Of m such moves, those at the places `some(m)`, all by default.
        """
        discrete = ((p, s) for (_, p), s in zip(self.parameters, self.slices, strict=True) if not isinstance(p, Float))
        moves = [(s, s.start + place, unit) for p, s in discrete for place, unit in p.moves(x[s])]
        taken = [moves[i] for i in some(len(moves))]
        moved = np.tile(x, (len(taken), 1))
        for y, (s, place, unit) in zip(moved, taken, strict=True):
            y[s] = 0.0
            y[place] = unit
        return moved

    def without(self, fixed: Iterable[int]) -> Box | None:
        """The box of the parameters of which no coordinate is `fixed`; None: there are none."""
        places = set(fixed)
        pairs = zip(self.parameters, self.slices, strict=True)
        left = tuple(pair for pair, s in pairs if places.isdisjoint(range(s.start, s.stop)))
        return Box(left) if left else None

    def argmax(self, score: Score, ask: Ask) -> Array:
        """Where `score` is largest of all that may be chosen: exactly where the settings are few, else by search."""
        if ask.fixed or ask.allowed is not None:
            return argmax_within(score, self, ask)
        if self.points is not None:
            return best_of(score, self.points)
        return maximise(score, self, ask) if self.dim <= MANY else maximise_in_many(score, self, ask)


def _pair(name: str, given: Any) -> tuple[str, Parameter]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidInput(f"{name} must be pairs of a name and a parameter, got {checks.shown(given)}")
    return given[0], given[1]
