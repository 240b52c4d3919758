"""driftwise lab theory: the theorems, tested by simulation."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from driftwise.cli import files, show
from driftwise.cli.options import Dark, Jobs
from driftwise.concurrency.threads import cores
from driftwise.errors import InvalidInput
from driftwise.text import visible

if TYPE_CHECKING:
    from driftwise.lab.theory import Measured, Settings
    from driftwise.report.parts import Part


def theory(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a report here: FILE.html with everything beside it, or FILE.md."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="In about a minute, with wider intervals.")] = False,
    jobs: Jobs = None,
    images: Annotated[
        str | None, typer.Option(help="For FILE.md: write the pictures to this folder beside it, and show them.")
    ] = None,
    dark: Dark = False,
) -> None:
    """Test the theorems by simulation, and say plainly where they promise nothing.

    Measures how often the confidence bands of both lemmas and the drift-aware band are left; every bound against 1,000
    runs, and bounds and regret in one picture; regret against its realised and a-priori bounds over a grid of T and
    P_T, with the exponents beside 3/4 and 1/4; the linear special case, choice for choice; and γ against the orders of
    growth in the literature.

    [bold]Examples[/bold]

      driftwise lab theory --quick

      driftwise lab theory -o theory.html
    """
    from driftwise.lab.theory import FULL, QUICK
    from driftwise.report.theory import parts

    _check(out, images)
    began, console = time.perf_counter(), show.out()
    made = parts(_measure(QUICK if quick else FULL, jobs or cores()))
    for part in made:
        console.print(Text.assemble("\n", (part.title, "bold")))
        for table in part.tables:
            console.print(show.table(table.caption, table.header, table.rows))
        for point in part.points:
            console.print(f"  {point.replace('**', '')}")
    if out is not None:
        typed = [*(["--quick"] if quick else []), "-o", out.name, *(["--images", images] if images else [])]
        written = _write(made, out, images, dark, shlex.join(["driftwise", "lab", "theory", *typed]))
        show.say("\nThe report is ", (visible(str(out)), "bold"), written)
    show.say((f"This took {time.perf_counter() - began:.0f} s.", "dim"))


def _check(out: Path | None, images: str | None) -> None:
    """What cannot be written is told before anything runs."""
    if out is not None and out.suffix not in (".html", ".md"):
        raise InvalidInput(f"the report is an .html or .md file, got {str(out)!r}; give -o theory.html")
    if images is not None and (out is None or out.suffix != ".md"):
        raise InvalidInput("--images is for a Markdown report; give -o FILE.md with it")
    if out is not None:
        from driftwise.plots.style import LIGHT, blank

        blank(1, 1, LIGHT)
        out.parent.mkdir(parents=True, exist_ok=True)
        files.check(out)


def _measure(settings: Settings, jobs: int) -> Measured:
    from driftwise.lab.engine import perform_all
    from driftwise.lab.theory import assemble, plan

    todo = plan(settings)
    with show.progress() as progress:
        bar = progress.add_task("theory", total=len(todo))
        found = perform_all(todo, workers=jobs, tell=lambda: progress.advance(bar))
    return assemble(settings, found)


def _write(made: Sequence[Part], out: Path, images: str | None, dark: bool, command: str) -> str:
    """The report and what is beside it; says what that is."""
    from driftwise.plots.style import papers, png
    from driftwise.report import parts
    from driftwise.report import theory as report

    if out.suffix == ".md":
        if images is not None:
            folder = out.parent / images
            folder.mkdir(parents=True, exist_ok=True)
            for picture in (picture for part in made for picture in part.pictures):
                for ending, theme in papers(dark).items():
                    files.write(folder / f"{picture.name}{ending}.png", png(picture.draw(theme)))
        files.write(out, report.markdown(made, command=command, images=images))
        return ""
    folder = out.with_name(f"{out.stem}_files")
    folder.mkdir(exist_ok=True)
    for name, content in parts.files(made, dark=dark).items():
        files.write(folder / name, content)
    footer = f"Made by driftwise {version('driftwise')}: `{command}`."
    files.write(out, report.html(made, folder=folder.name, footer=footer))
    return f", with its data and pictures in {visible(folder.name)}/"
