"""driftwise fleet bench: how fast a fleet is here."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwise.cli import show
from driftwise.cli.options import Json
from driftwise.fleet.bench import Pace, Workload, machine, timings


def bench(
    keys: Annotated[int, typer.Option(min=1, help="How many keys are asked and told at once.")] = 512,
    window: Annotated[int, typer.Option(min=1, help="The window of sw-gp-ucb.")] = 64,
    candidates: Annotated[int, typer.Option(min=2, max=2500, help="How many settings there are.")] = 256,
    steps: Annotated[int, typer.Option(min=1, help="How many steps are timed, once the windows are full.")] = 10,
    as_json: Json = False,
) -> None:
    """Measure a fleet on this machine: a loop over studies, each engine, one and two processes, and durable tells.

    A decision is an ask and a tell of one key. Ratios of one run are comparable between machines; rates are not.

    [bold]Example[/bold]

      driftwise fleet bench --keys 1024 --window 64 --candidates 256
    """
    work = Workload(keys, window, candidates, steps)
    done: dict[str, Pace] = {}
    with show.progress("measurements") as progress:
        task = progress.add_task("measuring", total=None)
        for timing in timings(work):
            done[timing.what] = timing
            progress.advance(task)
    ratios = {name: each.rate / done[each.beside].rate for name, each in done.items() if each.beside}
    if as_json:
        listed = [vars(each) | {"ratio": ratios.get(name)} for name, each in done.items()]
        show.as_json({"machine": machine(), "workload": vars(work), "timings": listed})
        return
    rows = [
        (name, f"{each.rate:,.0f}", f"{ratios[name]:.2f} × {each.beside}" if each.beside else "")
        for name, each in done.items()
    ]
    show.out().print(show.table(machine(), ("what", "keys a second", "ratio"), rows, words=(0, 2)))
