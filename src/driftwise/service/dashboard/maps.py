"""The belief over two parameters, while the others are at the best setting."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.records import Params
from driftwise.service.dashboard.views import Json, finite, value_of
from driftwise.spaces import Box, Choice
from driftwise.study import Study
from driftwise.study.slices import newest_context

SIDE = 31  # values of a number along one side
MOST = 200  # observations that are shown


def belief_map(study: Study, across: str, up: str, context: Params | None = None) -> Json:
    """Mean and standard deviation on a grid of two parameters of a box, and where the study asked."""
    space, whole = study.space, study.policy.space
    if not isinstance(space, Box):
        raise InvalidInput("a map needs a space of parameters, got candidates; look at the curves instead")
    known = dict(space.parameters)
    for name in (across, up):
        if name not in known:
            raise InvalidInput(
                f"a map is over two parameters of the study, got {name!r:.80}; it has {', '.join(known)}"
            )
    if across == up:
        raise InvalidInput(f"a map is over two different parameters, got {across!r} twice")
    inside = newest_context(study) if context is None else context
    best = study.recommend(context=inside)
    columns, lines = _values(known[across]), _values(known[up])
    settings = [{**best.params, across: a, up: b, **(inside or {})} for b in lines for a in columns]
    belief = study.belief()
    location, scale = belief.units
    mean, std = belief.predict(np.array([whole.to_unit(setting) for setting in settings]))
    shape = (len(lines), len(columns))
    sign = study.description.sign
    return {
        "across": across,
        "up": up,
        "columns": [value_of(value) for value in columns],
        "lines": [value_of(value) for value in lines],
        "mean": [[finite(v) for v in row] for row in (sign * (location + scale * mean)).reshape(shape)],
        "std": [[finite(v) for v in row] for row in (scale * std).reshape(shape)],
        "best": [value_of(best.params[across]), value_of(best.params[up])],
        "asked": [
            [value_of(seen.params[across]), value_of(seen.params[up]), int(seen.failed)] for seen in _last(study)
        ],
    }


def _values(parameter: Any) -> list[Any]:
    """Values along one side: all of a choice, and SIDE of a number, evenly spaced as the policy sees it."""
    if isinstance(parameter, Choice):
        return list(parameter.values)[:SIDE]
    return list(dict.fromkeys(parameter.decode((float(u),)) for u in np.linspace(0, 1, SIDE)))


def _last(study: Study) -> list[Any]:
    return study.latest(MOST) if study.describe().counts.rewards else []
