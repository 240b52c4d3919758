"""The acquisition function: what a setting gives once, and what a discovery gains while the function stays as it is.

For row e and warp w of the mixture, with H_e steps for which a discovery pays:

    (1 − π(x)) Σ weight_ew E[f + H_e (f − best)⁺] + π(x)·(value of far readings),    f = value_w(μ_ew + c σ_ew z)

with z standard normal and `best` the largest mean of a setting that was read. σ is what is left of it if the function
is known there: to learn more about the best setting gains nothing. For one Gaussian process another setting is
preferred to the best one just where that pays off on average. A bound μ + βσ would not know that a cost on the scale of
logarithms cannot fall far below the best, and would try dear settings for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftwise.auto.far import place_rate
from driftwise.auto.mixture import Mixture
from driftwise.records import Array

HEARD = 0.98  # share of the weight of the rows that choose
CLIMBING = 0.95  # the same for climbs in a box
FAINT = 1e-3  # share of the weight of a warp that is heard
DEVIATES = np.linspace(-4.0, 4.0, 17)  # at which z is looked at
DENSITY = np.exp(-0.5 * DEVIATES**2) / np.exp(-0.5 * DEVIATES**2).sum()


@dataclass(frozen=True, eq=False)
class Acquisition:
    """A score, to be maximised. `width` is c, and `known` are the settings of which `best` is the largest mean."""

    belief: Mixture
    width: float
    known: Array

    @cached_property
    def _base(self) -> tuple[float, Mixture]:
        """The largest mean, in standardised rewards, and the belief if that setting were known exactly."""
        if not len(self.known):
            return 0.0, self.belief
        mean = self.belief.predict(self.known)[0]
        return float(mean.max()), self.belief.given(self.known[int(np.argmax(mean))])

    def __call__(self, X: Array) -> Array:
        return self._of(X, HEARD, slopes=False)[0]

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        return self._of(X, CLIMBING, slopes=True)

    def anchors(self) -> Array:
        return self.belief.observed

    def _of(self, X: Array, least: float, *, slopes: bool) -> tuple[Array, Array]:
        (best, belief), total, gradient = self._base, np.empty(len(X)), np.zeros_like(X)
        for rows, seen in belief.evaluated(X, least):
            H, share = seen.predictors.horizon[:, None, None], seen.weight / seen.weight.sum()
            worth, on_mean, on_std = np.zeros(seen.mean.shape[2]), np.zeros_like(seen.mean), np.zeros_like(seen.std)
            for w in np.flatnonzero(share.sum(axis=(0, 2)) > FAINT).tolist():
                t = seen.mean[:, w, :, None] + self.width * seen.std[:, w, :, None] * DEVIATES
                value, slope = belief.window.warps[w].value(t)
                gain = np.maximum(value - best, 0.0)
                worth += (share[:, w] * ((value + H * gain) @ DENSITY)).sum(axis=0)
                if slopes:
                    slope *= 1 + H * (gain > 0)
                    on_mean[:, w] = share[:, w] * (slope @ DENSITY)
                    on_std[:, w] = share[:, w] * self.width * (slope @ (DENSITY * DEVIATES))
            total[rows] = worth
            if slopes:
                gradient[rows] = belief.sloped(X[rows], seen, on_mean, on_std)
        if belief.far is not None:
            pi, dpi = place_rate(belief.window, belief.far[0], X)
            gradient = (1 - pi)[:, None] * gradient + (belief.far[1] - total)[:, None] * dpi
            total = total + pi * (belief.far[1] - total)
        return total, gradient
