"""The differences between two descriptions, as `codec.encode` gives them, in words for an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SHOWN = 5
MISSING = object()  # what only one of two descriptions has


def difference(stored: Any, given: Any) -> str:
    """The first few differences, or an empty string.

    >>> difference({"seed": 0, "space": [1, 2]}, {"seed": 1, "space": [1, 2]})
    'seed is 0 in the study, 1 was given'
    """
    return joined([contrast(*found) for found in differences(stored, given)])


def contrast(path: str, stored: Any, given: Any) -> str:
    """One difference in words."""
    if given is MISSING:
        return f"{path} is {short(stored)} in the study and was not given"
    if stored is MISSING:
        return f"{path} is not in the study, {short(given)} was given"
    return f"{path} is {short(stored)} in the study, {short(given)} was given"


def joined(found: list[str]) -> str:
    """The first few of these, and how many more there are."""
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def differences(stored: Any, given: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two descriptions differ: the path, and what each has there."""
    if isinstance(stored, dict) and isinstance(given, dict) and stored.get("type") == given.get("type"):
        for name in {**stored, **given}:
            yield from differences(stored.get(name), given.get(name), f"{path}.{name}" if path else name)
    elif _are_named(stored) and _are_named(given) and len(stored) != len(given):
        before, after = dict(stored), dict(given)
        for name in {**before, **after}:
            yield from differences(before.get(name, MISSING), after.get(name, MISSING), f"{path}.{name}")
    elif isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
        for i, (a, b) in enumerate(zip(stored, given, strict=True)):
            named = _is_named(a) and _is_named(b) and a[0] == b[0]
            yield from differences(a[1], b[1], f"{path}.{a[0]}") if named else differences(a, b, f"{path}[{i}]")
    elif stored != given or type(stored) is not type(given):
        yield path, stored, given


def _is_named(item: Any) -> bool:
    """Whether the item is a pair of a name and a parameter."""
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)


def _are_named(items: Any) -> bool:
    return isinstance(items, list) and all(map(_is_named, items))


def short(value: Any) -> str:
    """A description as it would be written in Python, cut where it is long."""
    if isinstance(value, dict):
        fields = ", ".join(f"{name}={short(item)}" for name, item in value.items() if name != "type")
        text = f"{value.get('type')}({fields})"
    else:
        text = f"[{', '.join(map(short, value))}]" if isinstance(value, list) else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
