"""Oracles: the same quantities written as plainly as can be, to test against."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from driftwise.gp.kernels import Kernel
from driftwise.records import Array


def dense_posterior(kernel: Kernel, noise: float, X: Array, y: Array, at: Array) -> tuple[Array, Array]:
    """μ and σ² by Eqs. (1) and (2) of the paper, one dense solve: (m,), (m,)."""
    A = cho_factor(kernel(X, X) + noise * np.eye(len(X)), lower=True)
    k = kernel(X, at)  # (n, m)
    return k.T @ cho_solve(A, y), kernel.diagonal(at) - np.einsum("nm,nm->m", k, cho_solve(A, k))


def dense_information_gain(kernel: Kernel, noise: float, X: Array) -> float:
    """½ ln det(I + K/λ)."""
    sign, logdet = np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / noise)
    assert sign == 1
    return 0.5 * float(logdet)


def finite_difference(f, x: Array, step: float = 1e-6) -> Array:
    """∂f/∂x at one point by central differences: (d,)."""
    shifts = step * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / (2 * step) for h in shifts])
