"""driftwise demo: four policies in two changing environments, in half a minute."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftwise.cli import files, limits, show
from driftwise.cli.options import Jobs
from driftwise.errors import MissingExtra
from driftwise.text import counted, visible

if TYPE_CHECKING:
    from driftwise.lab.demo import Scene


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and its pictures.")] = Path("report"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each policy; `auto` has six at most.")] = 12,
    horizon: Annotated[int, typer.Option(min=10, help="Steps of each run.")] = 300,
    jobs: Jobs = None,
) -> None:
    """Compare GP-UCB, R-GP-UCB, SW-GP-UCB and auto while the optimum moves.

    Runs two environments of Deng et al., one that changes abruptly and one that drifts, on several seeds. Prints the
    regret of each policy, and writes report/demo.html, a page that needs no other file. The page and its pictures need
    Matplotlib; without it the tables are printed all the same.
    """
    limits.within(seeds=seeds, horizon=horizon)
    from driftwise.report import demo as report

    missing = _missing_plots()
    if not missing:  # a folder that cannot be made is told before anything runs
        out.mkdir(parents=True, exist_ok=True)
    began, console = time.perf_counter(), show.out()
    scenes = _run(seeds, horizon, jobs or _all_cores())
    show.say("\n", ("Keeping up with a moving optimum", "bold"))
    show.paragraph((f"{_explained(scenes[0])}\n", "dim"))
    for scene in scenes:
        cells, best = report.rows(scene)
        heading = f"{report.title(scene)} ({scene.world}, T = {scene.horizon})"
        console.print(show.table(heading, report.HEADER[:5], [row[:5] for row in cells], best=best))
    if missing:
        show.aside().print(f"No report was written: {missing}", soft_wrap=True)
    else:
        written = _write(scenes, out)
        show.say("The report is ", (visible(str(written[0])), "bold"), ".")
        show.say(f"Its {counted(len(written) - 1, 'picture')} are beside it.")
    show.say((f"This took {time.perf_counter() - began:.0f} s.", "dim"))


def _explained(scene: Scene) -> str:
    """What the tables show, for a reader who has seen nothing else."""
    return (
        f"Each table has the cumulative regret over {scene.horizon} steps, which is the reward lost because the best "
        "setting was not known. Lower is better. GP-UCB uses all observations, R-GP-UCB forgets them every H steps, "
        "and SW-GP-UCB uses the last w. Remark 2 is the paper's own choice of H and w. These policies are given the "
        "kernel and the noise. auto, the default of a study, is given neither."
    )


def _missing_plots() -> str:
    """What to install for the report, or nothing."""
    from driftwise.plots.style import LIGHT, blank

    try:
        blank(1, 1, LIGHT)
    except MissingExtra as error:
        return str(error)
    return ""


def _all_cores() -> int:
    """As many processes as cores; one in an installation that has no joblib."""
    from driftwise.concurrency.threads import cores

    try:
        import joblib  # noqa: F401
    except ImportError:
        return 1
    return cores()


def _run(seeds: int, horizon: int, jobs: int) -> list[Scene]:
    """Both environments, under one progress bar."""
    from driftwise.lab import demo as lab

    with show.progress() as progress:
        bar = progress.add_task("runs", total=None)
        plans = [lab.plan(world, seeds=seeds, horizon=horizon) for world in lab.WORLDS]
        progress.update(bar, total=sum(map(len, plans)))
        return lab.play(plans, jobs=jobs, done=lambda: progress.advance(bar))


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
