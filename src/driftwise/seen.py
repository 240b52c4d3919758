"""The last observations, as the experts of a bank see them: rewards standardised robustly, time in typical gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.posterior import location_scale
from driftwise.records import Array, Observation

TAIL = 10  # one in so many rewards, at either end, may be an outlier
EVER = 1e12  # gaps: beyond, all is forgotten or nothing ever is
REACH = 3.0  # rewards are cut off so many times the range of the rest beyond it


@dataclass(frozen=True, eq=False)
class Seen:
    """Observations in the order of their numbers. It never changes; `observe` returns the next."""

    numbers: NDArray[np.int64]  # (n,)
    at: Array  # (n,)
    X: Array  # (n, d)
    y: Array  # (n,)

    @classmethod
    def nothing(cls, dim: int) -> Seen:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, dim)), np.zeros(0))

    def __len__(self) -> int:
        return len(self.y)

    def observe(self, seen: Observation, *, keep: int) -> Seen:
        """The last `keep` observations after `seen`."""
        old = slice(max(len(self) - keep + 1, 0), None)
        return Seen(
            np.append(self.numbers[old], seen.number),
            np.append(self.at[old], seen.at),
            np.vstack([self.X[old], seen.x]),
            np.append(self.y[old], seen.y),
        )

    def place(self, number: int) -> int:
        """Where in the window the observations from `number` on begin."""
        return int(np.searchsorted(self.numbers, number))

    @cached_property
    def cut(self) -> Array:
        """The rewards, those far beyond the range of most cut off: (n,)."""
        n = len(self)
        if n < 5:
            return self.y
        few = max(n // TAIL, 1)
        ordered = np.sort(self.y)
        low, high = ordered[few], ordered[n - 1 - few]
        spread = high - low
        if not spread > 1e-12 * max(abs(low), abs(high)):  # most are equal: the rest is all there is to see
            return self.y
        return np.clip(self.y, low - REACH * spread, high + REACH * spread)

    @cached_property
    def units(self) -> tuple[float, float]:
        """(location, scale): a reward is location + scale · target."""
        return location_scale(self.cut)

    @cached_property
    def targets(self) -> Array:
        """The rewards as experts see them: (n,)."""
        location, scale = self.units
        return (self.cut - location) / scale

    @cached_property
    def gap(self) -> float:
        """The typical time between two observations."""
        with np.errstate(over="ignore"):
            gaps = np.abs(np.diff(self.at))
        gaps = gaps[(gaps > 0) & np.isfinite(gaps)]
        return float(np.median(gaps)) if len(gaps) else 1.0

    @cached_property
    def clock(self) -> Array:
        """The time of each observation in typical gaps, before the last one: (n,)."""
        return self.since_last(self.at)

    def since_last(self, at: Array) -> Array:
        """Times as the clock has them, EVER at the most."""
        last = self.at[-1] if len(self) else 0.0
        with np.errstate(over="ignore"):
            return np.clip((at - last) / self.gap, -EVER, EVER)
