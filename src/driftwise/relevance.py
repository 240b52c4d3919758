"""Which coordinates matter: a stretch of each coordinate's lengthscale, by penalised marginal likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from driftwise.errors import InvalidInput
from driftwise.linalg import cholesky, invert_lower
from driftwise.records import Array

SPREAD = 0.7  # standard deviation of u: a factor of 4 costs 2 nats, which a few observations do not pay and 60 do
LOW, HIGH = 0.5, 8.0  # of a stretch; at 8 a coordinate hardly matters
SURE = 5.0  # a₀ = b₀ of the inverse-gamma prior of the signal's variance, in standardised rewards
ITERATIONS = 15


@dataclass(frozen=True, eq=False)
class Relevance:
    """log p(y | u) + log p(u), up to a constant, as a function of u = log stretches:

        A(u) = (k(X/(ℓ·e^u)) + v)∘C + λI,    k the Matérn-5/2,    u_j ~ N(0, SPREAD²)
        log p(y | u) = −(a₀ + n/2) log(b₀ + ½ yᵀA⁻¹y) − ½ log det A

    which is Student's t: the variance of the signal is integrated out.
    """

    X: Array  # (n, d)
    C: Array  # (n, n), the kernel of time
    level: float  # v
    y: Array  # (n,)
    lengthscales: Array  # (d,)
    noise: float  # λ, as a part of the signal's variance

    def __call__(self, u: Array) -> tuple[float, Array]:
        """The value and the gradient ½ tr((ρ ααᵀ − A⁻¹) ∂A), α = A⁻¹y, ρ = (a₀ + n/2)/(b₀ + ½ yᵀα).

        With a = √5 r and s = x/(ℓ·e^u), ∂k/∂u_j = 5/3 (1 + a)e^−a (s_j − s′_j)².
        """
        S = self.X / (self.lengthscales * np.exp(u))
        a = np.sqrt(np.minimum(5 * cdist(S, S, "sqeuclidean"), 1e6))  # beyond, e^−a is 0 and a·e^−a not ∞·0
        decay = np.exp(-a)
        L, _ = cholesky(((1 + a + a * a / 3) * decay + self.level) * self.C, self.noise)
        W = invert_lower(L)
        z = W @ self.y
        alpha, shape, rate = z @ W, SURE + 0.5 * len(z), SURE + 0.5 * float(z @ z)
        value = -shape * np.log(rate) - np.log(np.diagonal(L)).sum() - 0.5 * float(u @ u) / SPREAD**2
        G = 0.5 * (np.outer(shape / rate * alpha, alpha) - W.T @ W)
        return float(value), _spread(G * self.C * (5 / 3 * (1 + a) * decay), S) - u / SPREAD**2

    def maximise(self, start: Array) -> tuple[float, Array]:
        """The best value that L-BFGS finds from `start` in the box, and its u."""

        def descent(u: Array) -> tuple[float, Array]:
            value, gradient = self(u)
            return -value, -gradient

        bounds = [(np.log(LOW), np.log(HIGH))] * len(start)
        found = minimize(descent, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": ITERATIONS})
        return -float(found.fun), np.asarray(found.x)


def stretches(
    X: Array, C: Array, level: float, y: Array, lengthscales: Array, noise: float, *, start: Array | None = None
) -> Array:
    """What to multiply each lengthscale by, from LOW (it matters more) to HIGH (it hardly matters): (d,).

    All 1 where there is nothing to learn from: it never fails. The search begins at `start`, or at 1; for a replay to
    give the same bits `start` must be a function of the log.

    >>> X = np.random.default_rng(0).random((40, 2))
    >>> stretches(X, np.ones((40, 40)), 1.0, np.sin(6 * X[:, 0]), np.array([0.3, 0.3]), 0.01).round()
    array([1., 8.])
    """
    ones = np.ones(X.shape[1])
    begin = np.log(np.clip(ones if start is None else start, LOW, HIGH))
    if not X.size or np.ptp(y) == 0 or not all(np.isfinite(part).all() for part in (X, C, y, begin)):
        return ones
    with np.errstate(all="ignore"):  # an overflow ends as a value that is not finite, below
        try:
            value, u = Relevance(X, C, level, y, lengthscales, noise).maximise(begin)
        except InvalidInput:  # no jitter makes A positive definite
            return ones
    return np.exp(u) if np.isfinite([value, *u]).all() else ones


def _spread(M: Array, S: Array) -> Array:
    """Σ_ik M_ik (s_ij − s_kj)² for each coordinate j and symmetric M, by products of matrices: (d,)."""
    S = S - S.mean(axis=0)  # which changes no difference, and cancels less below
    return 2 * np.sum(S * (M.sum(axis=1)[:, None] * S - M @ S), axis=0)
