"""The command line's table of contents."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from driftwise.cli import compare, demo, lab, lists, study, suites, theory
from driftwise.cli.failure import EXIT_CODES, Friendly
from driftwise.cli.help_text import reflow

app = typer.Typer(
    cls=Friendly,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
    help="""Find, and keep finding, the best setting of something that changes while you tune it.

    [bold]Start here[/bold]

      driftwise demo                          a minute's tour, with a report
      driftwise study create prices --float price=5:20
      driftwise study ask prices              what to try now
      driftwise study tell prices ID 12.3     what it earned
    """,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"driftwise {version('driftwise')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("demo")(demo.demo)
app.command("compare")(compare.compare)
app.command("theory")(theory.theory)
app.add_typer(study.app, name="study")
app.add_typer(lab.app, name="lab")
app.command("policies")(lists.policies)
app.command("environments")(lists.environments)
app.command("suites")(suites.suites)
reflow(app)
