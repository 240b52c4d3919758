"""The differences between two descriptions, as `codec.encode` gives them, in words for an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SHOWN = 5


def difference(stored: Any, given: Any) -> str:
    """The first few differences, or an empty string.

    >>> difference({"seed": 0, "space": [1, 2]}, {"seed": 1, "space": [1, 2]})
    'seed is 0 in the study, 1 was given'
    """
    found = list(_differences("", stored, given))
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def _differences(path: str, stored: Any, given: Any) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(given, dict) and stored.get("type") == given.get("type"):
        for name in {**stored, **given}:
            yield from _differences(f"{path}.{name}" if path else name, stored.get(name), given.get(name))
    elif isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
        for i, (a, b) in enumerate(zip(stored, given, strict=True)):
            named = _is_named(a) and _is_named(b) and a[0] == b[0]
            yield from _differences(f"{path}.{a[0]}", a[1], b[1]) if named else _differences(f"{path}[{i}]", a, b)
    elif stored != given or type(stored) is not type(given):
        yield f"{path} is {_short(stored)} in the study, {_short(given)} was given"


def _is_named(item: Any) -> bool:
    """Whether the item is a pair of a name and a parameter."""
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        fields = ", ".join(f"{name}={_short(item)}" for name, item in value.items() if name != "type")
        text = f"{value.get('type')}({fields})"
    else:
        text = f"[{', '.join(map(_short, value))}]" if isinstance(value, list) else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
