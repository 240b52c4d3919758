"""The range that rewards are assumed to lie in, for algorithms that take them from [−1, 1] or [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass, replace

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Observation


@dataclass(frozen=True)
class Range:
    """Rewards between `low` and `high`; those outside are let through, not clipped.

    >>> Range(0, 10).symmetric(5.0), Range(0, 10).unit(5.0)
    (0.0, 0.5)
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        checks.settle(self, low=checks.size, high=checks.size)
        if not self.low < self.high:
            raise InvalidInput(f"low must be below high, got {self.low} and {self.high}: the range of the rewards")

    @property
    def units(self) -> tuple[float, float]:
        """(location, scale): y = location + scale · symmetric(y)."""
        return (self.low + self.high) / 2, (self.high - self.low) / 2

    def symmetric(self, y: float) -> float:
        """y mapped so that [low, high] becomes [−1, 1]."""
        location, scale = self.units
        return (y - location) / scale

    def scaled(self, seen: Observation) -> Observation:
        """The observation with its reward mapped so, and the standard deviation of its noise likewise."""
        std = None if seen.std is None else seen.std / self.units[1]
        return replace(seen, y=self.symmetric(seen.y), std=std)

    def unit(self, y: float) -> float:
        """y mapped so that [low, high] becomes [0, 1]."""
        return (y - self.low) / (self.high - self.low)
