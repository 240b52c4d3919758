"""The records that layers exchange: asks, observations, suggestions and measurements. Numbers count from 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Point = tuple[float, ...]  # a row of X: unit-cube coordinates on a box, the candidate's own on Candidates
Params = Mapping[str, Any]  # the same point in the user's units
# which rows of X, (m, d), may be chosen: (m,). If it has an attribute `examples`, rows that it allows, (k, d), the
# search begins with them: where little is allowed, it would otherwise have to find it.
Allowed = Callable[[Array], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Observation:
    """One entry of the log: at step `number` (user's time `at`) the reward at `x` was `y`, or the setting failed.

    Args:
        number: the number of the step, from 1.
        at: the time, in the user's own unit.
        x: the point: coordinates of the unit cube on a box, the candidate's own on `Candidates`.
        y: the reward, `math.nan` if the setting failed.
        std: the standard deviation of the noise of `y`, if it is known.
        repeats: of so many readings `y` is the mean.
        measures: what else was measured, pairs of a name and a value.
        failed: whether the setting failed.

    >>> Observation(1, at=1.0, x=(0.5,), y=12.3).failed
    False
    """

    number: int
    at: float
    x: Point
    y: float  # `math.nan` if it failed, always this object, so that equal observations compare equal
    std: float | None = None  # standard deviation of the noise of `y`, if the user knows it
    repeats: int = 1  # `y` is the mean of so many readings; their noise is the policy's own unless `std` is given
    measures: tuple[tuple[str, float], ...] = ()  # what else was measured, for example a latency, by name
    failed: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and alike(self, other)


def alike(one: Any, other: Any) -> bool:
    """Whether two records have equal fields, a NaN being equal to itself.

    Tuples compare so. A dataclass did, too, until Python 3.13, which compares field by field.
    """
    values = attrgetter(*one.__dataclass_fields__)
    return bool(values(one) == values(other))


def failure(number: int, at: float, x: Point, measures: tuple[tuple[str, float], ...] = ()) -> Observation:
    """The entry of a setting that failed: it has no reward."""
    return Observation(number, at, x, math.nan, measures=measures, failed=True)


def signed(seen: Observation, sign: float) -> Observation:
    """The observation with the sign of its reward flipped if the study minimises, because policies maximise."""
    return seen if sign > 0 or seen.failed else replace(seen, y=-seen.y)


def time_of_next(number: int, newest: Observation | None) -> float:
    """The time of entry `number` if the user gives none: its number, or the newest time if times are the user's own.

    >>> time_of_next(3, Observation(2, 2.0, (0.5,), 1.0)), time_of_next(3, Observation(2, 1.7e9, (0.5,), 1.0))
    (3.0, 1700000000.0)
    """
    return float(number) if newest is None or newest.at == newest.number else newest.at


@dataclass(frozen=True, slots=True)
class Ask:
    """What a policy is asked: which point to choose at step `number`, while `pending` points have no reward yet.

    Only points that have the `fixed` coordinates and that are `allowed` may be chosen.

    Args:
        number: the number of the step, from 1.
        at: the time for which to choose, in the user's own unit.
        pending: the points that were chosen and have no reward yet.
        seed: the seed of every random choice.
        fixed: pairs of a coordinate and its value: a context, or parameters that are pinned.
        allowed: says which rows of X may be chosen; None if all may.

    >>> Ask(number=2, at=2.0, pending=((0.5,),)).seed
    0
    """

    number: int
    at: float
    pending: tuple[Point, ...] = ()
    seed: int = 0
    fixed: tuple[tuple[int, float], ...] = ()  # coordinates and their values: a context, or parameters that are pinned
    allowed: Allowed | None = None  # None: every setting of the space


class Serving(NamedTuple):
    """How an ask of a live system is served: its role, and with what probability it would be the candidate's.

    >>> Serving("control", share=0.1, turn=7).role
    'control'
    """

    role: str  # "control", "explore" or "candidate"
    share: float  # of those asks that are not the policy's own choices; 0 if no candidate is on trial
    turn: int  # of all asks of the study, from 0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The answer of a study to `ask`: try `params` now, then tell the reward under this `id`.

    If `stored` is False it is the fallback of an ask that could not be stored: its number is 0 and no store knows its
    id. Tell it all the same, as a whole and not by its id: the reward is stored once, as an observation at `params`.
    """

    id: str
    number: int
    params: Params
    at: float
    key: str
    x: Point = field(repr=False)
    context: Params | None = None  # the values that were given with the ask
    stored: bool = True
    role: str | None = None  # "control", "explore" or "candidate" if the study has `live=`


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer of a study to `tell`: the reward is stored.

    `new` is False if it was stored before. `in_window` is False if the policy no longer uses an observation this old.
    """

    number: int
    new: bool
    in_window: bool


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The best setting that is known, with the function's posterior mean and standard deviation there."""

    params: Params
    mean: float
    std: float
    sure: bool = True  # False while little is known there, and just after the world changed
    context: Params | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is expected at a setting: the function's posterior mean and standard deviation, in the user's units."""

    mean: float
    std: float
    works: float = 1.0  # the probability that it does not fail
    # of measures that have a limit and were told: mean and standard deviation by name, and how probably it holds
    measures: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    holds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a simulation: the observation, its value without noise, and the best value at that step."""

    seen: Observation
    value: float  # f_t(x_t)
    best: float  # max_x f_t(x)
    seconds: float = 0.0  # the policy's own time: choose and update

    @property
    def regret(self) -> float:
        """r_t = max_x f_t(x) − f_t(x_t)."""
        return self.best - self.value
