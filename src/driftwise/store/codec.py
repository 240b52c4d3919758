"""Descriptions as JSON and back: kernels, spaces, models, widths and policies.

There is no pickle: only classes of `registry` are ever created. A dataclass becomes {"type": its name, field: value,
...}. Tuples become lists and come back as tuples. Floats keep every bit.
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
from driftwise.errors import InvalidInput

# where descriptions are made; a package stands for the modules it imports
ROOMS = (
    *("gp.kernels", "gp.factors", "gp.time_kernels", "gp.belief", "spaces"),
    *("theory.information", "theory.widths", "policies", "auto.policy"),
)


def dumps(value: Any) -> str:
    """A description as JSON text.

    >>> from driftwise import RBF
    >>> dumps(RBF(0.1))
    '{"type":"RBF","lengthscale":0.1}'
    """
    try:
        return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"type": "float", "value": repr(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {"type": "dict", "items": [[_encode(key), _encode(item)] for key, item in value.items()]}
    kind = type(value).__name__
    if registry().get(kind) is not type(value):
        raise InvalidInput(
            f"{checks.shown(value)} cannot be written down: {kind} is not known; register a policy of your own in "
            f"driftwise.policies.REGISTRY, or use one of {', '.join(sorted(registry()))}"
        )
    return {"type": kind} | {name: _encode(item) for name, item in _stated(value)}


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


def _decode(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("type")
    if kind == "float":
        return float(data["value"])
    if kind == "dict":
        return {_decode(key): _decode(item) for key, item in data["items"]}
    cls = registry().get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise InvalidInput(f"unknown type {checks.shown(kind)}; known are {', '.join(sorted(registry()))}")
    given = {name: _decode(item) for name, item in data.items() if name != "type"}
    unknown = sorted(given.keys() - set(_fields(cls)))
    if unknown:
        got = checks.shown(unknown[0])
        raise InvalidInput(f"{kind} has no field {got}; it has {', '.join(_fields(cls)) or 'none'}")
    try:
        return cls(**given)
    except TypeError as error:
        raise InvalidInput(f"{kind} cannot be made from {sorted(given)}: {error}") from None


def registry() -> dict[str, type]:
    """Every class that may be written and read, by name: the policies and their parts."""
    return _parts() | {cls.__name__: cls for cls in policies.REGISTRY.values()}  # a user may add to it at any time


@cache
def _parts() -> dict[str, type]:
    """The parts of policies. A name that two classes share, for example `State`, is left out."""
    named: dict[str, list[type]] = {}
    for module in _modules():
        for cls in vars(module).values():
            if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == module.__name__:
                named.setdefault(cls.__name__, []).append(cls)
    return {name: classes[0] for name, classes in named.items() if len(classes) == 1}


def _modules() -> Iterator[ModuleType]:
    for name in ROOMS:
        room = importlib.import_module(f"driftwise.{name}")
        yield room
        own = [part for part in vars(room).values() if isinstance(part, ModuleType)]
        yield from (part for part in own if part.__name__.startswith(f"{room.__name__}."))


def _stated(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields and their values. One that came later says `left_out`, so that what has its default reads as before.

    A study is opened again by comparing descriptions, among them those that were written before there was the field.
    """
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.init and not (field.metadata.get("left_out") and item == field.default):
            yield field.name, item


def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls) if field.init)
