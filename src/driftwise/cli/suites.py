"""driftwise suites: the benchmarks that the lab can run, each with its citation and exact definition."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from driftwise.cli import show

SHOWN = 12  # cases of each suite in the list of all


def suites(
    name: Annotated[str | None, typer.Argument(help="One suite, with all its cases.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The sizes at a tenth, as lab run --quick has them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """List the suites of the lab, with their source, exact definition, what we chose, sizes and cases.

    Run one with: driftwise lab run --suite NAME
    """
    from driftwise.lab.suites import SUITES, suite

    found = [suite(name)] if name is not None else list(SUITES.values())
    found = [s.quick() for s in found] if quick else found
    if as_json:
        show.as_json({"suites": [_record(s) for s in found]})
        return
    for s in found:
        _print(_record(s), shown=SHOWN if name is None else len(s.cases))


def _record(suite: Any) -> dict[str, Any]:
    cases = [
        {
            "name": case.name,
            "horizon": case.horizon,
            "seeds": case.seeds,
            "definition": case.definition,
            "tags": list(case.tags),
        }
        for case in suite.cases
    ]
    return {
        "name": suite.name,
        "citation": suite.citation,
        "definition": suite.definition,
        "choices": suite.choices,
        "cases": cases,
    }


def _print(suite: dict[str, Any], *, shown: int) -> None:
    console = show.out()
    console.print(Text(suite["name"], style="bold"))
    for label in ("citation", "definition", "choices"):
        console.print(Padding(Text.assemble((f"{label}: ", "dim"), suite[label]), (0, 0, 0, 2)))
    console.print(Padding(_table(suite["cases"][:shown]), (0, 0, 0, 2)))
    if len(suite["cases"]) > shown:
        more = f"… and {len(suite['cases']) - shown} more: driftwise suites {suite['name']}"
        console.print(Padding(Text(more, style="dim"), (0, 0, 1, 2)))


def _table(cases: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, figure in (("case", False), ("T", True), ("seeds", True), ("what it is", False)):
        table.add_column(heading, justify="right" if figure else "left", no_wrap=heading != "what it is")
    for case in cases:
        table.add_row(*map(Text, (case["name"], str(case["horizon"]), str(case["seeds"]), case["definition"])))
    return table
