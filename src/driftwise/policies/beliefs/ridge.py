"""The posterior of a linear model in d dimensions: what a Gaussian process with a linear kernel is, at O(d²) per step.

With V = λI + Σ u_s x_s x_sᵀ and b = Σ u_s y_s x_s, the mean at x is xᵀV⁻¹b and, as φ(x) = x, σ(x) = √λ·‖x‖_{V⁻¹}, so
that β multiplies the same standard deviation as everywhere else. Where linear bandits write β′‖x‖_{V⁻¹}, β = β′/√λ.
An observation whose noise variance λ_s is its own (`gp/noise.py`) has the weight u_s = λ/λ_s, HEAVIEST at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftwise.gp.linalg import invert_positive
from driftwise.gp.noise import PLAIN, Own, all_pairs, pair_of
from driftwise.records import Array, Observation, Point

HEAVIEST = 1e6  # weight of an observation: with larger ones V would lose the others in rounding


def weights_of(own: Own, n: int, noise: float, *, scale: float = 1.0) -> Array:
    """u = λ/λ_s of n observations: (n,)."""
    a, b = all_pairs(own, n).T
    return np.minimum(noise / (a / scale**2 + b * noise), HEAVIEST)


def weight_of(seen: Observation, noise: float, *, scale: float = 1.0) -> float:
    """The same of one observation."""
    if (pair := pair_of(seen)) == PLAIN:
        return 1.0
    return float(weights_of(np.array([pair]), 1, noise, scale=scale)[0])


@dataclass(frozen=True, eq=False)
class Ridge:
    """V⁻¹, b for the rewards and for ones (which standardising needs), and Ṽ where the norm is V⁻¹ṼV⁻¹."""

    noise: float  # λ
    inverse: Array  # V⁻¹: (d, d)
    b: Array  # (d, 2)
    count: int = 0
    units: tuple[float, float] = (0.0, 1.0)
    double: Array | None = None  # Ṽ: (d, d)

    @classmethod
    def prior(cls, dim: int, noise: float) -> Ridge:
        return cls(noise, np.eye(dim) / noise, np.zeros((dim, 2)))

    @classmethod
    def from_contents(cls, X: Array, y: Array, noise: float, u: Array | None = None) -> Ridge:
        """Of the rows of X, (n, d), and their rewards, (n,), with the weights u, (n,), if these are not 1."""
        U = X if u is None else u[:, None] * X
        V = X.T @ U + noise * np.eye(X.shape[1])
        return cls(noise, invert_positive(V), U.T @ np.column_stack([y, np.ones(len(y))]), len(y))

    def __len__(self) -> int:
        return self.count

    def plus(self, x: Array, y: float, u: float = 1.0) -> Ridge:
        """After one more observation, of weight u (Sherman & Morrison)."""
        return self._changed(x, y, +1, u)

    def minus(self, x: Array, y: float) -> Ridge:
        return self._changed(x, y, -1, 1.0)

    def _changed(self, x: Array, y: float, sign: int, u: float) -> Ridge:
        v = self.inverse @ x
        inverse = self.inverse - np.outer(v, v) * (sign * u / (1 + sign * u * float(x @ v)))
        return replace(self, inverse=inverse, b=self.b + sign * u * np.outer(x, [y, 1.0]), count=self.count + sign)

    def leverage(self, x: Array) -> float:
        """xᵀV⁻¹x: near 1 for an observation that is the only one in its direction."""
        return float(x @ self.inverse @ x)

    def imagine(self, points: Sequence[Point]) -> Ridge:
        """As if the pending `points` had been answered at the mean: the mean stays, the variance shrinks."""
        imagined = self
        for point in points:
            x = np.array(point)
            v = imagined.inverse @ x
            inverse = imagined.inverse - np.outer(v, v) / (1 + float(x @ v))
            b = imagined.b + np.outer(x, x @ imagined.theta)  # (V + xxᵀ)θ = b + x xᵀθ
            double = None if imagined.double is None else imagined.double + np.outer(x, x)
            imagined = replace(imagined, inverse=inverse, b=b, double=double)
        return imagined

    @property
    def theta(self) -> Array:
        """V⁻¹b, for the rewards and for ones: (d, 2)."""
        return self.inverse @ self.b

    @property
    def norm(self) -> Array:
        """The matrix N of the width ‖x‖_N: V⁻¹, or V⁻¹ṼV⁻¹."""
        return self.inverse if self.double is None else self.inverse @ self.double @ self.inverse

    def predict(self, X: Array) -> tuple[Array, Array]:
        """xᵀθ and √λ‖x‖_N for the rows of X."""
        squares = np.einsum("ij,ij->i", X @ self.norm, X)
        return X @ self._direction, np.sqrt(self.noise * np.maximum(squares, 0.0))  # rounding can leave −1e−17

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        mean, std = self.predict(X)
        dstd = self.noise * (X @ self.norm) / np.maximum(std, 1e-12)[:, None]
        return mean, std, np.broadcast_to(self._direction, X.shape), dstd

    @property
    def _direction(self) -> Array:
        location, scale = self.units
        theta = self.theta
        return (theta[:, 0] - location * theta[:, 1]) / scale

    @property
    def information_gain(self) -> float:
        """½ ln det(V/λ)."""
        return float(-0.5 * np.linalg.slogdet(self.inverse * self.noise)[1])

    @property
    def observed(self) -> Array:
        return np.zeros((0, len(self.inverse)))

    @property
    def jitter(self) -> float:
        return 0.0
