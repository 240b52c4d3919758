"""What the plans of flags and of sources have in common: they are stored as JSON, and have times that are bounded."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from driftwise.checks import Rule
from driftwise.errors import InvalidInput

DAY = 86400.0  # seconds


@dataclass(frozen=True)
class StoredPlan:
    """A plan, as the database has it."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        data: dict[str, Any] = json.loads(text)
        return cls(**data)


def seconds(rule: Rule, *, days: int) -> Rule:
    """A time that obeys a rule, and is no longer than so many days."""

    def check(name: str, value: Any) -> float:
        found: float = rule(name, value)
        if found > days * DAY:
            raise InvalidInput(f"{name} must be at most {days} days ({days * DAY:.0f} s), got {value!r}")
        return found

    return check
