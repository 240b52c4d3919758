"""driftwise fleet show: all keys of a fleet at once, in a table and on a page."""

from __future__ import annotations

import csv
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import files, show
from driftwise.cli.fleet_create import HOME, FleetName, FleetPath
from driftwise.cli.options import Json
from driftwise.errors import InvalidInput
from driftwise.fleet import Fleet
from driftwise.fleet.overview import HEADER, overview
from driftwise.text import counted, visible


def show_fleet(
    name: FleetName,
    path: FleetPath = HOME,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page with pictures: an .html file.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="How many keys that stand out are listed.")] = 5,
    regret: Annotated[
        Path | None, typer.Option(help="A CSV with the columns key and regret, where you know what keys lost.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how the figures of a fleet are distributed over its keys, and which keys stand out.

    The spread of surprises is 1 where rewards are as the belief expects them. An alarm is raised when the rewards of a
    key were so surprising that its world must have changed. Keys stand out by their regret if it is given, or else by
    their alarms.

    [bold]Examples[/bold]

      driftwise fleet show prices

      driftwise fleet show prices --out prices.html --worst 20
    """
    if out is not None and out.suffix != ".html":
        raise InvalidInput(f"the page is an .html file, got {str(out)!r}; give --out {name}.html")
    with Fleet.open(name, path=path) as fleet:
        view = overview(fleet, None if regret is None else _known(regret))
    if out is not None:
        from driftwise.fleet.page import fleet_page

        files.write(out, fleet_page(view, version=version("driftwise")))
    if as_json:
        listed = [dict(zip(view.worst_header, row, strict=True)) for row in view.worst(worst)]
        figures = {row[0]: dict(zip(HEADER[1:], map(float, row[1:]), strict=True)) for row in view.quantiles()}
        show.as_json({"keys": len(view.movement.keys), "figures": figures, "worst": listed})
        return
    show.say("The fleet ", (name, "bold"), f" has {counted(len(view.movement.keys), 'key')}: {view.description}.")
    if view.figures:
        show.out().print(show.table("Over all keys", HEADER, view.quantiles()))
    if rows := view.worst(worst):
        show.out().print(show.table("Keys that stand out", view.worst_header, rows))
    if out is not None:
        show.say("The page is ", (visible(str(out)), "bold"), ".")


def _known(path: Path) -> dict[str | int, float]:
    """What a CSV says of the regret of keys. A key that looks like a whole number may be one."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    found: dict[str | int, float] = {}
    for number, row in enumerate(rows, start=2):
        try:
            key, value = row["key"], float(row["regret"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{path}, row {number}: a row must have a key and a regret, got {row!r:.80}") from None
        found[key] = value
        if key.lstrip("-").isdecimal():
            found[int(key)] = value
    return found
