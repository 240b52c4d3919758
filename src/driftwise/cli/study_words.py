"""Settings, outcomes and what to type next, as commands of a study say them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from driftwise.cli import parse, show
from driftwise.cli.options import DEFAULT
from driftwise.errors import InvalidInput
from driftwise.records import Params, Receipt, Suggestion
from driftwise.study import Study, remote
from driftwise.text import visible


def setting(params: Params) -> str:
    """Parameters and their values in one line."""
    return visible(
        ", ".join(
            f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in params.items()
        )
    )


def next_command(verb: str, name: str, *rest: str, path: str) -> str:
    """The command to type next, with the path unless it is the default."""
    where = [] if path == DEFAULT else ["--path", path]
    return visible(shlex.join(["driftwise", "study", verb, name, *rest, *where]))


def for_service(path: str, **given: Any) -> dict[str, Any]:
    """What is given for a service, where the path is one: of a fork one side may be in a file."""
    return given if remote.is_address(path) else {}


def in_context(study: Study, given: Sequence[str] | None) -> dict[str, Any] | None:
    """The context that was typed. A study that has one needs it."""
    inside = study.description.context
    if inside is not None and not given:
        options = " ".join(f"--context {name}=VALUE" for name in inside.names)
        raise InvalidInput(f"study {study.name!r} has a context; give {options}")
    return parse.some_params(given, inside)


def suggestion_for_scripts(s: Suggestion) -> dict[str, Any]:
    made = {"id": s.id, "number": s.number, "params": dict(s.params), "at": s.at, "key": s.key}
    return made if s.context is None else made | {"context": dict(s.context)}


def receipt(given: Receipt, as_json: bool, *, what: str = "reward") -> None:
    """Says that an outcome is stored."""
    if as_json:
        show.as_json({"number": given.number, "new": given.new, "in_window": given.in_window})
        return
    late = "" if given.in_window else ", but the policy no longer uses observations that old"
    show.say(
        f"The {what} is stored as observation {given.number}{late}."
        if given.new
        else f"Observation {given.number} was told before; nothing changed."
    )
