"""driftwise policies, driftwise environments: what there is by name, with the options of each."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from driftwise.cli import show
from driftwise.cli.options import Json
from driftwise.errors import NotFoundError
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.policies import REGISTRY, options_of

WORLD_OPTIONS = {
    "dim": "dimension of the settings",
    "epsilon": "share of the variance that is new at each step",
    "horizon": "number of steps T",
    "noise_std": "standard deviation of the noise",
    "norm": "norm that every function is scaled to; as drawn if not given",
    "nu": "smoothness of a Matérn kernel; an RBF kernel if not given",
    "period": "steps until the world repeats",
    "side": "candidates along each side of the grid",
}


def policies(
    name: Annotated[str | None, typer.Argument(help="Show only this policy.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the policies, each with its options and their defaults.

    Wherever a command takes a policy, write NAME:OPTION=VALUE,OPTION=VALUE, for example sw-gp-ucb:window=50,width=2.
    An option without a default is chosen by the policy.
    """
    found = []
    for each in _chosen(name, REGISTRY, "policy"):
        options = {o.name: (o.default, o.meaning) for o in options_of(each).values()}
        found.append(_record(each, inspect.getmodule(REGISTRY[each]), options))
    _print("policies", found, as_json)


def environments(
    name: Annotated[str | None, typer.Argument(help="Show only this environment.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the simulated worlds for `driftwise compare --env`, each with its options and their defaults.

    Write NAME:OPTION=VALUE,OPTION=VALUE, for example bogunovic:epsilon=0.03.
    """
    from driftwise import environments as worlds

    found = []
    for each in _chosen(name, worlds.REGISTRY, "environment"):
        options = {o.name: (o.default, WORLD_OPTIONS.get(o.name, "")) for o in worlds.options_of(each).values()}
        found.append(_record(each, worlds.REGISTRY[each], options))
    _print("environments", found, as_json)


def written(default: Any) -> str:
    """A default as it is written on the command line; – if there is none.

    >>> written(Matern(2.5, 0.2)), written(True), written(0.5), written(None)
    ('matern:2.5:0.2', 'true', '0.5', '–')
    """
    if default is None:
        return "–"
    if isinstance(default, RBF | Matern | Linear):
        return ":".join([type(default).__name__.lower(), *(f"{part}" for part in vars(default).values())])
    return str(default).lower() if isinstance(default, bool) else str(default)


def _plain(default: Any) -> Any:
    """As JSON has it: numbers stay numbers."""
    return default if default is None or isinstance(default, bool | int | float | str) else written(default)


def _chosen(name: str | None, registry: Mapping[str, Any], what: str) -> list[str]:
    if name is not None and name not in registry:
        raise NotFoundError(f"no {what} is called {name!r:.80}; there are {', '.join(sorted(registry))}")
    return sorted(registry) if name is None else [name]


def _record(name: str, described: Any, options: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """`described` says what it is in the first line of its docstring; options have a default and a meaning."""
    listed = {
        option: {"default": _plain(default), "meaning": meaning} for option, (default, meaning) in options.items()
    }
    return {"name": name, "summary": (inspect.getdoc(described) or "").partition("\n")[0], "options": listed}


def _print(kind: str, found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        show.as_json({kind: found})
        return
    console = show.out()
    for item in found:
        console.print(Text(item["name"], style="bold"))
        console.print(Padding(Text(item["summary"]), (0, 0, 0, 2), expand=False))
        if item["options"]:
            console.print(Padding(_table(item["options"]), (0, 0, 0, 2), expand=False))
        console.print()


def _table(options: dict[str, dict[str, Any]]) -> Any:
    rows = [(name, written(each["default"]), each["meaning"]) for name, each in options.items()]
    return show.table("", ("option", "default", "meaning"), rows, words=(0, 1, 2))
