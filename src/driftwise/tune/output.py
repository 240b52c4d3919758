"""The reward and the measures in what the command printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftwise import checks
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.study import inputs


class BadOutput(DriftwiseError):
    """The command printed something in which there is no reward."""


@dataclass(frozen=True)
class Reader:
    """Where the reward is: the last line itself, a field of the JSON object there, or the time that the command took.

    Measures are fields of the same object. A field inside of another is written with a dot, as latency.p99.

    >>> Reader().read("warming up\\n12.5\\n", seconds=0.1)
    (12.5, {})
    >>> Reader(field="score", measures={"p99": "ms.p99"}).read('{"score": 3, "ms": {"p99": 180}}', seconds=0.1)
    (3.0, {'p99': 180.0})
    """

    field: str | None = None
    time: bool = False
    measures: Mapping[str, str] | None = None  # the field of each, by name

    def __post_init__(self) -> None:
        if self.time and self.field is not None:
            raise InvalidInput("the reward is the run time or a field, not both; leave out one of them")

    def read(self, printed: str, *, seconds: float) -> tuple[float, dict[str, float]]:
        """The reward and the measures."""
        line = next((line.strip() for line in reversed(printed.splitlines()) if line.strip()), "")
        wanted = self.measures or {}
        fields = _object(line) if wanted or self.field is not None else {}
        found = {name: _number(f"the field {path!r}", _inside(fields, path)) for name, path in wanted.items()}
        if self.time:
            return seconds, found
        if self.field is not None:
            return _number(f"the field {self.field!r}", _inside(fields, self.field)), found
        try:
            value = float(line)
        except ValueError:
            raise BadOutput(f"the last line must be a number, got {checks.shown(line)}{_hint(line)}") from None
        return _number("the last line", value), found


def _hint(line: str) -> str:
    return "; name the field of the reward with --reward-field" if line.startswith("{") else ""


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadOutput(f"the last line must be a JSON object, got {checks.shown(line)}")
    return found


def _inside(fields: Mapping[str, Any], path: str) -> Any:
    """The value of a field: of that very name, or inside of others by dots."""
    if path in fields:
        return fields[path]
    value: Any = fields
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            raise BadOutput(f"the last line has no field {path!r}, got {checks.shown(json.dumps(fields))}")
        value = value[name]
    return value


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadOutput(f"{what} must be a number, got {checks.shown(value)}")
    try:
        return inputs.reward(float(value), what)
    except (InvalidInput, OverflowError) as error:
        raise BadOutput(str(error)) from None
