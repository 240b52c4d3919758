"""driftwise study check: is a study file intact, and what can be saved if it is not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftwise.cli import show
from driftwise.cli.options import DEFAULT, File, Json
from driftwise.errors import NotFoundError
from driftwise.store import is_address, is_there, without_password
from driftwise.store.files import as_path
from driftwise.study import remote
from driftwise.text import counted

if TYPE_CHECKING:
    from driftwise.store.verify import Finding, Salvaged


def check(
    path: File = DEFAULT,
    salvage: Annotated[
        Path | None, typer.Option(help="Copy every intact row into this new file.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a study file against its checksums and report any damage.

    The file itself is never changed. With --salvage, every intact row is copied into a new file, in which each lost row
    counts as an abandoned suggestion. The exit code is 1 if there is any damage.

    On a PostgreSQL it reads every row of the store and compares it with the others. The server's own pages and indexes
    are not looked at: pg_amcheck and data checksums are for those.

    [bold]Example[/bold]

      driftwise study check --path prices.db --salvage saved.db
    """
    from driftwise.store import verify  # no other command needs it

    remote.no_address(path, "`study check`")
    place = path if is_address(path) else str(as_path(path))
    if not is_there(place):
        raise NotFoundError(f"there is no file {place}; give another path")
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


def _say(path: str, findings: list[Finding], saved: list[Salvaged]) -> None:
    if not findings:
        show.say(f"{without_password(path)} is intact.")
    for each in findings:
        what = f"Study {each.study!r}" if each.study else "The file"
        show.say(f"{what}: {each.problem}")
    for s in saved:
        lost = f"; {counted(s.lost, 'number')} lost" if s.lost else ""
        lost += f"; {counted(s.uncorrected, 'correction')} lost" if s.uncorrected else ""
        copied = f"{counted(s.observations, 'observation')}, {counted(s.suggestions, 'suggestion')}"
        show.say(f"Copied {s.study!r}: {copied}{lost}")
