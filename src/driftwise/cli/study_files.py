"""driftwise study list, copy, rename, delete and check: studies and their files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from driftwise.cli import failure, options, show
from driftwise.cli.command import Answer, answered, on_study
from driftwise.cli.study_words import summary_for_scripts
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.log import is_address, is_there, without_password
from driftwise.log.files import as_path
from driftwise.study import Study, remote
from driftwise.text import counted, visible

HEADER = ("study", "policy", "parameters", "rewards", "awaited")


@answered
def list_studies(
    path: options.File = options.DEFAULT, token: options.Token = None, timeout: options.Timeout = None
) -> Answer:
    """List the studies in a file."""
    found = [
        summary_for_scripts(Study.open(name, path=path, token=token, timeout=timeout).describe())
        for name in Study.names(path, token, timeout)
    ]
    rows = [(s["name"], s["policy"], ", ".join(s["parameters"]), str(s["rewards"]), str(s["awaited"])) for s in found]
    return {"studies": found}, [show.table(without_password(path), HEADER, rows, words=(0, 1, 2))]


@answered
@on_study
def copy(study: Study, new: options.NewName, to: options.ToFile = None, path: str = options.DEFAULT) -> Answer:
    """Copy a whole study, with its suggestions, keys and corrections, under another name or into another file."""
    made = study.copy(new, path=to)
    where = visible(without_password(path if to is None else to))
    return summary_for_scripts(made.describe()), [["The study ", (new, "bold"), f" is in {where}."]]


@answered
@on_study
def rename(
    study: Study, new: Annotated[str, typer.Argument(help="The new name.", show_default=False, metavar="NEW")]
) -> Answer:
    """Give a study another name."""
    said = [f"The study {visible(study.name)} is now called ", (new, "bold"), "."]
    study.rename(new)
    return summary_for_scripts(study.describe()), [said]


@on_study
def delete(
    study: Study,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")] = False,
    as_json: options.Json = False,
) -> None:
    """Delete a study from its file, with everything that was told to it. This cannot be undone.

    You are asked whether you are sure. Where there is no terminal, and with --json, give --yes.
    """
    name, told = study.name, study.describe().counts.told
    if not yes:
        if as_json or not on_terminal():
            raise InvalidInput(f"study {name!r} is deleted without asking only if you give --yes")
        if not typer.confirm(f"Delete {visible(name)} with its {counted(told, 'observation')}?", err=True):
            failure.tell("nothing was deleted")
            raise typer.Exit(1)
    study.delete()
    if as_json:
        show.as_json({"name": name, "deleted": True, "told": told})
    else:
        show.say(f"The study {visible(name)} is deleted, with {counted(told, 'observation')}.")


def on_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def check(path: options.File = options.DEFAULT, as_json: options.Json = False) -> None:
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
    elif not findings:
        show.say(f"{without_password(place)} is intact.")
    else:
        for each in findings:
            show.say(f"{f'Study {each.study!r}' if each.study else 'The file'}: {each.problem}")
    if findings:
        raise typer.Exit(1)
