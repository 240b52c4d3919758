"""The posterior of observations that count for less the older they are (Deng et al. 2022), as growing noise.

With weights u_s, 1 for the newest, weighted regression has the mean and deviation of a Gaussian process whose noise
variance is λ/u_s at observation s: A = K + λU⁻¹, a(x) = A⁻¹k(x),

    μ̃ = aᵀy,    σ̃² = k(x,x) − kᵀa,    σ́² = σ̃² − λ Σ_s a_s² (1/u_s − 1)

σ̃ is the single-weighted deviation, which WGP-UCB's β multiplies. σ́² = λφᵀV⁻¹ṼV⁻¹φ ≤ σ̃² is the double-weighted one,
which the paper deems out of reach for kernels; the formula for it is ours. Where observations have a noise of their own
(`gp/noise.py`), λ_s takes the place of λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from driftwise.gp.linalg import cholesky
from driftwise.gp.posterior import OnPosterior, Posterior
from driftwise.records import Array, Observation, Point


@dataclass(frozen=True, eq=False)
class WeightedPosterior(OnPosterior):
    """A `Belief` with the deviation σ̃, or σ́ if `double`.

    >>> from driftwise.gp.kernels import Linear
    >>> seen = Posterior(Linear(), 1.0).append([1.0], 1.0).append([1.0], 0.0)
    >>> mean, std = WeightedPosterior.of(seen, np.array([0.5, 1.0])).predict(np.array([[1.0]]))
    >>> round(float(mean[0]), 9), round(float(std[0] ** 2), 9)
    (0.2, 0.4)
    """

    posterior: Posterior  # its K has λ_s(1/u_s − 1) on the diagonal already, to which it adds λ_s
    u: Array = field(repr=False)  # (n,), oldest first
    double: bool = False

    @classmethod
    def of(cls, posterior: Posterior, u: Array, *, double: bool = False) -> WeightedPosterior:
        """Of the observations of `posterior`, weighted by u, in (0, 1]."""
        return cls(replace(posterior, K=posterior.K + np.diag(posterior.noises * (1 / u - 1)), factor=None), u, double)

    def observe(self, seen: Observation, *, keep: int | None = None) -> WeightedPosterior:
        """The posterior after one more observation, of weight 1; the weights of the others stay."""
        aged = self.posterior.observe(seen, keep=keep)
        return WeightedPosterior(aged, np.append(self.u, 1.0)[-len(aged) :], self.double)

    def imagine(self, points: Sequence[Point]) -> WeightedPosterior:
        """As if the pending `points` had been answered at the mean, with weight 1."""
        return WeightedPosterior(self.posterior.imagine(points), np.append(self.u, np.ones(len(points))), self.double)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ̃ and σ̃, or σ́, for the rows of X."""
        mean, std = self.posterior.predict(X)
        return (mean, self._narrowed(std, self.posterior.weights(X))) if self.double else (mean, std)

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Both, and their gradients in x: σ́ ∇σ́ = σ̃ ∇σ̃ − λ Σ a_s (1/u_s − 1) ∇a_s."""
        mean, std, dmean, dstd = self.posterior.predict_gradient(X)
        if not self.double:
            return mean, std, dmean, dstd
        a = self.posterior.weights(X)
        narrowed = self._narrowed(std, a)
        slope = std[:, None] * dstd - self.noise * self.posterior.weights_slope(X, a * self._surplus)
        return mean, narrowed, dmean, slope / np.maximum(narrowed, 1e-12)[:, None]

    def weights(self, X: Array) -> Array:
        """a(x): (m, n)."""
        return self.posterior.weights(X)

    @property
    def information_gain(self) -> float:
        """½ ln det(I + UKU/λ), the double-weighted gain that WGP-UCB's β has."""
        if not len(self):
            return 0.0
        # λU⁻² in place of λU⁻¹ on the diagonal: ½ ln det(K + λU⁻²) − ½ Σ ln(λ/u²)
        u, noises = self.u, self.posterior.noises
        L, _ = cholesky(self.posterior.K + np.diag(noises / u**2 - noises / u), noises)
        return max(float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(noises / u**2).sum()), 0.0)

    @property
    def _surplus(self) -> Array:
        """λ_s(1/u_s − 1)/λ: (n,)."""
        return self.posterior.noises / self.noise * (1 / self.u - 1)

    def _narrowed(self, std: Array, a: Array) -> Array:
        """σ́ from σ̃ and a."""
        narrowed: Array = np.sqrt(np.maximum(std**2 - self.noise * (a**2 @ self._surplus), 0.0))
        return narrowed
