"""The band that rewards and a norm leave to f: a minimum over ridge regressions (Flynn & Reeb 2024; docs/theory.md).

With probability 1 − δ, ‖y − f‖² ≤ ϱ² = λyᵀ(K + λI)⁻¹y + R²(2g + 2 ln(1/δ)), and ‖f‖ ≤ B. The largest f(x) of all such
f is a convex problem, and every α > 0 bounds it by a ridge regression with α in place of λ,

    f(x) ≤ μ_α(x) + r_α σ_α(x),    α r_α² = αB² + ϱ² − α yᵀ(K + αI)⁻¹y

of which the least is taken. With α = λ that is `widths.MixtureBand`; as α → ∞ it becomes |f(x)| ≤ B √k(x, x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftwise.gp.belief import Belief
from driftwise.gp.grid import GridPosterior
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Point

FACTORS = 4.0 ** np.arange(-3, 16)  # α/λ, of which one is 1
LEAST, MOST = 1e-8, 1e3  # α, as a part of the largest k(x, x), but for λ itself


@dataclass(frozen=True, eq=False)
class Envelope:
    """min_α μ_α(x) + r_α σ_α(x) + Σ_s V_s |a_s(x)|: the upper end of the band; `lower` is the other.

    a are the weights of the regression, and V bounds how far f has moved since each observation.
    """

    regressions: tuple[Posterior, ...]
    reach: Array  # r_α, (k,)
    drift: Array  # V, (n,)

    def __call__(self, X: Array) -> Array:
        upper: Array = self._sides(X, 1.0).min(axis=0)
        return upper

    def lower(self, X: Array) -> Array:
        """The lower end: (m,)."""
        lower: Array = self._sides(X, -1.0).max(axis=0)
        return lower

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """The value and the slope of the regression that is least at each x."""
        values = self._sides(X, 1.0)
        least = values.argmin(axis=0)
        slopes = np.empty(X.shape)
        for i in np.unique(least).tolist():
            slopes[least == i] = self._slope(i, X[least == i])
        return values.min(axis=0), slopes

    def anchors(self) -> Array:
        return self.regressions[0].observed

    def _sides(self, X: Array, sign: float) -> Array:
        """μ_α ± (r_α σ_α + Σ V|a|): (k, m)."""
        ends = np.empty((len(self.regressions), len(X)))
        for i, regression in enumerate(self.regressions):
            mean, std = regression.predict(X)
            half = self.reach[i] * std
            if self.drift.any():
                half = half + np.abs(regression.weights(X)) @ self.drift
            ends[i] = mean + sign * half
        return ends

    def _slope(self, i: int, X: Array) -> Array:
        regression = self.regressions[i]
        _, _, dmean, dstd = regression.predict_gradient(X)
        slope = dmean + self.reach[i] * dstd
        if self.drift.any():
            slope = slope + regression.weights_slope(X, np.sign(regression.weights(X)) * self.drift)
        return slope


def envelope(
    belief: Belief, *, B: float, R: float, delta: float, drift: Array | None = None, pending: Sequence[Point] = ()
) -> Envelope:
    """The band of `belief`, as if the pending points had been answered at the mean."""
    posterior = belief.general if isinstance(belief, GridPosterior) else belief
    assert isinstance(posterior, Posterior)
    V = np.zeros(len(posterior)) if drift is None else drift
    regressions = ridges(posterior)
    squares = squared_radii(regressions, posterior, B=B, R=R, delta=delta, drift=float(np.linalg.norm(V)))
    if (squares < 0).any():  # no f of norm B at most fits the rewards: what is assumed does not hold, and λ is left
        regressions, squares = (posterior,), squares[[each.noise == posterior.noise for each in regressions]]
    reach = np.sqrt(squares / [regression.noise for regression in regressions])
    imagined = tuple(regression.imagine(pending) for regression in regressions)
    return Envelope(imagined, reach, np.append(V, np.zeros(len(pending))))


def ridges(posterior: Posterior) -> tuple[Posterior, ...]:
    """The same observations with each α; with noises of their own, which are in units of λ, with λ alone."""
    if posterior.own is not None or not len(posterior):
        return (posterior,)
    largest = float(posterior.kernel.diagonal(posterior.X).max())
    return tuple(
        posterior if factor == 1 else replace(posterior, noise=factor * posterior.noise, factor=None)
        for factor in FACTORS.tolist()
        if factor == 1 or LEAST * largest <= factor * posterior.noise <= MOST * largest
    )


def squared_radii(
    regressions: Sequence[Posterior], posterior: Posterior, *, B: float, R: float, delta: float, drift: float
) -> Array:
    """α r_α² = αB² + R²(2g + 2 ln(1/δ)) + q, q = λyᵀ(K + λI)⁻¹y − αyᵀ(K + αI)⁻¹y: (k,).

    Drift moves y by at most `drift` = D in length, and |q|^½ by √ν D, ν = |√λ − √α|/(√λ + √α); q ≥ 0 where α ≤ λ.
    """
    noise_part = R**2 * (2 * posterior.information_gain + 2 * math.log(1 / delta))
    alphas, own = np.array([each.noise for each in regressions]), posterior.noise
    q = own * posterior.quadratic - alphas * np.array([each.quadratic for each in regressions])
    moved = drift * np.sqrt(np.abs(np.sqrt(own) - np.sqrt(alphas)) / (np.sqrt(own) + np.sqrt(alphas)))
    size = np.sqrt(np.abs(q))
    worst = np.where(alphas < own, (size + moved) ** 2, -(np.maximum(size - moved, 0.0) ** 2))
    worst = np.where(alphas == own, 0.0, worst)
    radii: Array = alphas * B**2 + noise_part + worst
    return radii
