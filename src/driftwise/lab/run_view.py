"""One trial of a results folder, run again to see what the policy believed at every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from driftwise.errors import InvalidInput, NotFoundError
from driftwise.lab.cases import Case
from driftwise.lab.results import Results
from driftwise.lab.traces import Trace, optima, trace, truth
from driftwise.lab.trials import Entrant, changes_of
from driftwise.records import Array


@dataclass(frozen=True)
class Wanted:
    """A trial, by policy, suite, case and seed."""

    policy: str
    suite: str
    case: str
    seed: int

    @property
    def label(self) -> str:
        return f"{self.policy}@{self.suite}/{self.case}#{self.seed}"


@dataclass(frozen=True, eq=False)
class RunView:
    """One run from inside: what the policy believed, beside what there was to believe."""

    wanted: Wanted
    trace: Trace
    candidates: Array  # (n,), ascending
    truth: Array  # (T, n)
    best: Array  # (T,)
    changes: tuple[int, ...]
    same: bool  # whether its regret is the one in the folder


def wanted(written: str) -> Wanted:
    """POLICY@SUITE/CASE#SEED.

    >>> wanted("sw-gp-ucb:window=50@deng/abrupt#3")
    Wanted(policy='sw-gp-ucb:window=50', suite='deng', case='abrupt', seed=3)
    """
    policy, _, place = written.partition("@")
    place, _, seed = place.rpartition("#")
    suite, _, case = place.partition("/")
    if not (policy and suite and case and seed.isascii() and seed.isdigit()):
        raise InvalidInput(f"a run is written POLICY@SUITE/CASE#SEED, as gp-ucb@deng/abrupt#0, got {written!r:.120}")
    return Wanted(policy, suite, case, int(seed))


def look_inside(
    results: Results, run: Wanted, entrant: Callable[[str], Entrant], case_of: Callable[[str, str], Case]
) -> RunView:
    """Runs the trial again; `entrant` makes a contender, and `case_of` a case, from names as they were written."""
    row = _row(results, run)
    horizon = int(results.horizon[row])
    case = replace(case_of(run.suite, run.case), horizon=horizon)
    world = case.environment(run.seed)
    points = world.space.points
    if points is None or points.shape[1] != 1:
        raise InvalidInput(f"a belief over time is drawn on candidates of one dimension, and {run.label} has others")
    seen = trace(entrant(run.policy).on(world), world, horizon)
    order = np.argsort(points[:, 0], kind="stable")
    return RunView(
        wanted=run,
        trace=replace(seen, belief=seen.belief[:, order]),
        candidates=points[order, 0],
        truth=truth(world, horizon)[:, order],
        best=optima(world, horizon),
        changes=changes_of(world, horizon),
        same=math.isclose(float(seen.regret.sum()), float(results.regret[row]), rel_tol=1e-9, abs_tol=1e-12),
    )


def _row(results: Results, run: Wanted) -> int:
    """The longest of its trials."""
    found = np.flatnonzero(
        (results.policy == run.policy)
        & (results.suite == run.suite)
        & (results.case == run.case)
        & (results.seed == run.seed)
    )
    if not len(found):
        raise NotFoundError(f"{run.label} is not among the results; a policy is written as it was when it was run")
    return int(found[np.argmax(results.horizon[found])])
