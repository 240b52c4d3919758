"""Help texts whose lines break at the width of the terminal instead of where the source code breaks them."""

from __future__ import annotations

import inspect

import typer


def reflow(app: typer.Typer) -> None:
    """Joins the lines of each paragraph in the help of `app` and of every command below it."""
    app.info.help = joined(app.info.help or "")
    for command in app.registered_commands:
        command.help = joined(command.help or inspect.getdoc(command.callback) or "")
    for group in app.registered_groups:
        assert group.typer_instance is not None
        reflow(group.typer_instance)


def joined(text: str) -> str:
    """Each paragraph in one line; what is indented, as an example, stays as it is.

    >>> joined("One,\\ntwo.\\n\\n  an example\\n  of two lines")
    'One, two.\\n\\n  an example\\n  of two lines'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.splitlines()) for p in paragraphs)
