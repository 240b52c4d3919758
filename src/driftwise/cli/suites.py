"""driftwise suites: the benchmarks that the lab can run, each with its citation and exact definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from driftwise.cli import show
from driftwise.cli.command import Answer, answered

if TYPE_CHECKING:
    from driftwise.lab.cases import Suite

SHOWN = 12  # cases of each suite in the list of all
SUITE = ("citation", "definition", "choices")  # what is said of a suite, and for scripts of a case
CASE = ("name", "horizon", "seeds", "definition", "tags")
HEADER = ("case", "T", "seeds", "what it is")


@answered
def suites(
    name: Annotated[str | None, typer.Argument(help="One suite, with all its cases.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The sizes at a tenth, as lab run --quick has them.")] = False,
) -> Answer:
    """List the suites of the lab, with their source, exact definition, what we chose, sizes and cases.

    Run one with: driftwise lab run --suite NAME
    """
    from driftwise.lab.suites import SUITES, suite

    found = [suite(name)] if name is not None else list(SUITES.values())
    found = [s.quick() for s in found] if quick else found
    return {"suites": [_record(s) for s in found]}, (_shown(s, SHOWN if name is None else len(s.cases)) for s in found)


def _record(suite: Suite) -> dict[str, Any]:
    cases = [{each: getattr(case, each) for each in CASE} for case in suite.cases]
    return {each: getattr(suite, each) for each in ("name", *SUITE)} | {"cases": cases}


def _shown(suite: Suite, most: int) -> Group:
    parts: list[RenderableType] = [Text(suite.name, style="bold")]
    parts += [Padding(Text.assemble((f"{each}: ", "dim"), getattr(suite, each)), (0, 0, 0, 2)) for each in SUITE]
    rows = [(case.name, str(case.horizon), str(case.seeds), case.definition) for case in suite.cases[:most]]
    parts.append(Padding(show.table("", HEADER, rows, words=(0, 3)), (0, 0, 0, 2)))
    if len(suite.cases) > most:
        more = f"… and {len(suite.cases) - most} more: driftwise suites {suite.name}"
        parts.append(Padding(Text(more, style="dim"), (0, 0, 1, 2)))
    return Group(*parts)
