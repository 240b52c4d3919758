"""driftwise fleet: many studies at once from the shell. This file is the list of its commands."""

from __future__ import annotations

import typer

from driftwise.cli.failure import EXIT_CODES
from driftwise.cli.fleet_bench import bench
from driftwise.cli.fleet_create import create
from driftwise.cli.fleet_run import run
from driftwise.cli.fleet_show import show_fleet
from driftwise.cli.ordered import Ordered

app = typer.Typer(
    invoke_without_command=True,
    epilog=EXIT_CODES,
    help="""Tune many things at once: one study for each key, over the same settings, in batches.

    A fleet lives in a folder or in a PostgreSQL database. Give it with --path or in the environment variable
    DRIFTWISE_FLEETS; otherwise it is the folder fleets. One process at a time has it open.

    [bold]Example[/bold]

      driftwise fleet create prices --int price=5:20 --policy sw-gp-ucb:window=64

      driftwise fleet run prices < events.jsonl > answers.jsonl

      driftwise fleet show prices --out prices.html
    """,
)


@app.callback()
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command(cls=Ordered)(create)
app.command()(run)
app.command("show")(show_fleet)
app.command()(bench)
