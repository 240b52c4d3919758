"""Linear algebra of a window of observations, A = K + λI. Pure functions; the only user of scipy.linalg.

Two ways to keep A⁻¹ while the window slides, with one interface (`append`, `slide`):
`Inverse` updates A⁻¹ itself, the fastest, and right where A is well conditioned; `Factor` refactorises at every slide and is
right always. Measured on 1,000 candidates (docs/design.md), the first loses all digits at λ = 1e-6; the second none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from driftwise.records import Array

JITTERS = (0.0, *(10.0**e for e in range(-10, 1)))  # the ladder: none, 1e-10, ×10, ...


def cholesky(A: Array) -> tuple[Array, float]:
    """Lower L with L Lᵀ = A + jitter·I for the smallest jitter of the ladder that works, and that jitter."""
    if not len(A):
        return np.zeros((0, 0)), 0.0
    scale = max(float(np.max(np.diagonal(A))), 1e-300)
    for jitter in JITTERS:
        jittered = A + jitter * scale * np.eye(len(A)) if jitter else A
        L, info = lapack.dpotrf(jittered.T, lower=1, clean=1)  # A = Aᵀ: the transpose is Fortran's order, no copy
        if info == 0:
            return L, jitter
    raise AssertionError("A + I is positive definite whenever A is a Gram matrix")  # pragma: no cover


def solve_lower(L: Array, B: Array) -> Array:
    """L⁻¹B for lower triangular L."""
    if not len(L):
        return B.copy()
    solved: Array = lapack.dtrtrs(L, B, lower=1)[0]
    return solved


def invert_lower(L: Array) -> Array:
    """L⁻¹ for lower triangular L."""
    inverse: Array = lapack.dtrtri(L, lower=1)[0]
    return inverse


def extend_inverse_lower(W: Array, v: Array, s: float) -> Array:
    """The inverse of the factor [[L, 0], [vᵀ, s]], given W = L⁻¹: its last row is (−vᵀW/s, 1/s)."""
    n = len(W)
    extended = np.zeros((n + 1, n + 1))
    extended[:n, :n] = W
    extended[n, :n] = (v @ W) / -s
    extended[n, n] = 1 / s
    return extended


def border(A: Array, k: Array, kappa: float) -> Array:
    """[[A, k], [kᵀ, kappa]]."""
    n = len(A)
    bordered = np.empty((n + 1, n + 1))
    bordered[:n, :n] = A
    bordered[n, :n] = bordered[:n, n] = k
    bordered[n, n] = kappa
    return bordered


class Window(Protocol):
    """A⁻¹ of a window: v = A⁻¹k and s = k(x,x) + λ − kᵀv of the point appended, p = A⁻¹e₁ of the point dropped."""

    def append(self, k: Array, kxx: float) -> tuple[Window, Array, float]: ...
    def slide(self, k: Array, kxx: float) -> tuple[Window, Array, Array, float]: ...


@dataclass(frozen=True, eq=False)
class Inverse:
    """P = A⁻¹ itself; a slide is one rank-two update of it."""

    P: Array
    noise: float

    @classmethod
    def of(cls, K: Array, noise: float) -> Inverse:
        L, _ = cholesky(K + noise * np.eye(len(K)))
        P = lapack.dpotri(L, lower=1)[0] if len(K) else K
        return cls(np.tril(P) + np.tril(P, -1).T, noise)

    def append(self, k: Array, kxx: float) -> tuple[Inverse, Array, float]:
        v = self.P @ k
        s = _residual(kxx, k, v, self.noise)
        P = border(self.P, np.zeros_like(v), 0.0)
        b = np.append(v, -1.0)
        return Inverse(P + np.outer(b, b / s), self.noise), v, s

    def slide(self, k: Array, kxx: float) -> tuple[Inverse, Array, Array, float]:
        """Drop the first point and append k:  P₂₂ − p₁p₁ᵀ/p₀ bordered by b bᵀ/s with b = (v, −1)."""
        p = self.P[0]
        p0, p1 = p[0], p[1:]
        v = self.P[1:, 1:] @ k - p1 * ((p1 @ k) / p0)
        s = _residual(kxx, k, v, self.noise)
        n = len(p)
        P = np.empty((n, n), order="F")
        P[:-1, :-1] = self.P[1:, 1:]
        P[-1] = 0.0
        P[:, -1] = 0.0
        U = np.zeros((2, n))
        U[0, :-1] = p1
        U[1, :-1] = v
        U[1, -1] = -1.0
        S = U * np.array([[-1 / p0], [1 / s]])
        P = blas.dgemm(1.0, U.T, S.T, 1.0, P, trans_b=1, overwrite_c=1)
        return Inverse(P, self.noise), p, v, s


@dataclass(frozen=True, eq=False)
class Factor:
    """K and the Cholesky factor of A; a slide is one LAPACK factorisation."""

    K: Array
    L: Array
    noise: float

    @classmethod
    def of(cls, K: Array, noise: float) -> Factor:
        L, _ = cholesky(K + noise * np.eye(len(K)))
        return cls(K, L, noise)

    def append(self, k: Array, kxx: float) -> tuple[Factor, Array, float]:
        """The new factor is [[L, 0], [lᵀ, √s]] with l = L⁻¹k, so v = A⁻¹k = L⁻ᵀl and s are read off it."""
        grown = Factor.of(border(self.K, k, kxx), self.noise)
        v: Array = lapack.dtrtrs(grown.L[:-1, :-1], grown.L[-1, :-1], lower=1, trans=1)[0] if len(k) else k
        return grown, v, float(grown.L[-1, -1] ** 2)

    def slide(self, k: Array, kxx: float) -> tuple[Factor, Array, Array, float]:
        first = np.zeros(len(self.K))
        first[0] = 1.0
        p: Array = lapack.dpotrs(self.L, first, lower=1)[0]
        slid, v, s = Factor(self.K[1:, 1:], self.L, self.noise).append(k, kxx)
        return slid, p, v, s


def _residual(kxx: float, k: Array, v: Array, noise: float) -> float:
    """k(x,x) + λ − kᵀA⁻¹k, which is at least λ; rounding can leave less."""
    return max(kxx - float(k @ v), 0.0) + noise
