"""The comparison as a table: mean regret as a share of random's on the same worlds, and what a step costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.lab.statistics import Interval, jackknife, means_without
from driftwise.lab.trials import Result, Timing
from driftwise.records import Array

BASE = "random"


@dataclass(frozen=True)
class Row:
    """One policy: R(T) over random's R(T), seed by seed."""

    policy: str
    shares: dict[str, float]  # by case, averaged over its seeds
    mean: Interval  # over the cases, each counted once; how far it may be off by the choice of seeds
    runs: int
    seconds: float  # CPU a step, the median over runs of the mean over steps
    wall: float  # the median step by the clock, the median over runs


def rows(results: Iterable[tuple[Result, Timing]]) -> list[Row]:
    """A row a policy, the best first; only runs on worlds that random was run on count."""
    found = list(results)
    base = {place(r): r.regret for r, _ in found if r.policy == BASE}
    if not base:
        raise InvalidInput(f"regret is given as a share of {BASE}'s, and it has not been run; add it to --ours")
    policies = dict.fromkeys(r.policy for r, _ in found)
    made = [_row(policy, [(r, t) for r, t in found if r.policy == policy], base) for policy in policies]
    return sorted(made, key=lambda row: float(row.mean.mean))


def place(result: Result) -> tuple[str, str, int, int]:
    """The world that a run was on."""
    return result.suite, result.case, result.horizon, result.seed


def _row(policy: str, runs: list[tuple[Result, Timing]], base: dict[tuple[str, str, int, int], float]) -> Row:
    runs = [(r, t) for r, t in runs if place(r) in base]
    shares = np.array([r.regret / base[place(r)] for r, _ in runs])
    cases = np.array([r.case for r, _ in runs])
    return Row(
        policy=policy,
        shares={str(case): float(shares[cases == case].mean()) for case in np.unique(cases)},
        mean=over_cases([shares[cases == case] for case in np.unique(cases)]),
        runs=len(runs),
        seconds=float(np.median([t.policy / r.horizon for r, t in runs])),
        wall=float(np.median([t.median for _, t in runs])),
    )


def over_cases(groups: Sequence[Array]) -> Interval:
    """The mean of the groups' means, each case counted once, with its interval.

    The cases are what they are and the seeds are drawn: that one case is harder than another widens nothing.

    >>> over_cases([np.array([1.0, 2.0, 3.0, 4.0, 5.0])]).high.round(2).item()
    7.22
    """
    means = [group.mean() for group in groups]
    without = [(sum(means) - mean + means_without(g)) / len(groups) for mean, g in zip(means, groups, strict=True)]
    return jackknife(np.mean(means), without)


def cells(table: Sequence[Row]) -> list[list[str]]:
    """The table as text, its head first."""
    cases = sorted({case for row in table for case in row.shares})
    head = ["policy", *cases, "mean [95%]", "runs", "CPU ms a step", "median ms a step"]
    return [head, *(_text(row, cases) for row in table)]


def _text(row: Row, cases: list[str]) -> list[str]:
    low, high = max(float(row.mean.low), 0.0), float(row.mean.high)
    interval = f" [{low:.2f}, {high:.2f}]" if np.isfinite(high) else ""
    shares = [f"{row.shares[case]:.2f}" if case in row.shares else "–" for case in cases]
    times = [f"{1000 * s:.2g}" if s < 0.1 else f"{1000 * s:.0f}" for s in (row.seconds, row.wall)]
    return [row.policy, *shares, f"{float(row.mean.mean):.2f}{interval}", str(row.runs), *times]


def markdown(table: Sequence[Row]) -> str:
    """The table for a page."""
    head, *body = cells(table)
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
