"""driftwise lab: experiments. One file a command."""

from __future__ import annotations

import typer

from driftwise.cli import lab_report, lab_run, lab_table, lab_theory

app = typer.Typer(
    no_args_is_help=True, help="Experiments: policies on suites of changing worlds.", rich_markup_mode="rich"
)
app.command("run")(lab_run.run)
app.command("report")(lab_report.report)
app.command("table")(lab_table.table)
app.command("theory")(lab_theory.theory)
