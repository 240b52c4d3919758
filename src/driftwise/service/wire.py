"""What the service and its client agree on: records as JSON and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Change, Cycle, Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.log import Correction, Counts, Loaded, Outcome
from driftwise.records import Prediction, Receipt, Recommendation, Suggestion
from driftwise.study import Reading

Json = Any
VERSION = "v1"
FLEET_KEYS = 5000  # of a fleet in one request


def segment(name: str) -> str:
    """A name as a segment of a path."""
    return quote(name, safe="")


def suggestion(data: Mapping[str, Json]) -> Suggestion:
    return Suggestion(**{**data, "x": tuple(data["x"])})


def reading(data: Mapping[str, Json]) -> Reading:
    return Reading(**{**data, "x": tuple(data["x"])})


def receipt(data: Mapping[str, Json]) -> Receipt:
    return Receipt(**data)


def recommendation(data: Mapping[str, Json]) -> Recommendation:
    return Recommendation(**data)


def prediction(data: Mapping[str, Json]) -> Prediction:
    measures = {name: (pair[0], pair[1]) for name, pair in data["measures"].items()}
    return Prediction(**{**data, "measures": measures})


def counts(data: Mapping[str, Json]) -> Counts:
    known = {field.name for field in dataclasses.fields(Counts)}
    return Counts(**{name: value for name, value in data.items() if name in known})


def loaded(data: Mapping[str, Json]) -> Loaded:
    return Loaded(**data)


def diagnosis(data: Mapping[str, Json]) -> Diagnosis:
    change = None if data["change"] is None else Change(**data["change"])
    cycle = None if data["cycle"] is None else Cycle(**data["cycle"])
    return Diagnosis(**{**data, "change": change, "cycle": cycle, "outliers": tuple(data["outliers"])})


def moment(data: Mapping[str, Json]) -> Moment:
    return Moment(data["number"], data["at"], diagnosis(data["drift"]))


def change(data: Mapping[str, Json]) -> NoticedChange:
    return NoticedChange(**data)


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
