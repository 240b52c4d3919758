"""All bounds on the regret over T and over P_T, with what the best one is made of and, if measured, the regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from driftwise.plots.growth import Curve, GrowthPanel, growth
from driftwise.plots.style import LIGHT, Theme
from driftwise.records import Array
from driftwise.theory.curves import BoundCurves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEST = "best, R-GP-UCB"
LOOKS = {  # a colour for each kind of bound, and dashes for windows
    "Theorem 1": (1, False),
    "Theorem 2": (1, True),
    "Theorem 1, sharper": (2, False),
    "Theorem 2, sharper": (2, True),
    BEST: (0, False),
    "best, SW-GP-UCB": (0, True),
    "drift-aware": (4, False),
}
COLOURS = {"r-gp-ucb": 0, "drift-aware, restarts": 4}  # of what was measured


@dataclass(frozen=True, eq=False)
class BoundsAlong:
    """The bounds along one axis, and the regret of policies at the same places."""

    axis: str  # "T" or "P_T"
    fixed: str  # what the other one is
    curves: BoundCurves
    regret: Mapping[str, Array]  # by policy, (k,)


def bounds_figure(along: Sequence[BoundsAlong], theme: Theme = LIGHT) -> Figure:
    """Above all bounds, below the two parts of the best one: a column for each axis."""
    panels = [*(_all(each) for each in along), *(_parts(each) for each in along)]
    return growth(panels, x="", y="regret", columns=len(along), theme=theme, panel_size=(3.9, 2.7))


def _all(along: BoundsAlong) -> GrowthPanel:
    curves = along.curves
    lines = [Curve("2BT, of any policy", curves.trivial, 5, dashed=True)]
    lines += [Curve(name, curves.total(name), colour, dashed=dashed) for name, (colour, dashed) in LOOKS.items()]
    lines.append(Curve("lower bound", curves.lower, 5, dashed=False))
    lines += [Curve(f"regret, {name}", y, COLOURS[name], measured=True) for name, y in along.regret.items()]
    return GrowthPanel(f"Over {along.axis}, {along.fixed}", curves.x, lines, x_label=along.axis)


def _parts(along: BoundsAlong) -> GrowthPanel:
    curves = along.curves
    drift = np.where(curves.drift(BEST) > 0, curves.drift(BEST), np.nan)  # which logarithms do not show
    lines = [
        Curve("2BT, of any policy", curves.trivial, 5, dashed=True),
        Curve(BEST, curves.total(BEST), 0, dashed=False),
        Curve("… its drift", drift, 3, dashed=False),
        Curve("… its estimation", curves.estimation(BEST), 3, dashed=True),
    ]
    return GrowthPanel(f"The parts of the best bound, {along.fixed}", curves.x, lines, x_label=along.axis)
