"""Bounds over T and over P_T, for pictures: every value is one that can be proved at that place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftwise.records import Array
from driftwise.theory.bounds import Problem, as_problem, restart_bound, sharp_restart_bound
from driftwise.theory.lower import lower_bound
from driftwise.theory.tight import best, drift_aware_bound, tight_restart_bound

PLACES = 9  # on each axis


@dataclass(frozen=True, eq=False)
class BoundCurves:
    """R(T) is between these at each x, T or P_T: upper bounds at their best lengths, and the split of the best one."""

    x: Array  # (k,)
    theorem: Array  # Theorem 1
    sharp: Array  # with the sharper drift term
    tight: Array  # the best bound of R-GP-UCB, and its two parts
    drift: Array
    estimation: Array
    drift_aware: Array
    lower: Array
    trivial: Array  # 2BT


def over_horizon(problem: Problem, *, contrast: float, reach: float) -> BoundCurves:
    """From T/64 to T, with P_T as it is."""
    T = as_problem(problem).horizon
    horizons = np.unique(np.geomspace(max(T / 64, 1), T, PLACES).round().astype(int))
    problems = [replace(problem, horizon=n) for n in horizons.tolist()]
    return _curves(horizons.astype(float), problems, contrast=contrast, reach=reach)


def over_budget(problem: Problem, *, contrast: float, reach: float) -> BoundCurves:
    """From a sixteenth of P_T to 16 times as much, around 1 if P_T is 0."""
    budgets = np.geomspace(1 / 16, 16, PLACES) * (as_problem(problem).budget or 1.0)
    problems = [replace(problem, budget=budget) for budget in budgets.tolist()]
    return _curves(budgets, problems, contrast=contrast, reach=reach)


def _curves(x: Array, problems: Sequence[Problem], *, contrast: float, reach: float) -> BoundCurves:
    bounds = (restart_bound, sharp_restart_bound, tight_restart_bound, drift_aware_bound)
    found = [[best(bound, problem)[1] for problem in problems] for bound in bounds]
    theorem, sharp, tight, aware = (np.array([bound.total for bound in row]) for row in found)
    return BoundCurves(
        x=x,
        theorem=theorem,
        sharp=sharp,
        tight=tight,
        drift=np.array([bound.drift for bound in found[2]]),
        estimation=np.array([bound.estimation for bound in found[2]]),
        drift_aware=aware,
        lower=np.array([lower_bound(problem, contrast=contrast, reach=reach).total for problem in problems]),
        trivial=np.array([bound.trivial for bound in found[0]]),
    )
