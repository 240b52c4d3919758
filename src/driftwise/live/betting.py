"""Bets against a hypothesis: capital that cannot be expected to grow while it is true, at any number of readings.

Capital is multiplied by 1 + f·x, where x ≥ −1 has no positive mean under the hypothesis. For every stake f in (0, 1)
it is a supermartingale, and so is the mean over STAKES: it reaches 1/α at any time with probability α at most (Ville;
Waudby-Smith and Ramdas 2024: estimating means of bounded random variables by betting). Nothing is asymptotic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.feasible import Limit
from driftwise.records import Array

STAKES = np.array([0.01, 0.03, 0.1, 0.3, 0.6, 0.9])


class Capital(NamedTuple):
    """What bets have made of 1: the logarithm for each stake, (..., stakes)."""

    logs: Array = 0 * STAKES

    def after(self, gain: Any) -> Capital:
        """After a bet that paid `gain` ≥ −1 for each 1 that was staked."""
        return Capital(self.logs + np.log1p(STAKES * np.asarray(gain, dtype=float)[..., None]))

    @property
    def evidence(self) -> Any:
        """log of the capital."""
        top = self.logs.max(axis=-1)
        return top + np.log(np.exp(self.logs - top[..., None]).mean(axis=-1))


def breach(value: Any, limit: Limit) -> Any:
    """What a bet that a measure breaks its limit on average pays, for a value ≥ 0 and one limit > 0.

    Above a limit that is at least something, a value counts as twice the limit at most.
    """
    if limit.high is not None:
        return np.maximum(value, 0.0) / limit.high - 1
    assert limit.low is not None
    return 1 - np.clip(value / limit.low, 0.0, 2.0)


class Bets(NamedTuple):
    """Bets on readings within bounds: that the effect of a candidate is above, and that it is below what is given."""

    above: Capital = Capital()
    below: Capital = Capital()

    def after(
        self,
        role: Any,
        share: Any,
        reading: Any,
        forecast: Any,
        *,
        bounds: tuple[float, float],
        above: float = 0.0,
        below: float = 0.0,
    ) -> Bets:
        """After one more reading and the forecast that it had; the bets are on effects above `above`, below `below`."""
        low, high = bounds
        guess = np.clip(forecast, low, high)  # a forecast that no reading can reach helps nobody
        q, most = share * (1 - share), np.maximum(share, 1 - share) * np.maximum(high - guess, guess - low)

        def gain(effect: float, side: float) -> Any:
            score = (role - share) * (np.clip(reading, low, high) - guess) - q * effect
            return np.maximum(side * score / (most + q * abs(effect)), -1.0)  # rounding

        return Bets(self.above.after(gain(above, 1.0)), self.below.after(gain(below, -1.0)))
