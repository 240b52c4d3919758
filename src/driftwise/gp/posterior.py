"""The Gaussian-process posterior over a window of observations: Eqs. (1) and (2) of the paper.

A `Posterior` never changes: `append`, `drop_oldest` and `observe` return the next one. Notation as in docs/notation.md:
A = K + λI, L Lᵀ = A, W = L⁻¹, so that A⁻¹ = WᵀW. Where observations have a noise of their own (`gp/noise.py`),
A = K + diag(λ_i), and it is factorised anew after each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Kernel, Stationary
from driftwise.gp.linalg import border, cholesky, extend_inverse_lower, invert_lower, times_lower
from driftwise.gp.noise import PLAIN, Own, Pair, appended, location_scale, log_total, pair_of, selected, variances
from driftwise.records import Array, Observation, Point

_NOTHING = np.zeros((0, 0))
BLOCK = 25_000  # entries of k(X) computed at a time: in the cache and without fresh pages it goes four times faster
SINGULAR = 1e-9  # a variance below this part of the largest prior variance: W is not extended but factorised anew


@dataclass(frozen=True, eq=False)
class Posterior:
    """GP(0, k) given n observations with noise variance λ; with `standardise`, rewards are centred and scaled.

    Args:
        kernel: the covariance k.
        noise: the variance λ of the noise.
        standardise: whether the rewards are centred and scaled; predictions are in their own units all the same.
        X: the points, oldest first; `append` and `observe` add to them.
        y: their rewards.
        K: the kernel matrix of the points.
        fixed_units: a location and a scale of the rewards that hold whatever they are.
        factor: the Cholesky factor of K and its jitter, where they are known.
        own: the noises of the observations' own, if any has one.

    >>> from driftwise.gp.kernels import RBF
    >>> posterior = Posterior(RBF(0.2), noise=0.01).append([0.5], 1.0)
    >>> mean, std = posterior.predict(np.array([[0.5], [3.0]]))
    >>> mean.round(4).tolist(), std.round(4).tolist()
    ([0.9901, 0.0], [0.0995, 1.0])
    """

    kernel: Kernel
    noise: float
    standardise: bool = False
    X: Array = field(default_factory=_NOTHING.copy, repr=False)  # (n, d), oldest first
    y: Array = field(default_factory=lambda: np.zeros(0), repr=False)  # (n,)
    K: Array = field(default_factory=_NOTHING.copy, repr=False)  # (n, n)
    fixed_units: tuple[float, float] | None = field(default=None, repr=False)  # what `units` says, whatever y is
    factor: tuple[Array, float] | None = field(default=None, repr=False)  # W and its jitter, if these are known for K
    own: Own = field(default=None, repr=False)  # (n, 2): the noises of the observations' own, if any has one

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", checks.positive("noise", self.noise, fix="it is a variance, e.g. 0.01"))

    def __len__(self) -> int:
        return len(self.y)

    # --- the fold -----------------------------------------------------------------------------------------------

    def append(self, x: Sequence[float] | Array, y: float) -> Posterior:
        """The posterior after one more observation: O(n²), or O(n³) if any has a noise of its own."""
        return self._after(x, y, PLAIN)

    def _after(self, x: Sequence[float] | Array, y: float, own: Pair) -> Posterior:
        X, y_all, K = self._appended(x, y)
        if self.own is not None or own != PLAIN:
            return self._with(X, y_all, K, own=appended(self.own, len(self), own))
        v = self._W @ K[-1, :-1]
        s2 = max(K[-1, -1] - v @ v, 0.0) + self.noise
        if s2 <= SINGULAR * np.diagonal(K).max():
            return self._with(X, y_all, K)
        W = extend_inverse_lower(self._W, v[None], np.array([[s2**-0.5]]))
        return self._with(X, y_all, K, (W, self.jitter))

    def drop_oldest(self) -> Posterior:
        """The posterior without the oldest; the factor is computed anew when needed, so errors do not accumulate."""
        if not len(self):
            raise InvalidInput("drop_oldest needs an observation to drop, got none; append one first")
        return self._with(self.X[1:], self.y[1:], self.K[1:, 1:], own=selected(self.own, slice(1, None)))

    def observe(self, seen: Observation, *, keep: int | None = None) -> Posterior:
        """The posterior after `seen`, of the last `keep` observations if that is given.

        With `keep` the answer depends on these observations alone, to the last bit, and not on the path to them.
        """
        checks.like("seen", seen, ("x", "y", "std", "repeats"), "an Observation")
        if keep is None:
            return self._after(seen.x, seen.y, pair_of(seen))
        kept = slice(-checks.count("keep", keep), None)
        X, y, K = self._appended(seen.x, seen.y)
        own = selected(appended(self.own, len(self), pair_of(seen)), kept)
        return self._with(X[kept], y[kept], K[kept, kept], own=own)

    def select(self, kept: NDArray[np.intp]) -> Posterior:
        """Of the observations at the indices `kept` alone, oldest first."""
        return self._with(self.X[kept], self.y[kept], self.K[np.ix_(kept, kept)], own=selected(self.own, kept))

    def imagine(self, points: Sequence[Point]) -> Posterior:
        """As if the pending `points` had been answered at the mean: the mean stays, the variance shrinks."""
        points = checks.each("points", points, _row, "[(0.5,)]")
        if not points:
            return self
        location, scale = self.units
        imagined = replace(self, fixed_units=self.units, factor=self._root)
        for x in points:
            mean, _ = imagined.predict(np.array([x]))
            imagined = imagined.append(x, location + scale * mean[0])
        return imagined

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ(x) = kᵀA⁻¹y and σ(x) = √(k(x,x) − kᵀA⁻¹k) for the rows of X."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype != float:
            X = checks.table("X", X)
        rows = max(BLOCK // max(len(self), 1), 1)
        if len(X) > rows:
            means, stds = zip(*(self._moments(X[i : i + rows])[:2] for i in range(0, len(X), rows)), strict=True)
            return np.concatenate(means), np.concatenate(stds)
        return self._moments(X)[:2]

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x: (m,), (m,), (m, d), (m, d)."""
        if isinstance(self.kernel, Stationary) and len(self):
            return self._stationary_gradient(X, self.kernel)
        mean, std, V = self._moments(X)
        m, n = V.shape
        G = self.kernel.gradient(X, np.vstack([self.X.reshape(n, -1), X]) if n else X)  # (m, n + m, d)
        own = G[np.arange(m), n + np.arange(m)]  # (m, d); ∂k(x,x)/∂x is twice this
        slopes = self._both_weights(V) @ G[:, :n]  # (m, 2, d)
        return mean, std, slopes[:, 0], (own - slopes[:, 1]) / np.maximum(std, 1e-12)[:, None]

    def _stationary_gradient(self, X: Array, kernel: Stationary) -> tuple[Array, Array, Array, Array]:
        """The same by products of matrices: Σ_s w_s F_s (x_s − x)/ℓ² = (Σ_s w_s F_s x_s − x Σ_s w_s F_s)/ℓ²."""
        k, F = kernel.with_factor(X, self.X)  # (m, n) each
        mean, std, V = self._moments(X, k)
        weights = self._both_weights(V) * F[:, None, :]  # (m, 2, n)
        slopes = weights @ self.X - weights.sum(axis=2)[:, :, None] * X[:, None, :]  # (m, 2, d)
        slopes /= np.square(np.asarray(kernel.lengthscale))
        return mean, std, slopes[:, 0], slopes[:, 1] / -np.maximum(std, 1e-12)[:, None]

    def _both_weights(self, V: Array) -> Array:
        """A⁻¹y, with which the mean is kᵀA⁻¹y, and A⁻¹k of each row: (m, 2, n)."""
        weights = np.empty((len(V), 2, len(self)))
        weights[:, 0] = self._alpha
        weights[:, 1] = V @ self._W
        return weights

    def weights(self, X: Array) -> Array:
        """α(x) = A⁻¹k(x), so that μ(x) = α(x)ᵀy: (m, n)."""
        if not len(self):
            return np.zeros((len(X), 0))
        return (self.kernel(X, self.X) @ self._W.T) @ self._W

    def weights_slope(self, X: Array, C: Array) -> Array:
        """Σ_s C_s ∂α_s(x)/∂x for the rows of X and of C, (m, n), that is CᵀA⁻¹ ∂k(x)/∂x: (m, d)."""
        if not len(self):
            return np.zeros_like(X)
        return np.einsum("mn,mnd->md", times_lower(C, self._W) @ self._W, self.kernel.gradient(X, self.X))

    @property
    def observed(self) -> Array:
        """The points observed, oldest first: (n, d)."""
        return self.X

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), from the factor's diagonal: ½ ln det A − ½ Σ ln λ_i."""
        gain = -np.log(np.diagonal(self._W)).sum() - 0.5 * log_total(self.noises, len(self))
        return max(float(gain), 0.0)  # rounding can leave −1e−17

    @property
    def quadratic(self) -> float:
        """yᵀA⁻¹y."""
        return float(self.targets @ self._alpha)

    @property
    def jitter(self) -> float:
        """What was added to A's diagonal for the factorisation, relative to its largest entry: 0 nearly always."""
        return self._root[1]

    # --- in the user's units ------------------------------------------------------------------------------------

    @cached_property
    def units(self) -> tuple[float, float]:
        """(location, scale) of the standardised rewards: a reward is location + scale · target."""
        if self.fixed_units is not None:
            return self.fixed_units
        return location_scale(self.y, self.own) if self.standardise else (0.0, 1.0)

    @cached_property
    def targets(self) -> Array:
        """The rewards, centred and scaled with `standardise`: (n,)."""
        location, scale = self.units
        return (self.y - location) / scale if self.standardise else self.y

    @cached_property
    def noises(self) -> float | Array:
        """λ, or that of each observation if any has one of its own: (n,)."""
        if self.own is None:
            return self.noise
        prior = float(self.kernel.diagonal(self.X).max())
        return variances(self.own, self.noise, scale=self.units[1] if self.standardise else 1.0, prior=prior)

    # --- machinery ----------------------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> tuple[Array, float]:
        """W = L⁻¹ and the jitter it took."""
        if self.factor is not None:
            return self.factor
        if not len(self):
            return _NOTHING, 0.0
        L, jitter = cholesky(self.K, self.noises)
        return invert_lower(L), jitter

    @property
    def _W(self) -> Array:
        return self._root[0]

    @cached_property
    def _alpha(self) -> Array:
        """A⁻¹y."""
        return self._W.T @ (self._W @ self.targets)

    def _moments(self, X: Array, k: Array | None = None) -> tuple[Array, Array, Array]:
        """μ, σ and V = k(X)Wᵀ, whose rows have kᵀA⁻¹k for their squared lengths: (m,), (m,), (m, n)."""
        prior = self.kernel.diagonal(X)
        if not len(self):
            return np.zeros(len(X)), np.sqrt(prior), np.zeros((len(X), 0))
        k = self.kernel(X, self.X) if k is None else k  # (m, n)
        V = times_lower(k, self._W)
        explained = np.einsum("ij,ij->i", V, V)
        return k @ self._alpha, np.sqrt(np.minimum(np.maximum(prior - explained, 0.0), prior)), V

    def _appended(self, x: Sequence[float] | Array, y: float) -> tuple[Array, Array, Array]:
        y = checks.size("y", y)
        try:
            row = np.asarray(x, dtype=float).reshape(1, -1)
        except Exception:  # what NumPy says of odd objects is of many kinds
            raise InvalidInput(f"x must be a row of numbers, got {checks.shown(x)}") from None
        if not np.isfinite(row).all() or not row.size:
            raise InvalidInput(f"x must be finite, and one number or more, got {checks.shown(row[0].tolist())}")
        X = self.X if len(self) else np.zeros((0, row.shape[1]))
        k = self.kernel(row, X)[0] if len(self) else np.zeros(0)
        K = border(self.K, k, float(self.kernel.diagonal(row)[0]))
        return np.vstack([X, row]), np.append(self.y, y), K

    def _with(
        self, X: Array, y: Array, K: Array, factor: tuple[Array, float] | None = None, *, own: Own = None
    ) -> Posterior:
        """Of other observations; what is not given is computed from these alone."""
        return replace(self, X=X, y=y, K=K, factor=factor, own=own)


class OnPosterior:
    """What a belief says as the `posterior` does that it rests on."""

    posterior: Posterior

    def __len__(self) -> int:
        return len(self.posterior)

    @property
    def observed(self) -> Array:
        return self.posterior.observed

    @property
    def information_gain(self) -> float:
        return self.posterior.information_gain

    @property
    def noise(self) -> float:
        return self.posterior.noise

    @property
    def units(self) -> tuple[float, float]:
        return self.posterior.units

    @property
    def jitter(self) -> float:
        return self.posterior.jitter


def _row(name: str, given: Any) -> tuple[float, ...]:
    return checks.each(name, given, checks.size, "[(0.5,)]")
