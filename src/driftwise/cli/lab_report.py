"""driftwise lab report: writes the page of a results folder and the files beside it."""

from __future__ import annotations

import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import files, parse, show
from driftwise.cli.options import Dark
from driftwise.errors import InvalidInput
from driftwise.text import visible


def report(
    folder: Annotated[Path, typer.Argument(help="A folder of results, made by: driftwise lab run")] = Path("results"),
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    belief: Annotated[
        list[str] | None,
        typer.Option(help="Look inside a run: POLICY@SUITE/CASE#SEED; give it once for each. One dimension only."),
    ] = None,
    title: Annotated[str, typer.Option(help="What the page is called.")] = "Policies compared",
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Write pictures and CSVs beside the page, for a paper.")
    ] = True,
    dark: Dark = False,
) -> None:
    """Make one page of a results folder, to open in any browser and send to anybody.

    It holds the winner of every case and what is not significantly worse, regret curves with bands, a heat map of
    policies and cases, exponents, and cost against regret. Beside it, in report_files/, is every figure's data as CSV,
    and the figure as PNG and SVG.

    [bold]Examples[/bold]

      driftwise lab report results -o report.html

      driftwise lab report results --belief sw-gp-ucb:window=50@deng/abrupt#0
    """
    if out.suffix != ".html":
        raise InvalidInput(f"the report is an .html file, got {str(out)!r}; give -o report.html")
    from driftwise.lab.digest import digest
    from driftwise.lab.results import failures, manifest, read
    from driftwise.lab.run_view import look_inside, wanted
    from driftwise.plots.style import LIGHT, blank
    from driftwise.report.results_page import lab_page

    blank(1, 1, LIGHT)  # a missing Matplotlib is told before anything runs
    began, runs = time.perf_counter(), [wanted(written) for written in belief or []]
    results = read(folder)
    if not len(results):
        raise InvalidInput(f"the results in {folder} are empty; make some with: driftwise lab run --out {folder}")
    inside = [look_inside(results, run, parse.entrant, parse.case) for run in runs]
    found = digest(results, manifest=manifest(folder), failed=len(failures(folder)))
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f"{out.stem}_files")
    text = lab_page(found, title=title, version=version("driftwise"), folder=beside.name, inside=inside, files=pictures)
    files.write(out, text)
    show.say("The report is ", (visible(str(out)), "bold"), f" ({len(text) / 1e6:.1f} MB).")
    if pictures:
        count = _write(found, inside, beside, dark)
        show.say(f"{count} files with its data and pictures are in ", (visible(str(beside)), "bold"), ".")
    show.say((f"{len(results):,} runs took {time.perf_counter() - began:.0f} s.", "dim"))


def _write(found: object, inside: object, beside: Path, dark: bool) -> int:
    from driftwise.report import results_pictures

    beside.mkdir(exist_ok=True)
    total = results_pictures.count(found, inside, dark=dark)  # type: ignore[arg-type]
    with show.progress() as progress:
        bar = progress.add_task("pictures", total=total)
        for name, content in results_pictures.files(found, inside, dark=dark):  # type: ignore[arg-type]
            files.write(beside / name, content)
            progress.advance(bar)
    return total
