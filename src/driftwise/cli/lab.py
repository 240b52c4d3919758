"""driftwise lab: experiments. One file a command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import lab_report, lab_run, lab_table, lab_theory, show
from driftwise.cli.options import Json
from driftwise.text import visible

Results = Annotated[Path, typer.Argument(help="A folder of results, made by: driftwise lab run")]

app = typer.Typer(
    no_args_is_help=True, help="Experiments: policies on suites of changing worlds.", rich_markup_mode="rich"
)
app.command("run")(lab_run.run)
app.command("report")(lab_report.report)
app.command("table")(lab_table.table)
app.command("theory")(lab_theory.theory)


@app.command()
def failures(folder: Results = Path("results"), as_json: Json = False) -> None:
    """List the runs that failed, and why. The same `lab run` tries them again."""
    from driftwise.lab import results

    found = results.failures(folder)
    if as_json:
        show.as_json({"failures": found})
        return
    for key, problem in found.items():
        show.say((key, "bold"), f": {visible(problem)}")


@app.command()
def export(folder: Results = Path("results")) -> None:
    """Print every result as a line of JSON, in the order of their names.

    The lines are a function of the runs alone, and can be compared byte by byte.
    """
    from driftwise.lab import results

    for result, _ in results.pairs(folder):
        sys.stdout.write(results.line(result).decode())
