"""Hyper-parameters by maximum likelihood: the log marginal likelihood of a space-time GP, and its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from driftwise.gp.kernels import RBF, Matern, Scaled
from driftwise.gp.linalg import cholesky, invert_lower
from driftwise.gp.noise import Own, variances
from driftwise.gp.time_kernels import UNDERFLOW, MaternInTime, SpaceTime
from driftwise.records import Array


@dataclass(frozen=True)
class Hyper:
    """variance · k_S(r/stretch) · k_T(s/scale), and the noise variance; `stretch` multiplies the lengthscales given."""

    variance: float = 1.0
    stretch: float = 1.0
    scale: float = 60.0
    noise: float = 0.01

    def kernel(self, space: RBF | Matern, nu: float) -> SpaceTime:
        """The kernel of space and time that these make of `space`."""
        return SpaceTime(Scaled(self.space(space), self.variance), MaternInTime(nu, self.scale))

    def space(self, space: RBF | Matern) -> RBF | Matern:
        """`space` with its lengthscales stretched."""
        stretched = np.asarray(space.lengthscale) * self.stretch
        lengthscale = tuple(stretched.tolist()) if stretched.ndim else float(stretched)
        return RBF(lengthscale) if isinstance(space, RBF) else Matern(space.nu, lengthscale)

    @property
    def logs(self) -> Array:
        return np.log([self.variance, self.stretch, self.scale, self.noise])

    @classmethod
    def from_logs(cls, logs: Array) -> Hyper:
        return cls(*(float(v) for v in np.exp(logs)))


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """log p(y) = −½ yᵀA⁻¹y − ½ log det A − (n/2) log 2π, with A = v K_S∘K_T + σ²I, as a function of `Hyper.logs`.

    Where observations have a noise of their own (`gp/noise.py`), A has a_i + b_i σ² in place of σ².
    """

    space: RBF | Matern
    nu: float  # of time
    X: Array  # (n, d)
    at: Array  # (n,)
    y: Array  # (n,)
    own: Own = None  # (n, 2)
    scale: float = 1.0  # of y, in the units of `own`

    def __call__(self, logs: Array) -> tuple[float, Array]:
        """The value and the gradient ½ tr((ααᵀ − A⁻¹) ∂A), α = A⁻¹y."""
        hyper = Hyper.from_logs(logs)
        KS = hyper.space(self.space)(self.X, self.X)
        KT = MaternInTime(self.nu, hyper.scale)(self.at, self.at)
        n, K = len(self.y), hyper.variance * KS * KT
        noises = variances(self.own, hyper.noise, scale=self.scale, prior=hyper.variance)
        L, _ = cholesky(K + noises * np.eye(n))
        W = invert_lower(L)
        Ainv = W.T @ W
        alpha = Ainv @ self.y
        value = -0.5 * float(self.y @ alpha) - float(np.log(np.diagonal(L)).sum()) - 0.5 * n * math.log(2 * math.pi)
        G = 0.5 * (np.outer(alpha, alpha) - Ainv)
        slope_S = hyper.variance * KT * self._slope_space(hyper)
        slope_T = hyper.variance * KS * _slope(self.nu, np.abs(self.at[:, None] - self.at[None, :]) / hyper.scale)
        shares = 1.0 if self.own is None else self.own[:, 1]  # ∂λ_i/∂σ²
        parts = [np.sum(G * K), np.sum(G * slope_S), np.sum(G * slope_T), hyper.noise * np.sum(np.diagonal(G) * shares)]
        return value, np.array(parts)

    def _slope_space(self, hyper: Hyper) -> Array:
        scale = np.asarray(self.space.lengthscale) * hyper.stretch
        S = self.X / scale
        r = np.sqrt(np.square(S[:, None, :] - S[None, :, :]).sum(axis=2))
        return _slope(math.inf if isinstance(self.space, RBF) else self.space.nu, r)

    def maximise(self, starts: list[Hyper], low: Hyper, high: Hyper) -> Hyper:
        """The best that L-BFGS finds from the starts, between `low` and `high`."""
        from scipy.optimize import minimize  # slow to import

        bounds = list(zip(low.logs, high.logs, strict=True))

        def descent(logs: Array) -> tuple[float, Array]:
            value, gradient = self(logs)
            return -value, -gradient

        found = [
            minimize(descent, np.clip(h.logs, low.logs, high.logs), jac=True, bounds=bounds, options={"maxiter": 50})
            for h in starts
        ]
        return Hyper.from_logs(min(found, key=lambda result: float(result.fun)).x)


def _slope(nu: float, r: Array) -> Array:
    """∂k/∂ log ℓ of the unit kernel at distance r·ℓ; with a = √(2ν)r:
    a e^−a (½),  a² e^−a (3/2),  a²(1 + a)/3 e^−a (5/2),  r² e^{−r²/2} (SE)."""
    if nu == math.inf:
        return r * r * np.exp(-0.5 * r * r)
    a = np.minimum(math.sqrt(2 * nu) * r, UNDERFLOW)
    return {0.5: a, 1.5: a * a, 2.5: a * a * (1 + a) / 3}[nu] * np.exp(-a)
