"""driftwise lab table: what the results say, in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from driftwise.cli import failure, show
from driftwise.cli.command import Answer, answered
from driftwise.errors import NotFoundError
from driftwise.text import counted, duration

if TYPE_CHECKING:
    from driftwise.lab.results import Results
    from driftwise.lab.statistics import Interval
    from driftwise.lab.tables import CaseTable, Contest, Line, Overall, Ranking

Placed = TypeVar("Placed", "CaseTable", "Contest")

HEADER = ("policy", "regret", "95% interval", "≤ 5%", "back", "slope", "per step")
CONTESTS = ("case", "seeds", "regret", "best of the others", "ratio")
STANDINGS = ("policy", "mean ratio", "worst", "on", "best or level", "cases")


@answered
def table(
    folder: Annotated[Path, typer.Argument(help="A folder of results, made by: driftwise lab run")] = Path("results"),
    suite: Annotated[str, typer.Option(help="Only the suites whose name is like this.")] = "*",
    case: Annotated[str, typer.Option(help="Only the cases whose name is like this: 'abrupt*', 'deng/abrupt'.")] = "*",
    brief: Annotated[bool, typer.Option("--brief", help="Only the standings over each suite.")] = False,
    of: Annotated[
        str | None, typer.Option(help="Policies like this, 'auto*', beside the best of all the others, case by case.")
    ] = None,
) -> Answer:
    """Print the tables of a results folder: a table a case, and the standings over each suite.

    ★ has the least mean regret; ○ is not significantly worse (Wilcoxon on common seeds, Holm's correction, 5%).
    "≤ 5%" is the share of steps within 5% of the optimum, "back" the median number of steps after an abrupt change
    until regret is what it was, "slope" that of ln R(t) against ln t, "per step" the time the policy takes. A ratio is
    mean regret over the best policy's on the same case; with --of, over the best of those that are not like it, with
    its interval, for which the best is picked anew whenever a seed is left out. docs/lab.md has the definitions.
    """
    from driftwise.lab.results import failures, read

    results, failed = read(folder), len(failures(folder))
    shown = Shown(folder, suite, case, brief)
    made, lines = _of_all(results, shown) if of is None else _one_beside_others(results, shown, of)
    return made | {"failed": failed}, _and_failures(lines, failed, folder)


def _and_failures(lines: Iterable[Any], failed: int, folder: Path) -> Iterator[Any]:
    yield from lines
    if failed:
        are = "is" if failed == 1 else "are"
        failure.tell(f"{counted(failed, 'run')} failed and {are} in no table: driftwise lab failures {folder} says why")


@dataclass(frozen=True)
class Shown:
    """What of a folder is shown."""

    folder: Path
    suite: str
    case: str
    brief: bool

    def of(self, things: Iterable[Placed]) -> dict[str, list[Placed]]:
        """Those whose place has names like these, by suite."""
        from driftwise.lab.cases import like

        chosen = [t for t in things if fnmatchcase(t.place[0], self.suite) and like(self.case, *t.place[:2])]
        return {name: list(group) for name, group in groupby(chosen, key=lambda t: t.place[0])}


def _of_all(results: Results, shown: Shown) -> tuple[dict[str, Any], list[Any]]:
    from driftwise.lab.statistics import INTERVAL
    from driftwise.lab.tables import case_tables, cautions, standings

    suites = shown.of(case_tables(results))
    if not suites:
        raise NotFoundError(f"no case in {shown.folder} is called {shown.case!r} in a suite called {shown.suite!r}")
    tables, lines = [t for group in suites.values() for t in group], list[Any]()
    ranked = {name: standings(group) for name, group in suites.items()}
    for name, group in suites.items():
        lines += [*([] if shown.brief else map(_case, group)), _standings(name, ranked[name])]
    lines += [[(each, "dim")] for each in [*([] if shown.brief else [INTERVAL]), *cautions(tables)]]
    cases = [] if shown.brief else [_record(t) for t in tables]
    return {"cases": cases, "suites": {name: [asdict(s) for s in found] for name, found in ranked.items()}}, lines


def _one_beside_others(results: Results, shown: Shown, of: str) -> tuple[dict[str, Any], list[Any]]:
    """How far the policies like `of` are from the best of the others, picked when all is over."""
    from driftwise.lab.statistics import INTERVAL
    from driftwise.lab.tables import contests, overall

    policies = sorted(set(results.policy.tolist()))
    chosen = [policy for policy in policies if fnmatchcase(policy, of)]
    if not chosen:
        raise NotFoundError(f"no policy in {shown.folder} is called {of!r}; there are {', '.join(policies)}")
    suites = shown.of(contests(results, chosen))
    if not suites:
        said = f"no case in {shown.folder} has policies like {of!r} and others beside them"
        raise NotFoundError(f"{said}, on the same seeds")
    ranked = {name: overall(group) for name, group in suites.items()}
    lines = [
        show.table(f"{name}: {o.policy} beside the best of the others", CONTESTS, _beside(o, group, brief=shown.brief))
        for name, group in suites.items()
        for o in ranked[name]
    ]
    cases = [] if shown.brief else [_contest(c) for group in suites.values() for c in group]
    record = {"cases": cases, "suites": {name: [asdict(o) for o in found] for name, found in ranked.items()}}
    return record, [*lines, [(INTERVAL, "dim")]]


def _beside(o: Overall, group: Sequence[Contest], *, brief: bool) -> list[tuple[str, ...]]:
    each = [
        (c.place[1], str(c.seeds), f"{c.regret:.4g}", c.rival, _between(c.ratio.interval))
        for c in group
        if c.policy == o.policy and not brief
    ]
    return [*each, ("on average", "", "", "", _between(o.mean)), ("at worst", "", "", o.worst_case, _between(o.worst))]


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
