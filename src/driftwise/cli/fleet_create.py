"""driftwise fleet create: what defines a fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwise.cli import arms, files, parse, show
from driftwise.cli.options import Arms, ArmsFrom, Choices, Floats, Ints, Json
from driftwise.cli.ordered import in_order
from driftwise.fleet import Fleet
from driftwise.log import without_password
from driftwise.text import visible

HOME = "fleets"
FleetName = Annotated[str, typer.Argument(help="The name of the fleet.", show_default=False)]
FleetPath = Annotated[
    str,
    typer.Option(
        "--path",
        envvar="DRIFTWISE_FLEETS",
        callback=files.store_at_home,
        metavar="PATH",
        help="The folder that holds the fleet, or the address of a PostgreSQL.",
    ),
]


def create(
    context: typer.Context,
    name: FleetName,
    floats: Floats = None,
    ints: Ints = None,
    choices: Choices = None,
    arms_listed: Arms = None,
    arms_from: ArmsFrom = None,
    policy: Annotated[
        str, typer.Option(help="NAME or NAME:OPTION=VALUE,… The command `driftwise policies` lists them.")
    ] = "sw-gp-ucb:window=64",
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower rewards are better.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of policies that draw random numbers.")] = 0,
    patience: Annotated[int, typer.Option(help="Newer suggestions after which one without a reward is given up.")] = 32,
    engine: Annotated[
        str | None, typer.Option(help="numpy, compiled or gpu.", show_default="the fastest of the processor's")
    ] = None,
    shards: Annotated[int, typer.Option(help="Parts with a journal each. It cannot be changed later.")] = 1,
    together: Annotated[
        bool, typer.Option("--together", help="New keys begin with what others learned. For auto-lean.")
    ] = False,
    path: FleetPath = HOME,
    as_json: Json = False,
) -> None:
    """Create a fleet: the settings and the policy that all of its keys have.

    Give the settings as for `driftwise study create`. Keys need not be listed: a key appears when it is first asked.

    [bold]Examples[/bold]

      driftwise fleet create prices --int price=5:20 --policy sw-gp-ucb:window=64 --shards 4

      driftwise fleet create bids --float bid=0.1:5 --float cap=10:1000

      driftwise fleet create banners --arms red,green,blue --policy r-gp-ucb:interval=200
    """
    parameters = tuple(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    named = arms_listed is not None or arms_from is not None
    space = arms.space(None if named and not parameters else parse.space(parameters), arms_listed, arms_from)
    chosen = parse.policy(policy)
    with parse.making(policy):
        made = Fleet(
            name, space, (chosen.name, dict(chosen.options)), path=path, engine=engine, shards=shards, seed=seed,
            direction="minimize" if minimize else "maximize", patience=patience, together=together,
        )  # fmt: skip
    made.close()
    n = len(made.definition.points)
    if as_json:
        show.as_json({"name": name, "policy": chosen.name, "engine": made.engine, "candidates": n, "shards": shards})
        return
    show.say("The fleet ", (name, "bold"), f" is in {visible(without_password(path))}.")
    where = f"It chooses from {made.definition.where}; its engine is {made.engine}."
    show.say(f"{where} Next: driftwise fleet run {visible(name)}")
