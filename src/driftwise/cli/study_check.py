"""driftwise study check: is a study's file whole, and what can be saved where it is not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import show
from driftwise.errors import NotFoundError
from driftwise.store import verify
from driftwise.store.files import as_path


def check(
    path: Annotated[
        Path, typer.Option("--path", envvar="DRIFTWISE_PATH", help="The file that keeps the studies.")
    ] = Path("driftwise.db"),
    salvage: Annotated[
        Path | None, typer.Option(help="Copy everything that is whole into this new file.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Read everything in a study file and hold it against its checksums; say what is wrong.

    The file itself is never changed. With --salvage, every row that is whole is copied into a new file; a number whose
    row was lost stays there as an abandoned suggestion. The exit code is 1 if anything is wrong.

    [bold]Example[/bold]

      driftwise study check --path prices.db --salvage saved.db
    """
    place = as_path(path)
    if not place.exists():
        raise NotFoundError(f"there is no file {place}")
    findings = verify.check(place)
    saved = verify.salvage(place, as_path(salvage)) if salvage is not None else []
    if as_json:
        show.as_json(
            {
                "whole": not findings,
                "problems": [asdict(each) for each in findings],
                "salvaged": [asdict(each) for each in saved],
            }
        )
    else:
        _say(place, findings, saved)
    if findings:
        raise typer.Exit(1)


def _say(path: Path, findings: list[verify.Finding], saved: list[verify.Salvaged]) -> None:
    if not findings:
        show.say(f"{path} is whole")
    for each in findings:
        what = f"study {each.study!r}" if each.study else "the file"
        show.say(f"{what}: {each.problem}")
    for s in saved:
        lost = f"; {s.lost} numbers were lost" if s.lost else ""
        show.say(f"copied {s.study!r}: {s.observations} observations, {s.suggestions} suggestions{lost}")
