"""What the service and its client agree on: records as JSON and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

from driftwise.log import Correction, Outcome

Json = Any
Record = TypeVar("Record")
VERSION = "v1"
FLEET_KEYS = 5000  # of a fleet in one request


def segment(name: str) -> str:
    """A name as a segment of a path."""
    return quote(name, safe="")


_adapter: Any = cache(TypeAdapter)


def read(kind: type[Record], data: Json) -> Record:
    """The record that was sent."""
    found: Record = _adapter(kind).validate_python(data)
    return found


def told_outcome(outcome: Outcome | None) -> Json:
    """What was told; None is a retraction. A failure has no reward."""
    if outcome is None:
        return None
    reward = None if outcome.failed else outcome.y
    found = {"reward": reward, "std": outcome.std, "repeats": outcome.repeats, "failed": outcome.failed}
    return found | {"measures": dict(outcome.measures)}


def outcome(data: Mapping[str, Json] | None) -> Outcome | None:
    if data is None:
        return None
    y = math.nan if data["failed"] else data["reward"]
    return Outcome(y, data["std"], data["repeats"], tuple(sorted(data["measures"].items())), data["failed"])


def told_correction(made: Correction) -> dict[str, Json]:
    plain = {name: getattr(made, name) for name in ("ordinal", "number", "who", "when", "why")}
    return plain | {"before": told_outcome(made.before), "after": told_outcome(made.after)}


def correction(data: Mapping[str, Json]) -> Correction:
    return Correction(**{**data, "before": outcome(data["before"]), "after": outcome(data["after"])})


def as_json(record: Any) -> Json:
    """A record as dicts and lists, without copying what is inside of parameters."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {field.name: as_json(getattr(record, field.name)) for field in dataclasses.fields(record)}
    return list(record) if isinstance(record, tuple) else record
