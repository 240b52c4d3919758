"""What was answered, and how long that took: one histogram for each route."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


@dataclass
class Histogram:
    """Times, counted by size."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect.bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


Answered = dict[tuple[str, str, int], Histogram]


class Requests:
    """Times by method, route and status. A route is the pattern of a path, never a name that a caller chose."""

    def __init__(self) -> None:
        self.seen: Answered = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self.seen.setdefault((method, route, status), Histogram()).add(seconds)

    def snapshot(self) -> Answered:
        """What was seen until now, which does not change any more."""
        return {key: Histogram(list(each.counts), each.seconds) for key, each in self.seen.items()}
