"""driftwise study check: is a study file intact."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from driftwise.cli import show
from driftwise.cli.options import DEFAULT, File, Json
from driftwise.errors import NotFoundError
from driftwise.log import is_address, is_there, without_password
from driftwise.log.files import as_path
from driftwise.study import remote

if TYPE_CHECKING:
    from driftwise.log.verify import Finding


def check(
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Check a study file against its checksums and report any damage.

    SQLite looks at every page of the file, and every entry is read and compared with its checksum, with the one before
    it and with the counts of its study. The exit code is 1 if there is any damage. Of a PostgreSQL every entry is read;
    pg_amcheck and data checksums are for the server's own pages and indexes.

    [bold]Example[/bold]

      driftwise study check --path prices.db
    """
    from driftwise.log import verify  # no other command needs it

    remote.no_address(path, "`study check`")
    place = path if is_address(path) else str(as_path(path))
    if not is_there(place):
        raise NotFoundError(f"there is no file {place}; give another path")
    findings = verify.check(place)
    if as_json:
        show.as_json({"whole": not findings, "problems": [asdict(each) for each in findings]})
    else:
        _say(place, findings)
    if findings:
        raise typer.Exit(1)


def _say(path: str, findings: list[Finding]) -> None:
    if not findings:
        show.say(f"{without_password(path)} is intact.")
    for each in findings:
        what = f"Study {each.study!r}" if each.study else "The file"
        show.say(f"{what}: {each.problem}")
