"""Finitely many features φ with φ(x)ᵀφ(y) ≈ k(x, y): a Gaussian process as a linear model in m dimensions.

`Nystrom` has the features of the functions that landmarks Z span, φ(x) = L⁻¹k_Z(x) with LLᵀ = K_ZZ: what is left out of
k(x, x) is ρ²(x) = k(x, x) − ‖φ(x)‖² ≥ 0, and a function of norm B is B·ρ(x) at most from its projection, at every x.
`Quadrature` (Mutný & Krause 2018) has those of a Gauss–Hermite rule for the spectrum of a squared exponential.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Protocol

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Kernel, as_kernel
from driftwise.gp.linalg import cholesky, solve_lower
from driftwise.records import Array, Point


class Features(Protocol):
    """φ, (n, d) to (n, m), with its gradient, and the kernel that it stands for."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def rank(self) -> int: ...
    def __call__(self, X: Array) -> Array: ...
    def gradient(self, X: Array) -> Array:
        """∂φ(x)/∂x for the rows of X: (n, m, d)."""
        ...


@dataclass(frozen=True)
class Nystrom:
    """φ(x) = L⁻¹k_Z(x), LLᵀ = K_ZZ.

    >>> features = Nystrom(RBF(0.2), ((0.0,), (0.5,)))
    >>> phi = features(np.array([[0.0], [0.5]]))
    >>> bool(np.allclose(phi @ phi.T, RBF(0.2)(np.array([[0.0], [0.5]]), np.array([[0.0], [0.5]]))))
    True
    """

    kernel: Kernel
    landmarks: tuple[Point, ...]

    def __post_init__(self) -> None:
        points = partial(checks.each, rule=lambda name, z: checks.each(name, z, checks.real, "(0.5,)"), fix="[(0.5,)]")
        checks.settle(self, kernel=as_kernel, landmarks=points)

    @property
    def rank(self) -> int:
        return len(self.landmarks)

    def __call__(self, X: Array) -> Array:
        phi: Array = solve_lower(self._L, self.kernel(self._Z, X)).T
        return phi

    def gradient(self, X: Array) -> Array:
        G = self.kernel.gradient(X, self._Z)  # (n, m, d)
        n, m, d = G.shape
        solved = solve_lower(self._L, G.transpose(1, 0, 2).reshape(m, n * d))
        return np.asarray(solved.reshape(m, n, d).transpose(1, 0, 2))

    @cached_property
    def _Z(self) -> Array:
        return np.array(self.landmarks)

    @cached_property
    def _L(self) -> Array:
        return cholesky(self.kernel(self._Z, self._Z))[0]


@dataclass(frozen=True)
class Quadrature:
    """√w_i (cos ω_iᵀx, sin ω_iᵀx) at the q^d nodes ω_i = √2 z_i/ℓ of the Gauss–Hermite rule: 2q^d features.

    >>> features = Quadrature(RBF(0.5), dim=1, nodes=12)
    >>> X = np.array([[0.0], [0.4]])
    >>> bool(np.allclose(features(X) @ features(X).T, RBF(0.5)(X, X), atol=1e-6))
    True
    """

    kernel: RBF
    dim: int
    nodes: int

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, RBF):
            raise InvalidInput(f"quadrature features are those of an RBF kernel, got {checks.shown(self.kernel)}")
        checks.settle(self, dim=checks.count, nodes=partial(checks.count, most=100))

    @property
    def rank(self) -> int:
        return 2 * self.nodes**self.dim

    def __call__(self, X: Array) -> Array:
        angles = X @ self._frequencies.T
        return np.hstack([np.cos(angles), np.sin(angles)]) * self._roots

    def gradient(self, X: Array) -> Array:
        angles = X @ self._frequencies.T
        slopes = np.hstack([-np.sin(angles), np.cos(angles)]) * self._roots
        return np.asarray(slopes[:, :, None] * np.vstack([self._frequencies] * 2))

    @cached_property
    def _frequencies(self) -> Array:
        """(q^d, d)."""
        z = np.polynomial.hermite.hermgauss(self.nodes)[0]
        grid = np.stack(np.meshgrid(*[z] * self.dim, indexing="ij"), axis=-1).reshape(-1, self.dim)
        return np.asarray(np.sqrt(2) * grid / np.asarray(self.kernel.lengthscale))

    @cached_property
    def _roots(self) -> Array:
        """√w of the cosines and of the sines: (2q^d,)."""
        w = np.polynomial.hermite.hermgauss(self.nodes)[1] / np.sqrt(np.pi)
        return np.sqrt(np.tile(reduce(np.multiply.outer, [w] * self.dim).ravel(), 2))
