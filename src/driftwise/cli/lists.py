"""driftwise policies, driftwise environments: what there is by name, with the options of each."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from driftwise.cli import failure, show
from driftwise.cli.command import Answer, answered
from driftwise.errors import DriftwiseError
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.lookup import Catalogue
from driftwise.policies import POLICIES, options_of
from driftwise.policies.setup import options_in
from driftwise.text import visible

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

INDENT = 2  # columns
OURS = "driftwise"


@answered
def policies(
    name: Annotated[str | None, typer.Argument(help="Show only this policy.", show_default=False)] = None,
) -> Answer:
    """List the policies, each with its options and their defaults.

    Wherever a command takes a policy, write NAME:OPTION=VALUE,OPTION=VALUE, for example sw-gp-ucb:window=50,width=2.
    An option without a default is chosen by the policy. A policy of your own is named module:Class; those that an
    installed package offers as entry points are listed with the name of the package.
    """
    found = [_policy(each, doc, package) for each, doc, package in _found(name, POLICIES)]
    return {"policies": found}, map(_shown, found)


@answered
def environments(
    name: Annotated[str | None, typer.Argument(help="Show only this environment.", show_default=False)] = None,
) -> Answer:
    """List the simulated worlds for `driftwise compare --env`, each with its options and their defaults.

    Write NAME:OPTION=VALUE,OPTION=VALUE, for example bogunovic:epsilon=0.03. A world of your own is named
    module:function or module:Class; those that an installed package offers as entry points are listed with the name of
    the package.
    """
    from driftwise import environments as worlds

    found = []
    for each, doc, package in _found(name, worlds.ENVIRONMENTS):
        options = {o.name: (o.default, _meaning(each, o.name)) for o in worlds.options_of(each).values()}
        found.append(_record(each, doc, package, options))
    return {"environments": found}, map(_shown, found)


def _policy(name: str, doc: str | None, package: str) -> dict[str, Any]:
    return _record(name, doc, package, {o.name: (o.default, o.meaning) for o in options_of(name).values()})


def _found(name: str | None, catalogue: Catalogue) -> Iterator[tuple[str, str | None, str]]:
    """One thing, or all of them: names, what they say of themselves, and their packages. Broken ones are told of."""
    offered = catalogue.offered()
    for each in catalogue.names() if name is None else [name]:
        try:
            thing = catalogue.find(each)
        except DriftwiseError:
            if name is not None:
                raise
            continue  # told of below
        # a built-in policy has a file of its own, which says what it is
        doc = inspect.getmodule(thing).__doc__ if isinstance(thing, type) and each in catalogue.built_in else None
        package = offered[each].package if each in offered else OURS if each in catalogue.built_in else ""
        yield each, doc or thing.__doc__, package
    for problem in catalogue.problems() if name is None else []:
        failure.tell(problem)


def _meaning(environment: str, option: str) -> str:
    """What an option of an environment means, in one line; it is the same in every built-in one."""
    from driftwise.environments import ENVIRONMENTS

    if environment in ENVIRONMENTS.built_in:
        return WORLD_OPTIONS.get(option, "")
    return options_in(ENVIRONMENTS.find(environment), [option])[option].meaning


def written(default: Any) -> str:
    """A default as it is written on the command line; – if there is none.

    >>> written(Matern(2.5, 0.2)), written(True), written(0.5), written(None)
    ('matern:2.5:0.2', 'true', '0.5', '–')
    """
    if default is None:
        return "–"
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(default, RBF | Matern | Linear):
        return ":".join([type(default).__name__.lower(), *(f"{part}" for part in vars(default).values())])
    return str(default).lower() if isinstance(default, bool) else str(default)


def _plain(default: Any) -> Any:
    """As JSON has it: numbers stay numbers."""
    return default if default is None or isinstance(default, bool | int | float | str) else written(default)


def _record(name: str, doc: str | None, package: str, options: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """`doc` says what it is in its first line; options have a default and a meaning."""
    listed = {
        option: {"default": _plain(default), "meaning": meaning} for option, (default, meaning) in options.items()
    }
    summary = inspect.cleandoc(doc or "").partition("\n")[0]
    return {"name": name, "summary": summary, "package": package or None, "options": listed}


def _shown(item: dict[str, Any]) -> RenderableType:
    package = Text(f"  (from {visible(item['package'])})" if item["package"] not in (None, OURS) else "")
    parts: list[RenderableType] = [Text(item["name"], style="bold") + package]
    parts.append(Padding(Text(item["summary"]), (0, 0, 0, INDENT), expand=False))
    if item["options"]:
        parts.append(Padding(_table(item["options"]), (0, 0, 0, INDENT), expand=False))
    return Group(*parts, "")


def _table(options: dict[str, dict[str, Any]]) -> Any:
    rows = [(name, written(each["default"]), each["meaning"]) for name, each in options.items()]
    header = ("option", "default", "meaning")
    return show.table("", header, rows, words=(0, 1, 2), columns=show.width() - INDENT)
