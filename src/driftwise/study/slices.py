"""The posterior along each parameter of a study through the best setting: what charts and pictures show."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.feasible.failures import ENTRIES
from driftwise.records import Array, Params, Recommendation
from driftwise.spaces import Box, Candidates, Choice, Int, Space
from driftwise.study.study import Study

MOST = 200  # observations that are shown
RESOLUTION = 121  # values of a number at which the posterior is computed


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
    failed: tuple[Any, ...] = ()  # values at which settings failed, oldest first

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


def slices(study: Study, context: Params | None = None) -> tuple[Recommendation, list[Slice]]:
    """The best setting now and the belief along each parameter through it, by default in the newest context."""
    if context is None:
        context = newest_context(study)
    best = study.recommend(context=context)
    space = study.space
    latest = study.latest(MOST)
    seen = [(o.params, o.reward) for o in latest if o.reward is not None]
    seen = seen[-_in_use(study, [o.number for o in latest if o.reward is not None]) :]
    failed = [o.params for o in latest[-ENTRIES:] if o.failed]
    along = [_settings(space, best.params, name) for name in space.names]
    ends = np.cumsum([len(settings) for settings in along])[:-1]
    found = study.predict_many(list(itertools.chain(*along)), context=context)
    means, stds = (np.split(each, ends) for each in found)
    made = []
    for name, settings, mean, std in zip(space.names, along, means, stds, strict=True):
        parameter = dict(space.parameters)[name]
        made.append(
            Slice(
                name=name,
                values=tuple(setting[name] for setting in settings),
                mean=mean,
                std=std,
                best=best.params[name],
                log=bool(getattr(parameter, "log", False)),
                numeric=not isinstance(parameter, Choice),
                whole=isinstance(parameter, Int),
                minimise=study.description.sign < 0,
                seen=tuple((params[name], reward) for params, reward in seen),
                failed=tuple(params[name] for params in failed),
            )
        )
    return best, made


def newest_context(study: Study) -> Params | None:
    """The context of the newest observation; None if the study has no context or no reward yet."""
    if study.description.context is None or not study.describe().counts.rewards:
        return None
    return study.latest(1)[-1].context


def _in_use(study: Study, numbers: list[int]) -> int:
    """How many of the newest observations to show: those that count, as far as the policy says, and at most MOST."""
    if hasattr(study.policy, "diagnose"):
        count = math.ceil(study.drift().in_use)
    else:
        last = numbers[-1] if numbers else 0
        newest_first = enumerate(reversed(numbers))
        count = sum(study.policy.remembers(number, newest=last, newer=newer) for newer, number in newest_first)
    return min(max(count, 1), MOST)


def _settings(space: Space, best: Params, name: str) -> list[Params]:
    """The best setting with other values of parameter `name`, in its order."""
    if isinstance(space, Candidates):
        if space.labels:  # its coordinates follow from its label
            return [{name: label} for label in space.labels]
        # not every value makes a candidate together with the others' best
        return [space.from_unit(tuple(x)) for x in _along(space.points, best, space.names, name)]
    assert isinstance(space, Box)  # the settings alone, without a context
    parameter = dict(space.parameters)[name]
    if isinstance(parameter, Choice):
        values = parameter.values
    else:
        values = tuple(dict.fromkeys(parameter.decode((float(u),)) for u in np.linspace(0, 1, RESOLUTION)))
    return [dict(best) | {name: value} for value in values]


def _along(points: Array, best: Params, names: tuple[str, ...], name: str) -> Array:
    """The candidates that differ from the best one in coordinate `name` alone, in its order: (m, d)."""
    at = np.array([best[other] for other in names])
    free = names.index(name)
    others = np.arange(len(names)) != free
    same = np.all(points[:, others] == at[others], axis=1)
    line = points[same]
    return np.unique(line[np.argsort(line[:, free], kind="stable")], axis=0)
