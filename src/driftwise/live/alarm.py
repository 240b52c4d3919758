"""A candidate that turns bad later: the running mean would take as long to say so as it was good before.

An e-detector (Shin, Ramdas and Rinaldo 2024) begins the martingale of `effect` again whenever it falls below 1:
M ← max(M, 1) · exp(−λX − λ²v/2), the mean of it over a few λ. As long as the effect is −margin or more there are
1/α readings on average before M first reaches 1/α.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.records import Array

RATES = np.array([0.25, 0.5, 1.0, 2.0])  # λ, in standard deviations of a reading
FALSE = 1e-6  # α: a reading a minute is half a million a year


class Alarm(NamedTuple):
    """log M for each λ: (..., rates)."""

    logs: Array = 0 * RATES

    def after(self, role: Any, share: Any, residual: Any, *, scale: Any, margin: float) -> Alarm:
        """After one more reading: A, p and d, where readings are spread about their forecasts by `scale`."""
        q = share * (1 - share)
        score = (role - share) * residual + q * margin
        apart = residual - (1 - role - share) * margin
        variance = np.maximum(score * score, (score * score + 2 * q * apart * apart) / 3)
        rate = RATES / np.asarray(scale, dtype=float)[..., None]
        each = np.asarray(score)[..., None], np.asarray(variance)[..., None]
        return Alarm(np.maximum(self.logs, 0.0) - rate * each[0] - rate * rate * each[1] / 2)

    @property
    def rings(self) -> Any:
        top = self.logs.max(axis=-1)
        return top + np.log(np.exp(self.logs - top[..., None]).mean(axis=-1)) >= math.log(1 / FALSE)
