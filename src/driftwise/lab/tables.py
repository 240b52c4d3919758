"""The tables of a results folder, as rows of figures: views print them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise.lab import statistics
from driftwise.lab.results import Results
from driftwise.lab.statistics import Interval, interval
from driftwise.lab.trials import checkpoints
from driftwise.policies.registry import ORACLE
from driftwise.records import Array

EARLY = 0.1  # of the horizon: a curve's exponent is measured after it

Place = tuple[str, str, int]  # suite, case, horizon


@dataclass(frozen=True)
class Line:
    """One policy on one case, over the seeds that all policies of the case have run."""

    policy: str
    regret: Interval  # R(T)
    winner: bool
    level_with: bool  # not significantly worse than the winner; the winner itself is
    p: float  # against the winner, Holm-adjusted
    integrated: float
    within: Array  # (3,): shares within 1, 5 and 10%
    recovery: float | None  # the median over changes and seeds, ∞ where most never are; None: nothing changes abruptly
    exponent: float  # of the mean R(t) in t, from a tenth of the horizon on; NaN where it cannot be measured
    restarts: float
    seconds: float  # a step


@dataclass(frozen=True)
class CaseTable:
    """One case: its policies, best first."""

    place: Place
    seeds: int
    variation: float  # P_T, averaged; NaN where it is not known
    lines: tuple[Line, ...]


def case_tables(results: Results) -> Iterator[CaseTable]:
    """One table a case and horizon, in order."""
    for place in results.cells:
        policies, rows = results.common(place)
        if not len(rows):
            continue
        judged = statistics.verdict(results.regret[rows])
        lines = [_line(results, place, p, rows[:, j], judged, j) for j, p in enumerate(policies)]
        variation = float(np.mean(results.variation[rows[:, 0]]))
        yield CaseTable(place, len(rows), variation, tuple(sorted(lines, key=lambda line: float(line.regret.mean))))


def _line(
    results: Results, place: Place, policy: str, rows: NDArray[np.int64], judged: statistics.Verdict, j: int
) -> Line:
    seconds = results.seconds[rows]
    return Line(
        policy=policy,
        regret=interval(results.regret[rows]),
        winner=j == judged.winner,
        level_with=bool(judged.level_with[j]),
        p=float(judged.p[j]),
        integrated=float(results.integrated[rows].mean()),
        within=results.within[rows].mean(axis=0),
        recovery=median_recovery([steps for i in rows for steps in results.recovery[i]]),
        exponent=exponent(results.curves(rows).mean(axis=0), place[2]),
        restarts=float(np.mean(results.restarts[rows])),
        seconds=float(np.mean(seconds[~np.isnan(seconds)])) if not np.isnan(seconds).all() else float("nan"),
    )


def median_recovery(steps: list[int | None]) -> float | None:
    """The lower median, where None (never back) counts as ∞.

    >>> median_recovery([3, None, 5]), median_recovery([None, None, 5]), median_recovery([])
    (5.0, inf, None)
    """
    ordered = sorted(float("inf") if n is None else float(n) for n in steps)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def exponent(curve: Array, horizon: int) -> float:
    """The slope of ln R(t) against ln t, t > T/10. For R(T) of several horizons use `statistics.loglog_slope`."""
    steps = np.array(checkpoints(horizon))
    late = (steps > EARLY * horizon) & (curve > 0)
    return statistics.loglog_slope(steps[late], curve[late]).slope if late.sum() >= 2 else float("nan")


def cautions(tables: Sequence[CaseTable]) -> list[str]:
    """What to mind: that the oracle is a reference, and where too few seeds can show no difference."""
    few: dict[int, int] = {}
    for table in tables:
        policies = len(table.lines)
        if policies > 1 and table.seeds < statistics.fewest_seeds(policies):
            few[policies] = few.get(policies, 0) + 1
    told = any(line.policy.startswith(f"{ORACLE}:") for table in tables for line in table.lines)
    reference = [f"{ORACLE} is a reference: it is told what the world truly is, and is no policy for a live system."]
    return (reference if told else []) + [
        f"Too few seeds on {cases} of {len(tables)} cases: with {policies} policies no difference can be significant "
        f"on fewer than {statistics.fewest_seeds(policies)} seeds, so that all of them count as level there."
        for policies, cases in sorted(few.items())
    ]


@dataclass(frozen=True)
class Ranking:
    """One policy over a suite: mean regret over the best policy's, case by case; NaN on cases it has not run."""

    policy: str
    cases: int
    mean: float
    worst: float
    worst_case: str
    wins: int  # cases where it is the winner or level with it


def standings(tables: list[CaseTable]) -> list[Ranking]:
    """The policies of one suite by their mean ratio to the best in hindsight; those that miss a case come last."""
    policies = sorted({line.policy for table in tables for line in table.lines})
    found = [{line.policy: line for line in table.lines} for table in tables]
    means = np.array([[float(row[p].regret.mean) if p in row else np.nan for p in policies] for row in found])
    ratios = statistics.ratio_to_best(means)  # (cases, policies)
    made = []
    for j, policy in enumerate(policies):
        run = np.flatnonzero(~np.isnan(ratios[:, j]))
        worst = int(run[np.argmax(ratios[run, j])])
        wins = sum(row[policy].level_with for row in found if policy in row)
        made.append(
            Ranking(
                policy, len(run), float(ratios[run, j].mean()), float(ratios[worst, j]), tables[worst].place[1], wins
            )
        )
    return sorted(made, key=lambda s: (-s.cases, s.mean))


@dataclass(frozen=True)
class Contest:
    """One policy on one case, beside the best of those that it is compared with."""

    place: Place
    seeds: int
    policy: str
    regret: float
    rival: str
    rival_regret: float
    ratio: statistics.Hindsight


@dataclass(frozen=True)
class Overall:
    """One policy over a suite, beside the best of the others of each case in hindsight."""

    policy: str
    cases: int
    seeds: int  # of the case that has the fewest
    mean: Interval
    worst: Interval
    worst_case: str


def contests(results: Results, policies: Collection[str]) -> Iterator[Contest]:
    """Each of `policies` on each case, beside the best of all that are not among them, over their common seeds."""
    for place in results.cells:
        run, rows = results.common(place)
        others = [j for j, policy in enumerate(run) if policy not in policies]
        if not len(rows) or not others:
            continue
        regret = results.regret[rows]
        for j in (j for j, policy in enumerate(run) if policy in policies):
            found = statistics.hindsight(regret[:, j], regret[:, others])
            best, means = others[found.best], regret.mean(axis=0).tolist()
            yield Contest(place, len(rows), run[j], means[j], run[best], means[best], found)


def overall(found: list[Contest]) -> list[Overall]:
    """The contests of one suite by policy, by their mean ratio. A seed of one case has no part in another."""
    made = []
    for policy in dict.fromkeys(contest.policy for contest in found):
        own = [contest for contest in found if contest.policy == policy]
        ratios = np.array([c.ratio.ratio for c in own])
        mean, worst = (_over_cases(ratios, own, figure) for figure in (np.mean, np.max))
        fewest = min(contest.seeds for contest in own)
        made.append(Overall(policy, len(own), fewest, mean, worst, own[int(np.argmax(ratios))].place[1]))
    return sorted(made, key=lambda o: float(o.mean.mean))


def _over_cases(ratios: Array, own: list[Contest], figure: Callable[..., Array]) -> Interval:
    """A figure of the ratios of all cases, and what it is without each seed of each case in turn."""
    without = []
    for place, contest in enumerate(own):
        table = np.tile(ratios, (len(contest.ratio.without), 1))
        table[:, place] = contest.ratio.without
        without.append(figure(table, axis=1))
    return statistics.jackknife(figure(ratios), without)
