"""The pictures and CSV files beside the page of a results folder, each picture with its data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftwise.lab.digest import CaseView, Digest, SuiteView
from driftwise.lab.run_view import RunView
from driftwise.plots.beliefs import Panel, belief_over_time
from driftwise.plots.cases import Regret, case_curves, cost_against_regret, heat_map
from driftwise.plots.dots import Dot, DotPanel, dots
from driftwise.plots.style import papers
from driftwise.report.parts import Data, Picture, picture_files

SHOWN = 8  # policies named on a regret picture: the best ones


def files(digest: Digest, inside: list[RunView], *, dark: bool = False) -> Iterator[tuple[str, bytes]]:
    """Every file beside the page, as it is made: name and content."""
    for data in (cases_data(digest), curves_data(digest)):
        yield f"{data.name}.csv", data.csv().encode()
    for picture in every(digest, inside):
        yield f"{picture.data.name}.csv", picture.data.csv().encode()
        yield from picture_files(picture, dark=dark).items()


def count(digest: Digest, inside: list[RunView], *, dark: bool = False) -> int:
    """How many files there will be."""
    return 2 + (1 + 2 * len(papers(dark))) * len(list(every(digest, inside)))


def every(digest: Digest, inside: list[RunView]) -> Iterator[Picture]:
    for suite in digest.suites:
        yield heat(suite)
        for view in suite.cases:
            yield regret(view, digest.index)
    yield from exponents(digest)
    yield from costs(digest)
    yield from map(belief, inside)


# --- data ------------------------------------------------------------------------------------------------------------


def cases_data(digest: Digest) -> Data:
    """A row for each policy on each case: the summary table."""
    header = (
        *("suite", "case", "horizon", "seeds", "variation", "policy", "regret", "low", "high", "winner"),
        *("not_significantly_worse", "p_holm", "integrated", "within_1", "within_5", "within_10", "recovery"),
        *("exponent", "restarts", "seconds_a_step"),
    )
    rows = [
        (
            *(*view.place, view.table.seeds, view.table.variation, line.policy),
            *(float(line.regret.mean), float(line.regret.low), float(line.regret.high), line.winner, line.level_with),
            *(line.p, line.integrated, *map(float, line.within)),
            *("" if line.recovery is None else line.recovery, line.exponent, line.restarts, line.seconds),
        )
        for suite in digest.suites
        for view in suite.cases
        for line in view.table.lines
    ]
    return Data("cases", header, rows)


def curves_data(digest: Digest) -> Data:
    """Every curve at the points that are drawn."""
    rows = [row for suite in digest.suites for view in suite.cases for row in _curve_rows(view, prefix=view.place)]
    return Data("curves", ("suite", "case", "horizon", "policy", "t", "mean", "low", "high"), rows)


def _curve_rows(view: CaseView, prefix: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    for line, c in zip(view.table.lines, view.curves, strict=True):
        for i, t in enumerate(view.steps.tolist()):
            yield (*prefix, line.policy, t, float(c.mean[i]), float(c.low[i]), float(c.high[i]))


# --- pictures --------------------------------------------------------------------------------------------------------


def regret(view: CaseView, index: dict[str, int]) -> Picture:
    """R(t) of the best policies of a case."""
    curves = [
        Regret(line.policy, index[line.policy], c.mean, *c.band())
        for line, c in list(zip(view.table.lines, view.curves, strict=True))[:SHOWN]
    ]
    steps, title = view.steps.astype(float), f"{view.place[0]}/{view.place[1]}"
    name = case_name(view)
    return Picture(
        name,
        lambda theme: case_curves(steps, curves, title=title, changes=view.changes, theme=theme),
        f"Mean cumulative regret on {title} with 95% bands.",
        Data(name, ("policy", "t", "mean", "low", "high"), list(_curve_rows(view))),
    )


def heat(suite: SuiteView) -> Picture:
    cases = [view.place[1] for view in suite.cases]
    name = safe_name(f"heat-{suite.name}")
    return Picture(
        name,
        lambda theme: heat_map(
            suite.ratios, policies=suite.policies, cases=cases, title=f"{suite.name}: regret ÷ best", theme=theme
        ),
        f"{suite.name}: mean regret over the best policy's.",
        Data(
            name, ("policy", *cases), [(p, *row.tolist()) for p, row in zip(suite.policies, suite.ratios, strict=True)]
        ),
    )


def exponents(digest: Digest) -> Iterator[Picture]:
    """A picture a suite: slopes within runs, and between cases where there are enough."""
    index = digest.index
    for suite in digest.suites:
        found = {
            p: [(view.place[1], line.exponent) for view in suite.cases for line in view.table.lines if line.policy == p]
            for p in suite.policies
        }
        known = {p: [(case, e) for case, e in pairs if math.isfinite(e)] for p, pairs in found.items()}
        rows = [(p, [Dot(e, colour=index[p]) for _, e in pairs]) for p, pairs in known.items() if pairs]
        if not rows:
            continue
        panels = [DotPanel("ln R(t) against ln t", rows, 1.0, "1")]
        for of, among in dict.fromkeys((g.of, g.among) for g in suite.growth):
            grown = [g for g in suite.growth if (g.of, g.among) == (of, among)]
            beside = [
                (g.policy, [Dot(g.slope.slope, *_twice(g.slope.slope, g.slope.error), colour=index[g.policy])])
                for g in grown
            ]
            reference = (0.25, "1/4") if of == "P_T" else (0.75, "3/4")
            panels.append(DotPanel(f"ln R against ln {of}, {among}", beside, *reference))
        data: list[tuple[Any, ...]] = [("t", case, p, e, "", "") for p, pairs in known.items() for case, e in pairs]
        data += [(g.of, g.among, g.policy, g.slope.slope, g.slope.error, g.slope.points) for g in suite.growth]
        name = safe_name(f"exponents-{suite.name}")
        yield Picture(
            name,
            lambda theme, panels=panels: dots(panels[:3], theme=theme, in_line=True),  # type: ignore[misc]
            f"{suite.name}: exponents of regret. Dashed: growth as it began (1); the theorems' powers of P_T and T.",
            Data(name, ("of", "among", "policy", "slope", "standard_error", "points"), data),
        )


def _twice(slope: float, error: float) -> tuple[float, float]:
    return (slope - 1.96 * error, slope + 1.96 * error) if math.isfinite(error) else (math.nan, math.nan)


def costs(digest: Digest) -> Iterator[Picture]:
    """A picture a suite: seconds a step against regret, in units of the best where there are several cases."""
    index = digest.index
    for suite in digest.suites:
        several = len(suite.cases) > 1
        regret = [_typical(row, suite) for row in suite.ratios]
        points = [
            (p, index[p], float(s), r)
            for p, s, r in zip(suite.policies, suite.seconds, regret, strict=True)
            if s > 0 and math.isfinite(r)
        ]
        if not points:
            continue
        y = "mean regret ÷ the best policy's" if several else "mean regret per step"
        name = safe_name(f"cost-{suite.name}")
        yield Picture(
            name,
            lambda theme, points=points, y=y: cost_against_regret(points, y=y, theme=theme),  # type: ignore[misc]
            f"{suite.name}: the time a policy takes for a step, and {y}.",
            Data(name, ("policy", "seconds_a_step", "regret"), [(p, s, r) for p, _, s, r in points]),
        )


def _typical(ratios: np.ndarray, suite: SuiteView) -> float:
    """The mean ratio of several cases, or the mean regret a step of one."""
    if len(suite.cases) > 1:
        known = ratios[~np.isnan(ratios)]
        return float(known.mean()) if len(known) else math.nan
    view = suite.cases[0]
    return float(ratios[0] * view.winner.regret.mean / view.place[2])


def belief(inside: RunView) -> Picture:
    """The truth, and what a policy believed."""
    run, seen = inside.wanted, inside.trace
    panels = [Panel("The truth", inside.truth), Panel.of(run.policy, seen)]
    name = safe_name(f"belief-{run.label}")
    note = "" if inside.same else " Its regret is not the one in the folder: other versions made that."
    asked = [
        (t + 1, float(seen.asked[t, 0]), float(inside.best[t]), float(seen.regret[t])) for t in range(len(inside.best))
    ]
    return Picture(
        name,
        lambda theme: belief_over_time(panels, candidates=inside.candidates, best=inside.best, theme=theme),
        f"{run.suite}/{run.case}, seed {run.seed}, regret {seen.regret.sum():.4g}.{note}",
        Data(name, ("t", "asked", "optimum", "regret"), asked),
    )


# --- words -----------------------------------------------------------------------------------------------------------


def case_name(view: CaseView) -> str:
    """A case's pictures."""
    suite, case, horizon = view.place
    return safe_name(f"regret-{suite}-{case}-T{horizon}")


def safe_name(name: str) -> str:
    """A name that every file system takes.

    >>> safe_name("belief-sw-gp-ucb:window=50@deng/abrupt#3")
    'belief-sw-gp-ucb-window-50-deng-abrupt-3'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:120]


def ratio(value: float) -> str:
    """As in a heat map.

    >>> ratio(1.234), ratio(120.0), ratio(math.inf)
    ('1.23', '120', '∞')
    """
    return "∞" if math.isinf(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"
