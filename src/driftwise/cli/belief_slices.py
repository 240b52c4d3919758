"""The posterior along each parameter of a study through the best setting: what charts and pictures show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.gp.belief import Belief
from driftwise.records import Array, Params, Recommendation
from driftwise.spaces import Box, Candidates, Choice, Float, Int, Parameter, Space
from driftwise.study import Study

MOST = 200  # observations that are shown
RESOLUTION = 121  # values of a Float at which the posterior is computed


@dataclass(frozen=True, eq=False)
class Slice:
    """Mean and std at `values` of the parameter `name`, in the user's units, and the observations still in use."""

    name: str
    values: tuple[Any, ...]  # (m,)
    mean: Array  # (m,)
    std: Array  # (m,)
    best: Any  # the recommended value
    log: bool
    numeric: bool  # not a Choice
    whole: bool  # an Int: there is nothing between its values
    minimise: bool
    seen: tuple[tuple[Any, float], ...]  # (value, reward), oldest first

    @property
    def quantity(self) -> str:
        return "cost" if self.minimise else "reward"

    @property
    def axis(self) -> str:
        """The label of the axis along which the mean is drawn."""
        return f"{self.quantity} ({'lower' if self.minimise else 'higher'} is better)"

    def written(self, value: Any) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    def ranked(self) -> list[int]:
        """The places of the values in the order to show them: numbers ascend, choices begin with the best."""
        sign = 1 if self.minimise else -1
        return list(range(len(self.values))) if self.numeric else list(np.argsort(sign * self.mean, kind="stable"))


def slices(study: Study) -> tuple[Recommendation, list[Slice]]:
    """The best setting now, and the belief along each parameter through it."""
    best = study.recommend()
    belief = study.belief()
    space = study.space
    seen = [(space.from_unit(o.x), o.y) for o in study.latest(_in_use(study, belief))]
    location, scale = belief.units
    made = []
    for name, values in _axes(study).items():
        settings = [_changed(space, best.params, name, value) for value in values]
        if (
            isinstance(space, Candidates) and not space.labels
        ):  # not every value makes a candidate together with the others' best
            settings = [space.from_unit(tuple(x)) for x in _along(space.points, best.params, space.names, name)]
            values = tuple(setting[name] for setting in settings)
        X = np.array([space.to_unit(setting) for setting in settings])
        mean, std = belief.predict(X)
        parameter = dict(space.parameters)[name]
        made.append(
            Slice(
                name=name,
                values=values,
                mean=study.description.sign * (location + scale * mean),
                std=scale * std,
                best=best.params[name],
                log=bool(getattr(parameter, "log", False)),
                numeric=not isinstance(parameter, Choice),
                whole=isinstance(parameter, Int),
                minimise=study.description.sign < 0,
                seen=tuple((params[name], reward) for params, reward in seen),
            )
        )
    return best, made


def _in_use(study: Study, belief: Belief) -> int:
    """How many of the newest observations to show: those that count, as far as the policy says, and at most MOST."""
    if hasattr(study.policy, "diagnose"):
        count = math.ceil(study.drift().in_use)
    else:
        count = MOST if study.policy.memory is None else len(belief)
    return min(max(count, 1), MOST)


def _axes(study: Study) -> Mapping[str, tuple[Any, ...]]:
    if isinstance(study.space, Box):
        return {name: _values(parameter) for name, parameter in study.space.parameters}
    if isinstance(study.space, Candidates) and study.space.labels:  # its coordinates follow from its label
        return {study.space.names[0]: study.space.labels}
    return dict.fromkeys(study.space.names, ())


def _changed(space: Space, best: Params, name: str, value: Any) -> Params:
    """The best setting with another value of one parameter."""
    return {name: value} if isinstance(space, Candidates) else dict(best) | {name: value}


def _values(parameter: Parameter) -> tuple[Any, ...]:
    if isinstance(parameter, Choice):
        return parameter.values
    if isinstance(parameter, Int):
        return tuple(dict.fromkeys(parameter.decode((u,)) for u in np.linspace(0, 1, RESOLUTION)))
    assert isinstance(parameter, Float)
    return tuple(parameter.decode((float(u),)) for u in np.linspace(0, 1, RESOLUTION))


def _along(points: Array, best: Params, names: tuple[str, ...], name: str) -> Array:
    """The candidates that differ from the best one in coordinate `name` alone, in its order: (m, d)."""
    at = np.array([best[other] for other in names])
    free = names.index(name)
    others = np.arange(len(names)) != free
    same = np.all(points[:, others] == at[others], axis=1)
    line = points[same]
    return np.unique(line[np.argsort(line[:, free], kind="stable")], axis=0)
