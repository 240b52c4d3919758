"""The log in the user's words: readings, a table of them, and rows that are loaded."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Observation, Params, Point

BATCH = 5000  # rows that are loaded in one transaction
ROW = ("params", "reward", "at", "key", "context", "std", "repeats", "measures", "failed")


@dataclass(frozen=True, slots=True)
class Reading:
    """An observation in your own units. `reward` is None if the setting failed."""

    number: int
    at: float
    params: Params
    reward: float | None
    context: Params | None = None
    std: float | None = None
    repeats: int = 1
    measures: Mapping[str, float] = field(default_factory=dict)
    failed: bool = False
    x: Point = field(default=(), repr=False)  # the setting, and the context, as the policy sees them

    @property
    def y(self) -> float:
        """The reward; nan if the setting failed."""
        return math.nan if self.reward is None else self.reward


def reading(seen: Observation, params: Params, context: Params | None) -> Reading:
    """An observation as the user knows it."""
    reward = None if seen.failed else seen.y
    details = (context, seen.std, seen.repeats, dict(seen.measures), seen.failed)
    return Reading(seen.number, seen.at, params, reward, *details, x=seen.x)


def columns(readings: Iterable[Reading]) -> dict[str, list[Any]]:
    """A column for each part of the readings; a parameter that is called as one of ours is `params.NAME`.

    A column of details (std, repeats, failed, a measure) is there only if a reading has it.
    """
    rows = list(readings)
    made: dict[str, list[Any]] = {"number": [r.number for r in rows], "at": [r.at for r in rows]}
    for part in ("params", "context"):
        names = dict.fromkeys(name for r in rows for name in getattr(r, part) or {})
        for name in names:
            made[_column(part, name)] = [(getattr(r, part) or {}).get(name) for r in rows]
    made["reward"] = [r.reward for r in rows]
    for name in dict.fromkeys(name for r in rows for name in r.measures):
        made[_column("measures", name)] = [r.measures.get(name) for r in rows]
    if any(r.std is not None for r in rows):
        made["std"] = [r.std for r in rows]
    if any(r.repeats != 1 for r in rows):
        made["repeats"] = [r.repeats for r in rows]
    if any(r.failed for r in rows):
        made["failed"] = [r.failed for r in rows]
    return made


OURS = frozenset({"number", "at", "reward", "std", "repeats", "failed", "key"})


def _column(part: str, name: str) -> str:
    return f"{part}.{name}" if part == "measures" or name in OURS else name


def frame(readings: Iterable[Reading]) -> Any:
    """A pandas DataFrame where pandas is installed, and otherwise a dict of columns."""
    made = columns(readings)
    if importlib.util.find_spec("pandas") is None:
        return made
    import pandas as pd

    return pd.DataFrame(made)


def batches(rows: Iterable[Any]) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
    """Rows to be loaded, BATCH at a time, each with the number of its first row."""
    batch: list[Mapping[str, Any]] = []
    first = 1
    for number, row in enumerate(rows, 1):
        batch.append(as_row(row) if isinstance(row, Reading) else row)
        if len(batch) == BATCH:
            yield first, batch
            first, batch = number + 1, []
    if batch:
        yield first, batch


def checked(number: int, row: Any) -> Mapping[str, Any]:
    """A row of which every entry is known."""
    if not isinstance(row, Mapping):
        raise InvalidInput(f"row {number} must be a dict with params and reward, or a Reading, got {checks.shown(row)}")
    unknown = [name for name in row if name not in ROW]
    if unknown:
        raise InvalidInput(
            f"row {number} has an unknown entry {checks.shown(unknown[0])}; it may have {', '.join(ROW)}"
        )
    if "params" not in row:
        raise InvalidInput(f"row {number} has no params; give a dict of the parameters and their values")
    return row


def as_row(reading: Reading) -> dict[str, Any]:
    """A reading as a row to be loaded, with the time it had."""
    return {
        "params": reading.params,
        "reward": reading.reward,
        "at": reading.at,
        "context": reading.context,
        "std": reading.std,
        "repeats": reading.repeats,
        "measures": reading.measures,
        "failed": reading.failed,
    }
