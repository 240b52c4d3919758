"""driftwise suites: the benchmarks that the lab can run, each with its citation and exact definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from driftwise.cli import show
from driftwise.cli.options import Json

if TYPE_CHECKING:
    from driftwise.lab.cases import Suite

SHOWN = 12  # cases of each suite in the list of all
SUITE = ("citation", "definition", "choices")  # what is said of a suite, and for scripts of a case
CASE = ("name", "horizon", "seeds", "definition", "tags")
HEADER = ("case", "T", "seeds", "what it is")


def suites(
    name: Annotated[str | None, typer.Argument(help="One suite, with all its cases.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The sizes at a tenth, as lab run --quick has them.")] = False,
    as_json: Json = False,
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
        _print(s, shown=SHOWN if name is None else len(s.cases))


def _record(suite: Suite) -> dict[str, Any]:
    cases = [{each: getattr(case, each) for each in CASE} for case in suite.cases]
    return {each: getattr(suite, each) for each in ("name", *SUITE)} | {"cases": cases}


def _print(suite: Suite, *, shown: int) -> None:
    console = show.out()
    console.print(Text(suite.name, style="bold"))
    for label in SUITE:
        console.print(Padding(Text.assemble((f"{label}: ", "dim"), getattr(suite, label)), (0, 0, 0, 2)))
    rows = [(case.name, str(case.horizon), str(case.seeds), case.definition) for case in suite.cases[:shown]]
    console.print(Padding(show.table("", HEADER, rows, words=(0, 3)), (0, 0, 0, 2)))
    if len(suite.cases) > shown:
        more = f"… and {len(suite.cases) - shown} more: driftwise suites {suite.name}"
        console.print(Padding(Text(more, style="dim"), (0, 0, 1, 2)))
