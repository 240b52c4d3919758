"""The acquisition function: an upper confidence bound of every row, on every scale, in the unit of the reward.

    (1 − π(x)) Σ weight_ew value_w(μ_ew + c b_e σ_ew) + π(x)·(value of far readings)

with the exploration bonus b_e that just pays off. A level that moves on its own is part of σ: how large it is beside
the function is uncertain, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.auto.far import place_rate
from driftwise.auto.mixture import Mixture
from driftwise.records import Array

HEARD = 0.98  # share of the weight of the rows that choose
CLIMBING = 0.95  # the same for climbs in a box


@dataclass(frozen=True, eq=False)
class Acquisition:
    """A score, to be maximised. `width` is c."""

    belief: Mixture
    width: float

    def __call__(self, X: Array) -> Array:
        return self._of(X, HEARD, slopes=False)[0]

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        return self._of(X, CLIMBING, slopes=True)

    def anchors(self) -> Array:
        return self.belief.observed

    def _of(self, X: Array, least: float, *, slopes: bool) -> tuple[Array, Array]:
        belief, total, gradient = self.belief, np.empty(len(X)), np.zeros_like(X)
        for rows, seen in belief.evaluated(X, least):
            wide = self.width * seen.predictors.bonus[:, None, None]
            value, slope = belief.valued(seen.mean + wide * seen.std)
            share = seen.weight / seen.weight.sum()
            total[rows] = (share * value).sum(axis=(0, 1))
            if slopes:
                gradient[rows] = belief.sloped(X[rows], seen, share * slope, share * slope * wide)
        if belief.far is not None:
            pi, dpi = place_rate(belief.window, belief.far[0], X)
            gradient = (1 - pi)[:, None] * gradient + (belief.far[1] - total)[:, None] * dpi
            total = total + pi * (belief.far[1] - total)
        return total, gradient
