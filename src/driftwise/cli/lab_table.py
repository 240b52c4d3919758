"""driftwise lab table: what the results say, in the terminal."""

from __future__ import annotations

import math
from dataclasses import asdict
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftwise.cli import failure, show
from driftwise.cli.options import Json
from driftwise.errors import NotFoundError
from driftwise.text import counted, duration

if TYPE_CHECKING:
    from driftwise.lab.statistics import Interval
    from driftwise.lab.tables import CaseTable, Contest, Line, Ranking

HEADER = ("policy", "regret", "95% interval", "≤ 5%", "back", "slope", "per step")
CONTESTS = ("case", "seeds", "regret", "best of the others", "ratio")
STANDINGS = ("policy", "mean ratio", "worst", "on", "best or level", "cases")


def table(
    folder: Annotated[Path, typer.Argument(help="A folder of results, made by: driftwise lab run")] = Path("results"),
    suite: Annotated[str, typer.Option(help="Only the suites whose name is like this.")] = "*",
    case: Annotated[str, typer.Option(help="Only the cases whose name is like this: 'abrupt*', 'deng/abrupt'.")] = "*",
    brief: Annotated[bool, typer.Option("--brief", help="Only the standings over each suite.")] = False,
    of: Annotated[
        str | None, typer.Option(help="Policies like this, 'auto*', beside the best of all the others, case by case.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the tables of a results folder: a table a case, and the standings over each suite.

    ★ has the least mean regret; ○ is not significantly worse (Wilcoxon on common seeds, Holm's correction, 5%).
    "≤ 5%" is the share of steps within 5% of the optimum, "back" the median number of steps after an abrupt change
    until regret is what it was, "slope" that of ln R(t) against ln t, "per step" the time the policy takes. A ratio is
    mean regret over the best policy's on the same case; with --of, over the best of those that are not like it, with
    its interval, for which the best is picked anew whenever a seed is left out. docs/lab.md has the definitions.
    """
    if of is not None:
        _one_beside_others(folder, suite, case, of, brief=brief, as_json=as_json)
        return
    from driftwise.lab.cases import like
    from driftwise.lab.results import failures, read
    from driftwise.lab.statistics import INTERVAL
    from driftwise.lab.tables import case_tables, cautions, standings

    shown = [t for t in case_tables(read(folder)) if fnmatchcase(t.place[0], suite) and like(case, *t.place[:2])]
    if not shown:
        raise NotFoundError(f"no case in {folder} is called {case!r} in a suite called {suite!r}")
    suites = {name: list(group) for name, group in groupby(shown, key=lambda t: t.place[0])}
    failed = len(failures(folder))
    if as_json:
        cases = [] if brief else [_record(t) for t in shown]
        ranked = {n: [asdict(s) for s in standings(g)] for n, g in suites.items()}
        show.as_json({"cases": cases, "suites": ranked, "failed": failed})
        return
    console = show.out()
    for name, group in suites.items():
        for t in [] if brief else group:
            console.print(_case(t))
        console.print(_standings(name, standings(group)))
    for caution in cautions(shown) if brief else [INTERVAL, *cautions(shown)]:
        show.say((caution, "dim"))
    _tell(failed, folder)


def _tell(failed: int, folder: Path) -> None:
    if failed:
        are = "is" if failed == 1 else "are"
        failure.tell(f"{counted(failed, 'run')} failed and {are} in no table: driftwise lab failures {folder} says why")


def _one_beside_others(folder: Path, suite: str, case: str, of: str, *, brief: bool, as_json: bool) -> None:
    """How far the policies like `of` are from the best of the others, picked when all is over."""
    from driftwise.lab.cases import like
    from driftwise.lab.results import failures, read
    from driftwise.lab.statistics import INTERVAL
    from driftwise.lab.tables import contests, overall

    results = read(folder)
    policies = sorted(set(results.policy.tolist()))
    chosen = [policy for policy in policies if fnmatchcase(policy, of)]
    if not chosen:
        raise NotFoundError(f"no policy in {folder} is called {of!r}; there are {', '.join(policies)}")
    found = [c for c in contests(results, chosen) if fnmatchcase(c.place[0], suite) and like(case, *c.place[:2])]
    if not found:
        raise NotFoundError(f"no case in {folder} has policies like {of!r} and others beside them, on the same seeds")
    suites = {name: list(group) for name, group in groupby(found, key=lambda c: c.place[0])}
    failed = len(failures(folder))
    if as_json:
        cases = [] if brief else [_contest(c) for c in found]
        ranked = {n: [asdict(o) for o in overall(g)] for n, g in suites.items()}
        show.as_json({"cases": cases, "suites": ranked, "failed": failed})
        return
    console = show.out()
    for name, group in suites.items():
        for o in overall(group):
            rows = (
                []
                if brief
                else [
                    (c.place[1], str(c.seeds), f"{c.regret:.4g}", c.rival, _between(c.ratio.interval))
                    for c in group
                    if c.policy == o.policy
                ]
            )
            rows += [
                ("on average", "", "", "", _between(o.mean)),
                ("at worst", "", "", o.worst_case, _between(o.worst)),
            ]
            console.print(show.table(f"{name}: {o.policy} beside the best of the others", CONTESTS, rows))
    show.say((INTERVAL, "dim"))
    _tell(failed, folder)


def _contest(c: Contest) -> dict[str, Any]:
    suite, case, horizon = c.place
    regrets = {"seeds": c.seeds, "policy": c.policy, "regret": c.regret, "best": c.rival, "best_regret": c.rival_regret}
    return {"suite": suite, "case": case, "horizon": horizon, **regrets, "ratio": asdict(c.ratio.interval)}


def _between(ratio: Interval) -> str:
    """Too few seeds have no interval."""
    return f"{ratio.mean:.2f}" + (f" ({ratio.written('.2f', '-')})" if ratio.known else "")


def _case(t: CaseTable) -> Any:
    suite, case, horizon = t.place
    known = f", P_T = {t.variation:.3g}" if math.isfinite(t.variation) else ""
    title = f"{suite}/{case}, T = {horizon}, {counted(t.seeds, 'seed')}{known}"
    winners = [i for i, line in enumerate(t.lines) if line.winner]
    return show.table(title, HEADER, [_row(line) for line in t.lines], best=winners)


def _row(line: Line) -> tuple[str, ...]:
    mark = "★" if line.winner else "○" if line.level_with else ""
    back = "" if line.recovery is None else "never" if math.isinf(line.recovery) else f"{line.recovery:.0f}"
    return (
        f"{mark or ' '} {line.policy}",
        f"{line.regret.mean:.4g}",
        line.regret.written(),
        f"{line.within[1]:.0%}",
        back,
        "" if math.isnan(line.exponent) else f"{line.exponent:.2f}",
        duration(line.seconds),
    )


def _standings(name: str, found: list[Ranking]) -> Any:
    rows = [(s.policy, f"{s.mean:.3g}", f"{s.worst:.3g}", s.worst_case, str(s.wins), str(s.cases)) for s in found]
    return show.table(f"{name}: regret over the best policy's", STANDINGS, rows, best=[0])


def _record(t: CaseTable) -> dict[str, Any]:
    suite, case, horizon = t.place
    place = {"suite": suite, "case": case, "horizon": horizon, "seeds": t.seeds, "variation": t.variation}
    return place | {"policies": [asdict(line) for line in t.lines]}
