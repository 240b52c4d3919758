"""Descriptions as JSON and back: kernels, spaces, models, widths and policies.

There is no pickle. Only classes of `registry` are ever created, and those of a user's own: policies, and frozen
dataclasses of the same package inside them. A dataclass becomes {"type": its name, field: value, ...}, where the name
of a user's own class is "module:Class". Tuples become lists and come back as tuples. Floats keep every bit.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from driftwise import checks, policies
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.lookup import address, imported, is_imported
from driftwise.policies.own import a_policy_class, is_frozen

# where descriptions are made; a package stands for the modules it imports
SHARED = (
    "gp.kernels",
    "gp.difference",
    "gp.factors",
    "policies.beliefs.features",
    "gp.time_kernels",
    "gp.belief",
    "lean.prior",
    "spaces",
    "theory.information",
    "theory.widths",
)
ROOMS = (*SHARED, "policies", "auto.policy", "feasible", "live.plan")


def dumps(value: Any) -> str:
    """A description as JSON text.

    >>> from driftwise import RBF
    >>> dumps(RBF(0.1))
    '{"type":"RBF","lengthscale":0.1}'
    """
    data = encode(value)
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # a number of too many digits
        raise InvalidInput(f"{checks.shown(value)} cannot be written down: {error}; use a shorter number") from None


def loads(text: str) -> Any:
    """The description that `dumps` wrote.

    >>> loads('{"type": "RBF", "lengthscale": 0.1}')
    RBF(lengthscale=0.1)
    """
    if not isinstance(text, str):
        raise InvalidInput(f"a description must be JSON text, got {checks.shown(text)}")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"a description must be JSON: {error}") from None
    return decode(data)


def encode(value: Any) -> Any:
    """A description as dicts, lists, text and numbers."""
    try:
        return _encode(value)
    except RecursionError:
        raise InvalidInput("a description must not be nested without end") from None


def _encode(value: Any, home: str = "") -> Any:
    """`home` is the package of the user's own policy that this is a part of."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"type": "float", "value": repr(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_encode(item, home) for item in value]
    if isinstance(value, dict):
        return {"type": "dict", "items": [[_encode(key, home), _encode(item, home)] for key, item in value.items()]}
    cls = type(value)
    kind = cls.__name__ if known(cls.__name__) is cls else _own_name(value, home)
    home = package(kind) or home
    return {"type": kind} | {name: _encode(getattr(value, name), home) for name in _fields(cls)}


def _own_name(value: Any, home: str) -> str:
    """The "module:Class" of a user's own policy or of a part of it."""
    cls = type(value)
    name = address(cls)
    if name is None:
        raise InvalidInput(
            f"{checks.shown(value)} cannot be written down: {cls.__qualname__} cannot be imported from the module "
            f"{cls.__module__}; define the class in a module of your own, outside of any function"
        )
    try:
        _own(name, cls, home)
    except InvalidInput as error:
        raise InvalidInput(f"{checks.shown(value)} cannot be written down: {error}") from None
    return name


def decode(data: Any) -> Any:
    """The description that `encode` wrote."""
    try:
        return _decode(data)
    except RecursionError:
        raise InvalidInput("a description must not be nested without end") from None
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{checks.shown(data)} is not a description: {error!r:.80}") from None


def _decode(data: Any, home: str = "") -> Any:
    if isinstance(data, list):
        return tuple(_decode(item, home) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("type")
    if kind == "float":
        return float(data["value"])
    if kind == "dict":
        return {_decode(key, home): _decode(item, home) for key, item in data["items"]}
    cls = _class(kind, home)
    home = package(kind) or home
    given = {name: _decode(item, home) for name, item in data.items() if name != "type"}
    unknown = sorted(given.keys() - set(_fields(cls)))
    if unknown:
        got = checks.shown(unknown[0])
        raise InvalidInput(f"{kind} has no field {got}; it has {', '.join(_fields(cls)) or 'none'}")
    try:
        return cls(**given)
    except TypeError as error:
        raise InvalidInput(f"{kind} cannot be made from {sorted(given)}: {error}") from None


def _class(kind: Any, home: str) -> Any:
    """The class that is meant by a type."""
    if is_imported(kind):
        try:
            return _own(kind, imported(kind), home)
        except DriftwiseError as error:
            raise InvalidInput(str(error)) from error
    cls = known(kind) if isinstance(kind, str) else None
    if cls is None:
        raise InvalidInput(f"unknown type {checks.shown(kind)}; known are {', '.join(sorted(registry()))}")
    return cls


def _own(name: str, cls: Any, home: str) -> Any:
    """The rule on a user's own class: a policy, or inside one a frozen dataclass of the same package."""
    if package(name) == home and isinstance(cls, type) and is_frozen(cls):
        return cls
    return a_policy_class(name, cls)


def package(kind: Any) -> str:
    """The package that a type is imported from; an empty string for types of driftwise.

    >>> package("mypackage.greedy:EpsilonGreedy"), package("RBF")
    ('mypackage', '')
    """
    return kind.partition(":")[0].partition(".")[0] if is_imported(kind) else ""


def known(kind: str) -> type | None:
    """The class of this name in `registry`. Files of other policies are imported only if it is in none of the rest."""
    return policies.REGISTRY.of_class(kind) or _parts(SHARED).get(kind) or registry().get(kind)


def registry() -> dict[str, type]:
    """Every class that is written by its bare name: the built-in policies and their parts."""
    own = {cls.__name__: cls for cls in policies.REGISTRY.values()}  # a user may add to it at any time
    return _parts(ROOMS) | own


@cache
def _parts(rooms: tuple[str, ...]) -> dict[str, type]:
    """The parts of policies in these rooms. A name that two classes share, for example `State`, is left out."""
    named: dict[str, list[type]] = {}
    for module in _modules(rooms):
        for cls in vars(module).values():
            if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == module.__name__:
                named.setdefault(cls.__name__, []).append(cls)
    return {name: classes[0] for name, classes in named.items() if len(classes) == 1}


def _modules(rooms: tuple[str, ...]) -> Iterator[ModuleType]:
    for name in rooms:
        room = importlib.import_module(f"driftwise.{name}")
        yield room
        own = [part for part in vars(room).values() if isinstance(part, ModuleType)]
        yield from (part for part in own if part.__name__.startswith(f"{room.__name__}."))


def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls) if field.init)
