"""The belief of a linear model in features: any estimate θ of the coefficients, and how sure V makes one of it.

μ(x) = φ(x)ᵀθ and σ²(x) = ρ²(x) + λ φ(x)ᵀV⁻¹φ(x), where V = λI + Σ φφᵀ and ρ² is what the features leave out of k(x, x).
With θ = V⁻¹Σ φy and features that leave nothing out it is the Gaussian process itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.gp.linalg import invert_positive
from driftwise.policies.beliefs.features import Features
from driftwise.records import Array, Point


@dataclass(frozen=True, eq=False)
class FeatureRidge:
    """θ and V, of `count` observations at `observed`; `left_out` is Σ ρ² over these."""

    features: Features
    noise: float  # λ
    theta: Array  # (m,)
    V: Array  # (m, m)
    observed: Array  # (n, d)
    left_out: float = 0.0
    units: tuple[float, float] = (0.0, 1.0)

    def __len__(self) -> int:
        return len(self.observed)

    @cached_property
    def inverse(self) -> Array:
        """V⁻¹: (m, m)."""
        return invert_positive(self.V)

    @property
    def effective(self) -> float:
        """tr V⁻¹Σφφᵀ = m − λ tr V⁻¹: how many coefficients the data determine."""
        return float(len(self.V) - self.noise * np.trace(self.inverse))

    def predict(self, X: Array) -> tuple[Array, Array]:
        phi = self.features(X)
        return phi @ self.theta, np.sqrt(self._variance(X, phi))

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        phi, slopes = self.features(X), self.features.gradient(X)
        std = np.sqrt(self._variance(X, phi))
        own = np.array([self.features.kernel.gradient(x[None], x[None])[0, 0] for x in X])  # half of ∂k(x, x)/∂x
        weights = self.noise * phi @ self.inverse - phi
        dvariance = 2 * (own + np.einsum("nm,nmd->nd", weights, slopes))
        dmean = np.einsum("m,nmd->nd", self.theta, slopes)
        return phi @ self.theta, std, dmean, dvariance / (2 * np.maximum(std, 1e-12)[:, None])

    def _variance(self, X: Array, phi: Array) -> Array:
        left_out = np.maximum(self.features.kernel.diagonal(X) - np.einsum("nm,nm->n", phi, phi), 0.0)
        return np.asarray(left_out + self.noise * np.maximum(np.einsum("nm,nm->n", phi @ self.inverse, phi), 0.0))

    def imagine(self, points: Sequence[Point]) -> FeatureRidge:
        """As if the pending `points` had been answered at the mean: θ stays, and V grows."""
        if not points:
            return self
        phi = self.features(np.array(points))
        return replace(self, V=self.V + phi.T @ phi)

    @property
    def information_gain(self) -> float:
        """½ ln det(V/λ)."""
        return float(0.5 * np.linalg.slogdet(self.V / self.noise)[1])

    @property
    def jitter(self) -> float:
        return 0.0
