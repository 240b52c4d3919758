"""driftwise policies, driftwise environments: what there is, by name."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from driftwise.cli import show
from driftwise.policies import REGISTRY, options_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def policies(as_json: Json = False) -> None:
    """List the policies and their options.

    Use one as NAME:OPTION=VALUE,OPTION=VALUE wherever a policy is asked for, as sw-gp-ucb:window=50,width=2.
    """
    found = [
        {"name": name, "summary": first_line(_module_of(REGISTRY[name]).__doc__), "options": list(options_of(name))}
        for name in sorted(REGISTRY)
    ]
    if as_json:
        show.as_json({"policies": found})
        return
    _print_list(found)


def environments(as_json: Json = False) -> None:
    """List the simulated worlds that `driftwise compare --env` knows."""
    from driftwise import environments as worlds

    found = [
        {"name": name, "summary": first_line(worlds.REGISTRY[name].__doc__), "options": list(worlds.options_of(name))}
        for name in sorted(worlds.REGISTRY)
    ]
    if as_json:
        show.as_json({"environments": found})
        return
    _print_list(found)


def first_line(doc: str | None) -> str:
    """What something says of itself."""
    return inspect.cleandoc(doc or "").partition("\n")[0]


def _module_of(policy: Any) -> Any:
    """One policy a file: the file's first line says what it is."""
    return inspect.getmodule(policy)


def _print_list(found: list[dict[str, Any]]) -> None:
    console = show.out()
    for item in found:
        console.print(Text(item["name"], style="bold"))
        console.print(Padding(Text(item["summary"]), (0, 0, 0, 2)))
        if item["options"]:
            console.print(Padding(Text(f"options: {', '.join(item['options'])}", style="dim"), (0, 0, 0, 2)))
