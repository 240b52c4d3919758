"""The page that `driftwise lab report` writes of a results folder; `lab/digest.py` computes what it shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numpy as np

from driftwise.lab.digest import CaseView, Digest, SuiteView
from driftwise.lab.run_view import RunView
from driftwise.lab.statistics import INTERVAL
from driftwise.lab.tables import Line, cautions
from driftwise.report import results_pictures as pictures
from driftwise.report.page import Html, address, bullets, data, page, prose, section, table, text
from driftwise.report.parts import Picture, as_figure, links
from driftwise.text import duration

UNIT = 9999  # a curve is kept in whole parts of its case's top

FOLDER = "report_files"


def lab_page(
    digest: Digest,
    *,
    title: str,
    version: str,
    folder: str = FOLDER,
    inside: Sequence[RunView] = (),
    files: bool = True,
) -> str:
    """The page. Without `files` there is nothing beside it to link to."""
    views = [view for suite in digest.suites for view in suite.cases]
    beside = folder if files else ""
    parts = [
        section("In short", bullets(*(_finding(suite) for suite in digest.suites)), *map(_standings, digest.suites)),
        section(
            "Case by case",
            prose(_METHOD, *cautions([view.table for view in views])),
            _winners(views),
            _link(beside, ["cases.csv"]),
        ),
        _explorer(beside),
        section("Ratio to the best", prose(_HEAT), *_heat_maps(digest, beside)),
        section("Exponents", prose(_EXPONENTS), *_drawn(pictures.exponents(digest), beside)),
        section("Cost against regret", prose(_COST), *_drawn(pictures.costs(digest), beside)),
    ]
    if inside:
        parts.append(section("From inside", prose(_INSIDE), *_drawn(map(pictures.belief, inside), beside)))
    parts.append(data("data", payload(digest, folder=beside)))
    return page(
        title,
        _lead(digest, views),
        *parts,
        footer=_footer(digest, version),
        css=_resource("lab.css"),
        script=_resource("lab.js"),
    )


_METHOD = (
    "★ has the least mean regret R(T) over the seeds that all policies of the case have run. Those **not significantly "
    "worse** are within chance of it: Wilcoxon's signed-rank test seed by seed, Holm's correction over the policies, "
    f"level 5%. {INTERVAL} A click shows a case below."
)
_HEAT = (
    "Mean regret over that of the best policy on the same case: 1 is the best in hindsight; the stronger the colour, "
    "the further from it."
)
_EXPONENTS = (
    "How regret grows. Within a run: the slope of ln R(t) against ln t from a tenth of the horizon on, a dot a case; "
    "1 is regret that grows for ever as it began. Between cases of one suite: the slope of ln R(T) against ln P_T at "
    "one horizon, and against ln T where a case was run with several, with its 95% interval; three different values "
    "at least."
)
_COST = (
    "What a step costs and what it loses, over the cases of a suite: left and low is good; the line joins the policies "
    "that no other beats in both. Times are those of the machine that ran them, without the environment."
)
_INSIDE = "Chosen runs, run again: the truth above, and what the policy believed at every step below it."


def _lead(digest: Digest, views: Sequence[CaseView]) -> str:
    seeds = sorted({view.table.seeds for view in views})
    many = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0]) if seeds else "no"
    failed = f" {digest.failed} runs failed and are not in it." if digest.failed else ""
    return (
        f"{digest.trials:,} runs: {len(digest.policies)} policies on {len(views)} cases of "
        f"{', '.join(suite.name for suite in digest.suites)}, {many} seeds each. All policies meet the same worlds and "
        f"the same noise; regret is exact, and lower is better.{failed}"
    )


def _footer(digest: Digest, version: str) -> str:
    made = digest.manifest.get("versions", {})
    by = ", ".join(f"{name} {number}" for name, number in made.items())
    return f"Made by driftwise {version}" + (f"; the results by {by}." if by else ".")


def _finding(suite: SuiteView) -> str:
    """What a suite says, in a sentence."""
    first, n = suite.standings[0], len(suite.cases)
    if n == 1:
        view = suite.cases[0]
        level = [line.policy for line in view.table.lines if line.level_with and not line.winner]
        also = f"; not significantly worse: {', '.join(level)}" if level else "; all others are significantly worse"
        return f"**{suite.name}** ({view.place[1]}): **{view.winner.policy}** has the least regret{also}."
    return (
        f"**{suite.name}**: **{first.policy}** has the least regret on average, {first.mean:.2f} times the best "
        f"policy's of each case ({first.worst:.2f} at worst, on {first.worst_case}). It is the best or not "
        f"significantly worse in {first.wins} of {n} cases."
    )


def _standings(suite: SuiteView) -> Html:
    header = ("policy", "mean ratio", "worst", "on", "best or level", "per step")
    rows = [
        (
            *(s.policy, f"{s.mean:.3g}", f"{s.worst:.3g}", s.worst_case, f"{s.wins} of {s.cases}"),
            duration(float(suite.seconds[i])),
        )
        for i, s in enumerate(suite.standings)
    ]
    caption = f"{suite.name}: regret over the best policy's of each case"
    return _sortable(table(header, rows, best=[0], caption=caption))


def _winners(views: Sequence[CaseView]) -> Html:
    """A row a case: the winner, and what is not significantly worse."""
    head = "".join(f"<th scope=col>{h}</th>" for h in ("case", "T", "seeds", "P_T", "regret"))
    head += "".join(f"<th scope=col class=words>{h}</th>" for h in ("★ winner", "not significantly worse"))
    body = "".join(_winner_row(k, view) for k, view in enumerate(views))
    return Html(
        f'<div class="scroll"><table class="sortable dense" id="winners"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _winner_row(k: int, view: CaseView) -> str:
    suite, case, horizon = view.place
    level = [line.policy for line in view.table.lines if line.level_with and not line.winner]
    variation = f"{view.table.variation:.3g}" if math.isfinite(view.table.variation) else ""
    mean = float(view.winner.regret.mean)
    cells = "".join(
        f'<td data-v="{value}">{shown}</td>'
        for value, shown in (
            (horizon, f"{horizon:,}"),
            (view.table.seeds, view.table.seeds),
            (view.table.variation, variation),
            (mean, f"{mean:.4g}"),
        )
    )
    names = text(", ".join(level)) if level else "–"
    return (
        f'<tr data-case="{k}"><th scope="row">{text(f"{suite}/{case}")}</th>{cells}'
        f'<td class=words><strong>{text(view.winner.policy)}</strong></td><td class="words names">{names}</td></tr>'
    )


def _explorer(folder: str) -> Html:
    """What the script fills."""
    header = ("policy", "regret", "95% interval", "p (Holm)", "R(T)/T", "≤ 5%", "back", "slope", "time per step")
    head = "".join(f'<th scope="col">{h}</th>' for h in header)
    csv = links(folder, ["curves.csv"])
    return Html(
        '<section id="cases"><h2>A case in full</h2>'
        '<div class="bar"><label>Case <select id="pick"></select></label></div>'
        '<figure><div class="picture" id="big"><div id="chart"></div><div id="tip"></div></div>'
        '<div class="chips" id="chips"></div><figcaption><span id="about"></span> Mean cumulative regret with 95% '
        "bands. Point at the chart for figures; a click on a policy hides or shows it. The best eight are shown at "
        f'first. {csv} <span class="files" id="files"></span></figcaption></figure>'
        '<div class="scroll"><table class="sortable dense">'
        f'<thead><tr>{head}</tr></thead><tbody id="lines"></tbody></table></div>'
        "<noscript><p>This part needs JavaScript; the pictures are in the folder beside this page.</p></noscript>"
        '<div class="minis" id="minis"></div></section>'
    )


def _heat_maps(digest: Digest, folder: str) -> Iterator[Html]:
    k = 0
    for suite in digest.suites:
        head = "".join(f"<th scope=col><span>{text(p)}</span></th>" for p in suite.policies)
        rows = ""
        for j, view in enumerate(suite.cases):
            cells = "".join(_heat_cell(float(value), k) for value in suite.ratios[:, j])
            rows += f"<tr><th scope=row>{text(view.place[1])}</th>{cells}</tr>"
            k += 1
        name = pictures.safe_name(f"heat-{suite.name}")
        beside = _link(folder, [f"{name}.{kind}" for kind in ("csv", "png", "svg")])
        yield Html(
            f'<div class="scroll"><table class="heat"><caption>{text(suite.name)}</caption>'
            f"<thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>{beside}"
        )


def _heat_cell(value: float, k: int) -> str:
    if math.isnan(value):
        return "<td></td>"
    shade = min(math.log(max(value, 1.0)) / math.log(10.0), 1.0) * 75
    first = " class=first" if value <= 1 else ""
    return f'<td{first} data-case="{k}" style="--h:{shade:.0f}">{pictures.ratio(value)}</td>'


def _drawn(made: Any, folder: str) -> list[Html]:
    found: list[Picture] = list(made)
    if not found:
        return [prose("There is nothing to show: too few cases, or no times were kept.")]
    return [as_figure(picture, folder=folder) for picture in found]


def _link(folder: str, names: Sequence[str]) -> Html:
    return Html(f"<p>{links(folder, names)}</p>" if folder else "")


def _sortable(made: Html) -> Html:
    return Html(made.replace("<table>", '<table class="sortable dense">', 1))


def _resource(name: str) -> str:
    return resources.files("driftwise.report").joinpath(name).read_text(encoding="utf-8")


# --- what the script draws from --------------------------------------------------------------------------------------


def payload(digest: Digest, *, folder: str) -> dict[str, Any]:
    """The aggregates as JSON: curves in whole 1/9999 of their case's highest value."""
    suites = [
        {"name": suite.name, "cases": [_case(view, digest.index, folder) for view in suite.cases]}
        for suite in digest.suites
    ]
    return {"policies": list(digest.policies), "suites": suites, "folder": address(folder)}


def _case(view: CaseView, index: dict[str, int], folder: str) -> dict[str, Any]:
    drawn = [{"mean": curve.mean, **dict(zip(("low", "high"), curve.band(), strict=True))} for curve in view.curves]
    top = max(float(np.max(curve["high"])) for curve in drawn) or 1.0
    lines = [
        _line(line, index[line.policy])
        | {name: np.rint(values / top * UNIT).astype(int).tolist() for name, values in curve.items()}
        for line, curve in zip(view.table.lines, drawn, strict=True)
    ]
    return {
        "name": view.place[1],
        "T": view.place[2],
        "seeds": view.table.seeds,
        "P": _number(view.table.variation),
        "changes": list(view.changes),
        "steps": view.steps.tolist(),
        "unit": top / UNIT,
        "file": pictures.case_name(view) if folder else "",
        "lines": lines,
    }


def _line(line: Line, p: int) -> dict[str, Any]:
    back = line.recovery
    return {
        "p": p,
        "mark": 2 if line.winner else 1 if line.level_with else 0,
        "R": _number(float(line.regret.mean)),
        "low_R": _number(float(line.regret.low)),
        "high_R": _number(float(line.regret.high)),
        "pv": _number(line.p),
        "within": _number(float(line.within[1])),
        "back": None if back is None else -1 if math.isinf(back) else int(back),
        "slope": _number(line.exponent),
        "sec": _number(line.seconds),
    }


def _number(value: float) -> float | None:
    """To six digits; what is not known is null."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
