"""A study from a request: what is given as JSON becomes what `Study` takes, and nothing is imported on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.feasible import Limit
from driftwise.log import codec, open_store
from driftwise.lookup import is_imported
from driftwise.service.settings import ServiceSettings
from driftwise.study import Description
from driftwise.study import description as descriptions

SETTINGS = ("direction", "seed", "patience", "where", "safe", "start", "delta")  # as they are


def usable(name: str) -> str:
    """A study's name that can stand in a path."""
    if checks.name("a study's name", name) in (".", ".."):
        raise InvalidInput(f"a study's name must not be . or .., got {name!r}; a browser would take it for a folder")
    return name


def description_of(given: Mapping[str, Any], settings: ServiceSettings) -> Description:
    """The study that a body means."""
    check_imports(given, settings.allow_imports)
    whole = given.get("description")
    if whole is not None:
        others = [part for part, value in given.items() if value is not None and part not in ("name", "description")]
        if others:
            raise InvalidInput(f"give a description or its parts, got a description and {others[0]}; leave one out")
        return described(whole)
    options = arguments(given)
    found = {part: options.pop(part) for part in (*SETTINGS, "context", "limits") if part in options}
    return descriptions.described(options.pop("space", None), options.pop("policy", None), options, found)


def made(name: str, given: Description, path: str, also: Callable[[sa.Connection], object]) -> bool:
    """Make a study, and in the same transaction what is `also` done; False if it exists with the same settings."""
    text = given.to_json()
    log = open_store(path).create(usable(name), text, also)
    if log.description != text:
        descriptions.agreed_with(given, descriptions.description_of(log, path), name)
    return log.is_new


def described(data: Mapping[str, Any]) -> Description:
    try:
        return Description.from_json(json.dumps(data))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"description must be that of a study, got {checks.shown(data)}: {error!r:.80}") from None


def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `Study` takes, from JSON: parameters, kernels and limits become what they describe."""
    found = {name: given[name] for name in SETTINGS if given.get(name) is not None}
    for part in ("space", "context"):
        if given.get(part) is not None:
            found[part] = space_of(part, given[part])
    if given.get("limits") is not None:
        found["limits"] = {name: limit_of(name, ends) for name, ends in given["limits"].items()}
    if given.get("policy") is not None:
        found["policy"] = given["policy"]
    options = {name: codec.decode(value) for name, value in (given.get("options") or {}).items()}
    taken = sorted(options.keys() & {*SETTINGS, "space", "context", "limits", "policy", "path", "name", "token"})
    if taken:
        raise InvalidInput(f"options are those of the policy, got {taken[0]!r}; give it beside them")
    return found | options


def limit_of(name: str, ends: Any) -> Limit:
    if not isinstance(ends, Mapping) or not ends.keys() <= {"low", "high"}:
        raise InvalidInput(f"limit {name!r:.80} must have low, high or both, got {checks.shown(ends)}")
    return Limit(**ends)


def space_of(part: str, data: Any) -> Any:
    """Parameters by name, or a space as a description has it.

    >>> space_of("space", {"price": {"type": "Float", "low": 5, "high": 20}})
    {'price': Float(low=5.0, high=20.0, log=False)}
    """
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{part} must be parameters by name, got {checks.shown(data)}")
    if isinstance(data.get("type"), str):
        return codec.decode(data)
    return {checks.name("a parameter's name", name): codec.decode(value) for name, value in data.items()}


def check_imports(data: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a policy that would have to be imported: whoever may create a study may not run code of any module."""
    for kind in _imports(data):
        if codec.package(kind) not in allowed:
            raise InvalidInput(
                f"a policy must be one of driftwise's own, got {checks.shown(kind)}; start the service with "
                "--allow-import PACKAGE to allow a package"
            )


def _imports(data: Any) -> list[str]:
    """What would be imported: types, and policies by name, which may also be an option of another policy."""
    found, left = list[str](), [("", data)]
    while left:
        key, item = left.pop()
        if isinstance(item, Mapping):
            inside = "policy" if key == "options" else ""
            left.extend((inside or str(name), value) for name, value in item.items())
        elif isinstance(item, list | tuple):
            left.extend((key, each) for each in item)
        elif key in ("type", "policy", "inner") and is_imported(item):
            found.append(item)
    return found
