"""The command line's table of contents. A command's file is imported when the command is called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from driftwise.cli.failure import EXIT_CODES, Friendly
from driftwise.cli.help_text import reflow
from driftwise.cli.ordered import Ordered
from driftwise.text import did_you_mean

FILES = {
    "demo": "demo",
    "compare": "compare",
    "theory": "theory",
    "policies": "lists",
    "environments": "lists",
    "suites": "suites",
    "study": "study",
    "rollout": "rollout",
    "fleet": "fleet",
    "store": "store",
    "tune": "tune",
    "serve": "serve",
    "token": "token",
    "lab": "lab",
}


class Contents(Friendly):
    """The commands by name, each made of what stands in its file."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(FILES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return made(cmd_name) if cmd_name in FILES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:  # the parser's own, whose class differs between versions
            if args and hasattr(error, "message") and (question := did_you_mean(args[0], FILES)):
                error.message = f"{error.message.rstrip('.')}; {question.strip()}"
            raise

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """By the commands' names alone, so that a press of the tab key need not wait for NumPy."""
        names = TyperGroup(commands={name: TyperCommand(name) for name in FILES}, params=self.params)
        return names.shell_complete(typer.Context(names), incomplete)


@cache
def made(name: str) -> Any:
    """A command, or a group of them, as its file describes it."""
    file: Any = import_module(f"driftwise.cli.{FILES[name]}")
    around = typer.Typer(rich_markup_mode="rich", callback=lambda: None)
    if hasattr(file, "app"):
        around.add_typer(file.app, name=name)
    else:
        around.command(name, cls=Ordered)(getattr(file, name))
    reflow(around)
    group: Any = typer.main.get_command(around)
    return group.commands[name]


app = typer.Typer(
    cls=Contents,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
    help="""Find, and keep finding, the best setting of something that changes while you tune it.

    [bold]Start here[/bold]

      driftwise demo                          a short tour, with a report
      driftwise study create prices --float price=5:20
      driftwise study ask prices              what to try now
      driftwise study tell prices ID 12.3     what it earned
      driftwise tune web --float x=0:1 -- ./measure.sh {x}
    """,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"driftwise {version('driftwise')}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None: ...


reflow(app)
