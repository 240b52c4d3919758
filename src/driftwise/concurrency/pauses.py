"""How long to wait before something is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass
class Pauses:
    """Each pause is twice as long as the one before, up to `most` seconds, and random in its upper half.

    >>> pauses = Pauses(0.02, 1.0)
    >>> 0.01 <= pauses.next() <= 0.02 <= pauses.next() <= 0.04
    True
    """

    first: float
    most: float

    def __post_init__(self) -> None:
        self._now = self.first / 2

    def next(self) -> float:
        """Seconds to wait now."""
        self._now = min(2 * self._now, self.most)
        return self._now * random.uniform(0.5, 1.0)
