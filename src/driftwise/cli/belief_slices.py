"""A study's belief along one parameter, the others at the best setting: what a picture of it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.records import Array, Params, Recommendation
from driftwise.spaces import Box, Choice, Float, Int, Parameter
from driftwise.study import Study

RESOLUTION = 121  # settings of a Float that are looked at


@dataclass(frozen=True, eq=False)
class Slice:
    """Mean and std at `values` of the parameter `name`, in the user's units, and the observations still in use."""

    name: str
    values: tuple[Any, ...]  # (m,)
    mean: Array  # (m,)
    std: Array  # (m,)
    best: Any  # the recommended value
    log: bool
    numeric: bool
    seen: tuple[tuple[Any, float], ...]  # (value, reward), oldest first


def slices(study: Study) -> tuple[Recommendation, list[Slice]]:
    """The best setting now, and the belief along each parameter through it."""
    best = study.recommend()
    belief = study.belief()
    space = study.space
    memory = study.policy.memory
    recent = study.latest(min(len(belief) if memory is not None else 200, 200) or 1)
    seen = [(space.from_unit(o.x), o.y) for o in recent]
    location, scale = belief.units
    made = []
    for name, values in _axes(study).items():
        settings = [dict(best.params) | {name: value} for value in values]
        if not isinstance(space, Box):  # not every value makes a candidate together with the others' best
            settings = [space.from_unit(tuple(x)) for x in _along(space.points, best.params, space.names, name)]
            values = tuple(setting[name] for setting in settings)
        X = np.array([space.to_unit(setting) for setting in settings])
        mean, std = belief.predict(X)
        parameter = dict(space.parameters)[name] if isinstance(space, Box) else None
        made.append(
            Slice(
                name=name,
                values=values,
                mean=study.description.sign * (location + scale * mean),
                std=scale * std,
                best=best.params[name],
                log=bool(getattr(parameter, "log", False)),
                numeric=not isinstance(parameter, Choice),
                seen=tuple((params[name], reward) for params, reward in seen),
            )
        )
    return best, made


def _axes(study: Study) -> Mapping[str, tuple[Any, ...]]:
    if isinstance(study.space, Box):
        return {name: _values(parameter) for name, parameter in study.space.parameters}
    return dict.fromkeys(study.space.names, ())


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
