"""What the flags of a study are to do."""

from __future__ import annotations

from dataclasses import dataclass

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.service.stored_plan import StoredPlan, seconds

AGGREGATES = ("mean", "rate", "sum")
AT_MOST_A_YEAR = seconds(checks.positive, days=366)


@dataclass(frozen=True)
class FlagPlan(StoredPlan):
    """How the parameters of a study are handed out as flags, and which events are its reward.

    One targeting key keeps its setting for `keep_seconds`. A share `explore` of the keys tries suggestions; all others
    have the recommended setting. An `event` that is tracked counts for the setting that its key has. When `enough`
    events came, or `within_seconds` after the first one, the study is told their mean, their rate or their sum. A rate
    is the share of events whose value is not 0.
    """

    explore: float = 1.0
    keep_seconds: float = 3600.0
    event: str | None = None
    aggregate: str = "mean"
    enough: int = 1
    within_seconds: float | None = None

    def __post_init__(self) -> None:
        checks.settle(
            self,
            explore=checks.nonnegative,
            keep_seconds=AT_MOST_A_YEAR,
            event=checks.optional(checks.name),
            aggregate=lambda name, value: checks.one_of(name, value, AGGREGATES),
            enough=checks.count,
            within_seconds=checks.optional(AT_MOST_A_YEAR),
        )
        if self.explore > 1:
            raise InvalidInput(f"explore must be a share from 0 to 1, got {self.explore!r}; 0.1 lets a tenth explore")

    def reward(self, count: int, total: float, hits: int) -> float:
        """The reward of `count` events with the sum `total`, of which `hits` are not 0."""
        return {"mean": total / count, "rate": hits / count, "sum": total}[self.aggregate]
