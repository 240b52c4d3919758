"""driftwise demo: a tour that takes about a minute."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftwise.cli import files, limits, show
from driftwise.text import counted, visible

if TYPE_CHECKING:
    from driftwise.lab.demo import Scene


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the report and its pictures.")] = Path("report"),
    seeds: Annotated[
        int, typer.Option(min=1, help="The number of worlds of each kind. More of them give narrower intervals.")
    ] = 20,
    horizon: Annotated[int, typer.Option(min=10, help="The number of steps of each run.")] = 500,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="The number of processes, at most four per core. By default one per core.")
    ] = None,
) -> None:
    """See R-GP-UCB and SW-GP-UCB follow a moving optimum that GP-UCB loses.

    The demo runs the two worlds of Deng et al. on many seeds: in one the function changes abruptly, in the other it
    drifts slowly. It prints the cumulative regret of each policy and writes report/demo.html, a single file that any
    browser opens.
    """
    limits.within(seeds=seeds, horizon=horizon)
    from driftwise.lab.engine import cores
    from driftwise.plots.style import LIGHT, blank
    from driftwise.report import demo as report

    blank(1, 1, LIGHT)  # a missing Matplotlib is reported before anything runs
    out.mkdir(parents=True, exist_ok=True)
    began, console = time.perf_counter(), show.out()
    scenes = _run(seeds, horizon, jobs or cores())
    show.say(
        "\n",
        ("Keeping up with a moving optimum", "bold"),
        ("  regret is what a policy lost against the optimum\n", "dim"),
    )
    for scene in scenes:
        cells, best = report.rows(scene)
        heading = f"{report.title(scene)} ({scene.world}, {seeds} seeds)"
        console.print(show.table(heading, report.HEADER[:4], [row[:4] for row in cells], best=best))
    written = _write(scenes, out)
    pictures = counted(len(written) - 1, "picture")
    show.say("The report is ", (visible(str(written[0])), "bold"), f", with {pictures} beside it.")
    show.say((f"This took {time.perf_counter() - began:.0f} s.", "dim"))


def _run(seeds: int, horizon: int, jobs: int) -> list[Scene]:
    """Both worlds, under one bar."""
    from driftwise.lab import demo as lab
    from driftwise.lab.engine import perform_all

    scenes = []
    with show.progress() as progress:
        bar = progress.add_task("worlds", total=None)
        plans = [lab.plan(world, seeds=seeds, horizon=horizon) for world in lab.WORLDS]
        progress.update(bar, total=sum(map(len, plans)))
        for trials in plans:
            progress.update(bar, description=trials[0].case.name)
            outcomes = perform_all(trials, workers=jobs, tell=lambda: progress.advance(bar))
            scenes.append(lab.scene(trials, outcomes))
    return scenes


def _write(scenes: Sequence[Scene], out: Path) -> list[Path]:
    """The report, and its pictures as PNG."""
    from driftwise.plots import png
    from driftwise.report import demo as report

    written = [out / "demo.html"]
    files.write(written[0], report.demo_page(scenes, version=version("driftwise")))
    for scene in scenes:
        for kind, make in (("regret", report.regret_figure), ("belief", report.belief_figure)):
            written.append(out / f"{scene.world}-{kind}.png")
            files.write(written[-1], png(make(scene)))
    return written
