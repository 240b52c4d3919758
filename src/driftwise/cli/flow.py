"""Help that breaks its lines where the terminal ends, and not where our source does."""

from __future__ import annotations

import inspect

import typer


def flow(app: typer.Typer) -> None:
    """Lets the help of every command below `app` flow."""
    app.info.help = flowing(app.info.help or "")
    for command in app.registered_commands:
        command.help = flowing(command.help or inspect.getdoc(command.callback) or "")
    for group in app.registered_groups:
        assert group.typer_instance is not None
        flow(group.typer_instance)


def flowing(text: str) -> str:
    """Each paragraph in one line; what is indented, as an example, stays as it is.

    >>> flowing("One,\\ntwo.\\n\\n  an example\\n  of two lines")
    'One, two.\\n\\n  an example\\n  of two lines'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.splitlines()) for p in paragraphs)
