"""driftwise study list, copy, rename and delete: studies and their files."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from driftwise.cli import failure, show, study_status
from driftwise.cli.options import DEFAULT, File, Json, Name, NewName, Timeout, ToFile, Token
from driftwise.errors import InvalidInput
from driftwise.log import without_password
from driftwise.study import Study
from driftwise.text import counted, visible


def list_studies(path: File = DEFAULT, token: Token = None, timeout: Timeout = None, as_json: Json = False) -> None:
    """List the studies in a file."""
    found = [
        study_status.summary_for_scripts(Study.open(name, path=path, token=token, timeout=timeout).describe())
        for name in Study.names(path, token, timeout)
    ]
    if as_json:
        show.as_json({"studies": found})
        return
    rows = [(s["name"], s["policy"], ", ".join(s["parameters"]), str(s["rewards"]), str(s["awaited"])) for s in found]
    show.out().print(
        show.table(
            without_password(path), ("study", "policy", "parameters", "rewards", "awaited"), rows, words=(0, 1, 2)
        )
    )


def copy(
    name: Name,
    new: NewName,
    to: ToFile = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Copy a whole study, with its suggestions, keys and corrections, under another name or into another file."""
    made = Study.open(name, path=path, token=token, timeout=timeout).copy(new, path=to)
    if as_json:
        show.as_json(study_status.summary_for_scripts(made.describe()))
    else:
        show.say("The study ", (new, "bold"), f" is in {visible(without_password(path if to is None else to))}.")


def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="The new name.", show_default=False, metavar="NEW")],
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Give a study another name."""
    study = Study.open(name, path=path, token=token, timeout=timeout)
    study.rename(new)
    if as_json:
        show.as_json(study_status.summary_for_scripts(study.describe()))
    else:
        show.say(f"The study {visible(name)} is now called ", (new, "bold"), ".")


def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")] = False,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Delete a study from its file, with everything that was told to it. This cannot be undone.

    You are asked whether you are sure. Where there is no terminal, and with --json, give --yes.
    """
    study = Study.open(name, path=path, token=token, timeout=timeout)
    told = study.describe().counts.told
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
