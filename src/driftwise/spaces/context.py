"""Settings and a context together: beliefs are over both, and a choice is of settings, with the context as it is.

A context is what is known at an ask and not chosen, for example the traffic of the hour. Its coordinates stand after
those of the settings, and an ask fixes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array, Ask, Params, Point
from driftwise.spaces.box import Box
from driftwise.spaces.candidates import Candidates
from driftwise.spaces.maximise import Score
from driftwise.spaces.parameters import Choice, Float, Int, Parameter
from driftwise.spaces.restricted import best_allowed, with_fixed
from driftwise.text import did_you_mean

Fixed = tuple[tuple[int, float], ...]  # coordinates and their values, as an Ask has them


def joint(settings: Box | Candidates, context: Any) -> Box | Joint:
    """The space of settings and context, which is a dict of parameters by name or a Box.

    >>> joint(Box.of({"price": Float(5, 20)}), {"traffic": Float(0, 1)}).names
    ('price', 'traffic')
    """
    if isinstance(context, Mapping) and not context:
        raise InvalidInput('a context needs at least one parameter, as {"traffic": Float(0, 1)}; or leave it out')
    if not isinstance(context, Mapping | Box):
        got = checks.shown(context)
        raise InvalidInput(f"context must be a dict of Float, Int and Choice by name, got {got}")
    known = context if isinstance(context, Box) else Box.of(context)
    both = sorted(set(settings.names) & set(known.names))
    if both:
        raise InvalidInput(f"a name must be that of a setting or of the context, got {both[0]!r} in both; rename one")
    return Box(settings.parameters + known.parameters) if isinstance(settings, Box) else Joint(settings, known)


@dataclass(frozen=True)
class Joint:
    """Candidates, whose coordinates are used as given, in a context, whose coordinates are those of a box.

    >>> space = Joint(Candidates([[1.0], [5.0]], ["size"]), Box.of({"traffic": Float(0, 100)}))
    >>> space.to_unit({"size": 5.0, "traffic": 25.0})
    (5.0, 0.25)
    """

    settings: Candidates
    context: Box

    points = None  # it cannot be listed

    def __post_init__(self) -> None:
        if not isinstance(self.settings, Candidates) or not isinstance(self.context, Box):
            got = checks.shown((self.settings, self.context))
            raise InvalidInput(f"a Joint is of Candidates and of a Box, which is the context, got {got}")

    @property
    def names(self) -> tuple[str, ...]:
        return self.settings.names + self.context.names

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.settings.dim + self.context.dim

    @property
    def parameters(self) -> tuple[tuple[str, Parameter | None], ...]:
        """The parameters by name; a coordinate of the candidates is None."""
        return self.settings.parameters + self.context.parameters

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which coordinates each parameter takes."""
        first = self.settings.dim
        return self.settings.slices + tuple(slice(s.start + first, s.stop + first) for s in self.context.slices)

    def to_unit(self, params: Params) -> Point:
        """A setting in a context as a point; refused where it is not in the space."""
        if not isinstance(params, Mapping):
            raise InvalidInput(f"params must be a dict of {', '.join(self.names)}, got {checks.shown(params)}")
        chosen = {name: value for name, value in params.items() if name not in self.context.names}
        known = {name: value for name, value in params.items() if name in self.context.names}
        return self.settings.to_unit(chosen) + self.context.to_unit(known)

    def from_unit(self, x: Point) -> dict[str, Any]:
        """A point as the user's setting and context."""
        x = checks.point("x", x, self.dim)
        d = self.settings.dim
        return self.settings.from_unit(x[:d]) | self.context.from_unit(x[d:])

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """n candidates at random, each in a context at random: (n, d)."""
        return np.hstack([self.settings.sample(rng, n), self.context.sample(rng, n)])

    def snap(self, X: Array) -> Array:
        """The nearest points of the space: the nearest candidate, and the context's own."""
        from scipy.spatial.distance import cdist

        d = self.settings.dim
        nearest = np.argmin(cdist(X[:, :d], self.settings.points), axis=1)
        return np.hstack([self.settings.points[nearest], self.context.snap(X[:, d:])])

    def listed(self, ask: Ask) -> Array:
        """Every candidate in the context that the ask fixes: (n, d)."""
        d = self.settings.dim
        fixed = {place for place, _ in ask.fixed}
        missing = [j for j in range(d, self.dim) if j not in fixed]
        if missing:
            which = [name for name, s in zip(self.names, self.slices, strict=True) if s.start in missing]
            raise InvalidInput(f"the context must be given, got none for {', '.join(which)}; give all of it")
        points = np.hstack([self.settings.points, np.zeros((len(self.settings), self.context.dim))])
        within = tuple((place, value) for place, value in ask.fixed if place >= d)
        return with_fixed(Ask(ask.number, ask.at, fixed=within), points)

    def argmax(self, score: Score, ask: Ask) -> Array:
        """The candidate where `score` is largest of all that may be chosen, in the context that the ask fixes."""
        return best_allowed(score, self, self.listed(ask), ask)


# --- from the user's units to what an ask fixes -------------------------------------------------------------------


def pinned(space: Any, values: Any, what: str = "fixed") -> Fixed:
    """What an ask fixes so that some parameters have these values.

    >>> pinned(Box.of({"size": Float(0, 4), "kind": Choice(["fast", "slow"])}), {"kind": "slow"})
    ((1, 0.0), (2, 1.0))
    """
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{what} must be a dict of values by name, as {{'workers': 8}}, got {checks.shown(values)}")
    places = dict(zip(space.names, _places(space), strict=True))
    made: list[tuple[int, float]] = []
    for name, value in values.items():
        if name not in places:
            question, known = did_you_mean(name, space.names), ", ".join(space.names)
            raise InvalidInput(f"{what} has an unknown parameter {checks.shown(name)}; {question}there are {known}")
        parameter, s = places[name]
        made.extend(zip(range(s.start, s.stop), _encoded(space, name, parameter, s, value, what), strict=True))
    return tuple(sorted(made))


def in_context(context: Box, space: Any, values: Any) -> Fixed:
    """What an ask fixes in this context, all of whose parameters must have a value."""
    if not isinstance(values, Mapping):
        known = ", ".join(context.names)
        raise InvalidInput(f"context must be a dict of {known}, got {checks.shown(values)}")
    for name, parameter in context.parameters:
        if name not in values:
            raise InvalidInput(f"context {name!r} is missing; it is {parameter.range}")
    unknown = [name for name in values if name not in context.names]
    if unknown:
        question, known = did_you_mean(unknown[0], context.names), ", ".join(context.names)
        raise InvalidInput(f"unknown context {checks.shown(unknown[0])}; {question}there is {known}")
    return pinned(space, values, "context")


def split(context: Box, params: Params) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was chosen, and the context it was chosen in."""
    chosen = {name: value for name, value in params.items() if name not in context.names}
    return chosen, {name: params[name] for name in context.names}


def _places(space: Any) -> list[tuple[Parameter | None, slice]]:
    """Of every parameter, in the order of the names: what it is, and which coordinates it takes."""
    return [(parameter, s) for (_, parameter), s in zip(space.parameters, space.slices, strict=True)]


def _encoded(
    space: Any, name: str, parameter: Float | Int | Choice | None, s: slice, value: Any, what: str
) -> tuple[float, ...]:
    if parameter is not None:
        try:
            return parameter.encode(value)
        except InvalidInput:
            got = checks.shown(value)
            raise InvalidInput(f"{what} {name!r} must be {parameter.range}, got {got}") from None
    number = checks.real(f"{what} {name!r}", value)
    points = space.points if isinstance(space, Candidates) else space.settings.points
    if not (points[:, s.start] == number).any():
        raise InvalidInput(f"{what} {name!r} must be that of a candidate, got {number!r}, which none has")
    return (number,)
