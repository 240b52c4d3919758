"""Bounds over T and over P_T, for pictures: every value is one that can be proved at that place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftwise.records import Array
from driftwise.theory.bounds import (
    Bound,
    Problem,
    as_problem,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    window_bound,
)
from driftwise.theory.lower import lower_bound
from driftwise.theory.tight import best, drift_aware_bound, tight_restart_bound, tight_window_bound

PLACES = 9  # on each axis
UPPER = {
    "Theorem 1": restart_bound,
    "Theorem 2": window_bound,
    "Theorem 1, sharper": sharp_restart_bound,
    "Theorem 2, sharper": sharp_window_bound,
    "best, R-GP-UCB": tight_restart_bound,
    "best, SW-GP-UCB": tight_window_bound,
    "drift-aware": drift_aware_bound,
}


@dataclass(frozen=True, eq=False)
class BoundCurves:
    """R(T) is between these at each x, T or P_T: upper bounds by name at their best lengths, with their two parts."""

    x: Array  # (k,)
    upper: dict[str, tuple[Bound, ...]]  # each (k,)
    lower: Array  # (k,)
    trivial: Array  # 2BT, (k,)

    def total(self, name: str) -> Array:
        return np.array([bound.total for bound in self.upper[name]])

    def drift(self, name: str) -> Array:
        return np.array([bound.drift for bound in self.upper[name]])

    def estimation(self, name: str) -> Array:
        return np.array([bound.estimation for bound in self.upper[name]])


def places_of(last: float, *, around: bool = False) -> Array:
    """Whole numbers from a 64th of T to T; or, `around` P_T, from a sixteenth to 16 times as much, around 1 if it is 0.

    >>> places_of(64).tolist(), places_of(2.0, around=True)[4].item()
    ([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 23.0, 38.0, 64.0], 2.0)
    """
    if around:
        return np.geomspace(1 / 16, 16, PLACES) * (last or 1.0)
    return np.unique(np.geomspace(max(last / 64, 1), last, PLACES).round())


def over_horizon(problem: Problem, *, contrast: float, reach: float) -> BoundCurves:
    """With P_T as it is."""
    horizons = places_of(as_problem(problem).horizon)
    problems = [replace(problem, horizon=int(n)) for n in horizons.tolist()]
    return _curves(horizons, problems, contrast=contrast, reach=reach)


def over_budget(problem: Problem, *, contrast: float, reach: float) -> BoundCurves:
    """With T as it is."""
    budgets = places_of(as_problem(problem).budget, around=True)
    problems = [replace(problem, budget=budget) for budget in budgets.tolist()]
    return _curves(budgets, problems, contrast=contrast, reach=reach)


def _curves(x: Array, problems: Sequence[Problem], *, contrast: float, reach: float) -> BoundCurves:
    return BoundCurves(
        x=x,
        upper={name: tuple(best(bound, problem)[1] for problem in problems) for name, bound in UPPER.items()},
        lower=np.array([lower_bound(problem, contrast=contrast, reach=reach).total for problem in problems]),
        trivial=np.array([2 * problem.B * problem.horizon for problem in problems]),
    )
