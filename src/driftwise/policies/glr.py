"""The generalised likelihood ratio of a change in the mean of sub-Gaussian rewards, for `dal`.

Of n observations with variance proxies v_i, and for every place s at which the mean may have changed,

    Z_s = ½ (ȳ_{1:s} − ȳ_{s+1:n})² W_s (W_n − W_s)/W_n,   W_s = Σ_{i ≤ s} 1/v_i,

with means weighted by 1/v_i: the logarithm of how much likelier two means are than one. If there is one mean,
ȳ_{1:s} − ȳ_{s+1:n} is sub-Gaussian with variance proxy 1/W_s + 1/(W_n − W_s), and P(Z_s ≥ z) ≤ 2e^{−z}. The union over
the n − 1 places and all n is δ at the level ln(2n(n − 1)²/δ), as Σ_{n ≥ 2} 1/(n(n − 1)) = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from driftwise.gp.noise import pair_of
from driftwise.records import Array, Observation


@dataclass(frozen=True, eq=False)
class Samples:
    """What one point gave, oldest first, and the noise of each observation (`gp/noise.py`).

    >>> samples = Samples()
    >>> for y in (0.0, 0.0, 4.0):
    ...     samples = samples.plus(Observation(1, 1.0, (0.0,), y))
    >>> round(samples.statistic(variance=1.0), 9)  # ½ · 4² · 2·1/3
    5.333333333
    """

    y: Array = field(default_factory=lambda: np.zeros(0))  # (n,)
    pairs: Array = field(default_factory=lambda: np.zeros((0, 2)))  # (n, 2)

    def __len__(self) -> int:
        return len(self.y)

    def plus(self, seen: Observation) -> Samples:
        """After one more."""
        return Samples(np.append(self.y, seen.y), np.vstack([self.pairs, pair_of(seen)]))

    def statistic(self, variance: float) -> float:
        """max_s Z_s, where `variance` is that of an observation without a noise of its own.

        With rewards less their mean it is ½ (Σ_{i ≤ s} (y_i − ȳ)/v_i)² W_n/(W_s (W_n − W_s)).
        """
        if len(self) < 2:
            return 0.0
        w = 1 / (self.pairs @ [1.0, variance])
        S = np.cumsum(w * (self.y - np.average(self.y, weights=w)))[:-1]
        before, after = np.cumsum(w)[:-1], np.cumsum(w[::-1])[::-1][1:]  # not W_n − W_s, which rounding can make 0
        return float((0.5 * (S / before) * (S / after) * (before + after)).max())


def alarm_level(n: int, delta: float) -> float:
    """ln(2n(n − 1)²/δ), which the statistics of 2, 3, … observations all stay below but with probability δ.

    >>> round(alarm_level(10, 0.1), 3)
    9.693
    """
    return math.log(2 * n * (n - 1) ** 2 / delta) if n > 1 else math.inf
