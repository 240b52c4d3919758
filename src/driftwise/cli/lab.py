"""driftwise lab: experiments. One file a command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import lab_report, lab_run, lab_table, lab_theory
from driftwise.cli.command import Answer, answered
from driftwise.cli.failure import group
from driftwise.text import visible

Results = Annotated[Path, typer.Argument(help="A folder of results, made by: driftwise lab run")]

app = group("Experiments: policies on suites of changing worlds.")
app.command("run")(lab_run.run)
app.command("report")(lab_report.report)
app.command("table")(lab_table.table)
app.command("theory")(lab_theory.theory)


@app.command()
@answered
def failures(folder: Results = Path("results")) -> Answer:
    """List the runs that failed, and why. The same `lab run` tries them again."""
    from driftwise.lab import results

    found = results.failures(folder)
    return {"failures": found}, [[(key, "bold"), f": {visible(problem)}"] for key, problem in found.items()]


@app.command()
def export(folder: Results = Path("results")) -> None:
    """Print every result as a line of JSON, in the order of their names.

    The lines are a function of the runs alone, and can be compared byte by byte.
    """
    from driftwise.lab import results

    for result, _ in results.pairs(folder):
        sys.stdout.write(results.line(result).decode())
