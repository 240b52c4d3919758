"""The aggregates of a results folder that `report/results_page.py` shows: a hundred thousand trials on a small page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.lab import statistics
from driftwise.lab.results import Results
from driftwise.lab.statistics import Interval, interval, thin
from driftwise.lab.tables import CaseTable, Line, Place, Ranking, case_tables, standings
from driftwise.lab.trials import checkpoints
from driftwise.records import Array

POINTS = 60  # of a curve on the page: finer than it is drawn
LEAST = 3  # different P_T, or T, of which a slope is taken


@dataclass(frozen=True, eq=False)
class CaseView:
    """One case: its table, and every policy's mean regret over time with a 95% band, best policy first."""

    table: CaseTable
    steps: NDArray[np.int64]  # (p,)
    curves: tuple[Interval, ...]  # each (p,), in the order of the table's lines
    changes: tuple[int, ...]

    @property
    def place(self) -> Place:
        return self.table.place

    @property
    def winner(self) -> Line:
        return next(line for line in self.table.lines if line.winner)


@dataclass(frozen=True)
class CaseExponent:
    """The exponent of one policy's R(T) in P_T, or in T, over several cases."""

    suite: str
    policy: str
    of: str  # "P_T" or "T"
    among: str  # what is held fixed
    slope: statistics.Slope


@dataclass(frozen=True, eq=False)
class SuiteView:
    """A suite: its cases, and its policies in the order of their standing."""

    name: str
    cases: tuple[CaseView, ...]
    standings: tuple[Ranking, ...]
    ratios: Array  # (policies, cases): mean regret over the best policy's on the case; NaN where it was not run
    seconds: Array  # (policies,): a step, averaged over cases
    growth: tuple[CaseExponent, ...]

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(s.policy for s in self.standings)


@dataclass(frozen=True, eq=False)
class Digest:
    """Everything."""

    suites: tuple[SuiteView, ...]
    trials: int
    manifest: dict[str, Any]
    failed: int = 0

    @property
    def policies(self) -> tuple[str, ...]:
        """All of them, the best of the first suite first: their colours go by this order everywhere."""
        return tuple(dict.fromkeys(policy for suite in self.suites for policy in suite.policies))

    @property
    def index(self) -> dict[str, int]:
        """The place of each policy among them."""
        return {policy: i for i, policy in enumerate(self.policies)}


def digest(results: Results, *, manifest: dict[str, Any] | None = None, failed: int = 0) -> Digest:
    views = [_case(results, table) for table in case_tables(results)]
    suites = [_suite(name, list(group)) for name, group in groupby(views, key=lambda view: view.place[0])]
    return Digest(tuple(suites), len(results), manifest or {}, failed)


def _case(results: Results, table: CaseTable) -> CaseView:
    policies, rows = results.common(table.place)
    steps = np.array(checkpoints(table.place[2]))
    drawn = thin(len(steps), POINTS)
    column = {policy: rows[:, j] for j, policy in enumerate(policies)}
    curves = tuple(interval(results.curves(column[line.policy])[:, drawn]) for line in table.lines)
    return CaseView(table, steps[drawn], curves, results.changes[int(rows[0, 0])])


def _suite(name: str, views: list[CaseView]) -> SuiteView:
    found = standings([view.table for view in views])
    lines = [{line.policy: line for line in view.table.lines} for view in views]
    means = np.array([[_mean(row, s.policy) for s in found] for row in lines])  # (cases, policies)
    seconds = np.array([[row[s.policy].seconds if s.policy in row else np.nan for s in found] for row in lines])
    return SuiteView(
        name=name,
        cases=tuple(views),
        standings=tuple(found),
        ratios=statistics.ratio_to_best(means).T,
        seconds=np.array([_average(column) for column in seconds.T]),
        growth=tuple(_growth(name, views, [s.policy for s in found])),
    )


def _mean(row: dict[str, Line], policy: str) -> float:
    return float(row[policy].regret.mean) if policy in row else float("nan")


def _average(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _growth(suite: str, views: Sequence[CaseView], policies: Sequence[str]) -> list[CaseExponent]:
    """In P_T among cases of one horizon, and in T where one case was run with several horizons."""
    made = []
    groups: dict[tuple[str, str], list[CaseView]] = {}
    for view in views:
        _, case, horizon = view.place
        if view.table.variation > 0:
            groups.setdefault(("P_T", f"T = {horizon:,}"), []).append(view)
        groups.setdefault(("T", case), []).append(view)
    for (of, among), members in groups.items():
        for policy in policies:
            pairs = [
                (view.table.variation if of == "P_T" else float(view.place[2]), float(line.regret.mean))
                for view in members
                for line in view.table.lines
                if line.policy == policy and line.regret.mean > 0
            ]
            if len({x for x, _ in pairs}) >= LEAST:
                slope = statistics.loglog_slope(*np.array(pairs).T)
                made.append(CaseExponent(suite, policy, of, among, slope))
    return made
