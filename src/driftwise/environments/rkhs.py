"""Functions of an RKHS with their exact norm: f = Σ c_i φ_i on a basis of finitely many functions.

`Expansion`:  φ_i = k(·, c_i),               ‖f‖_H = √(aᵀKa)
`Whitened`:   φ_i orthonormal in H,           ‖f‖_H = ‖z‖;   z ~ N(0, I) makes f a Gaussian process with covariance k
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Kernel, Linear, as_kernel
from driftwise.gp.linalg import pivoted_cholesky, solve_lower
from driftwise.records import Array
from driftwise.spaces import Candidates

MOST = 10_000  # coordinates of a linear bandit
TOLERANCE = 1e-10  # of the covariance that a Whitened basis reproduces


class Described:
    """A dataclass that is sent to another process without its cached results: these can be made again."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class Basis(Protocol):
    """Functions of an RKHS, and how one is drawn at random. Each row of C, (k, m), is a function."""

    @property
    def kernel(self) -> Kernel: ...

    def __hash__(self) -> int: ...

    def features(self, X: Array) -> Array:
        """φ_i(x) for the rows of X: (n, m)."""
        ...

    def gradient(self, X: Array) -> Array:
        """∂φ_i(x)/∂x: (n, m, d)."""
        ...

    def norms(self, C: Array) -> Array:
        """‖Σ c_i φ_i‖_H for each row of C: (k,)."""
        ...

    def draw(self, rng: np.random.Generator) -> Array:
        """The coefficients of a random function: (m,)."""
        ...


@dataclass(frozen=True)
class Expansion(Described):
    """f = Σ a_i k(·, c_i), a_i ~ U[−1, 1], scaled to ‖f‖_H = `norm` if that is given.

    With `terms` only so many of the centres, drawn at random each time, have an a_i. For the others it is 0.

    >>> from driftwise.gp.kernels import RBF
    >>> basis = Expansion(RBF(0.2), Candidates([[0.0], [0.5]]), norm=2.0)
    >>> a = basis.draw(np.random.default_rng(0))
    >>> round(float(basis.norms(a[None])[0]), 12)
    2.0
    """

    kernel: Kernel
    centres: Candidates
    norm: float | None = None
    terms: int | None = None

    def __post_init__(self) -> None:
        _check_points(self.kernel, self.centres)
        checks.settle(self, norm=checks.optional(checks.positive))
        if self.terms is not None and checks.count("terms", self.terms) > len(self.centres):
            raise InvalidInput(f"terms must be at most the {len(self.centres)} centres, got {self.terms}")

    def features(self, X: Array) -> Array:
        return self.kernel(X, self.centres.points)

    def gradient(self, X: Array) -> Array:
        return self.kernel.gradient(X, self.centres.points)

    def norms(self, C: Array) -> Array:
        """√(aᵀKa)."""
        squared = np.einsum("km,km->k", C @ self._gram, C)
        return np.sqrt(np.maximum(squared, 0.0))  # rounding can leave −1e−17

    def draw(self, rng: np.random.Generator) -> Array:
        if self.terms is None:
            a = rng.uniform(-1.0, 1.0, len(self.centres))
        else:
            a = np.zeros(len(self.centres))
            a[rng.choice(len(a), self.terms, replace=False)] = rng.uniform(-1.0, 1.0, self.terms)
        return a if self.norm is None else a * (self.norm / float(self.norms(a[None])[0]))

    @cached_property
    def _gram(self) -> Array:
        return self.kernel(self.centres.points, self.centres.points)


@dataclass(frozen=True)
class Whitened(Described):
    """f = Σ z_i φ_i with φ = L⁻¹k(P, ·) and LLᵀ = K_PP, so that ‖f‖_H = ‖z‖; z ~ N(0, I).

    The centres P are chosen among `points` by a pivoted Cholesky factorisation, until f ~ GP(0, k) holds at all of them
    within 1e-10 of the covariance: for smooth kernels they are few (219 of 2,500 for RBF(0.2) on a square).

    >>> from driftwise.gp.kernels import RBF
    >>> X = Candidates(np.linspace(0, 1, 5))
    >>> F = Whitened(RBF(0.2), X).features(X.points)
    >>> bool(np.abs(F @ F.T - RBF(0.2)(X.points, X.points)).max() < 1e-9)
    True
    """

    kernel: Kernel
    points: Candidates

    def __post_init__(self) -> None:
        _check_points(self.kernel, self.points)

    def features(self, X: Array) -> Array:
        return np.ascontiguousarray(solve_lower(self._L, self.kernel(self._centres, X)).T)

    def gradient(self, X: Array) -> Array:
        G = self.kernel.gradient(X, self._centres)  # (n, m, d)
        n, m, d = G.shape
        return solve_lower(self._L, G.transpose(1, 0, 2).reshape(m, n * d)).reshape(m, n, d).transpose(1, 0, 2)

    def norms(self, C: Array) -> Array:
        """‖z‖."""
        return np.sqrt(np.einsum("km,km->k", C, C))

    def draw(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(len(self._L))

    def coordinates(self, F: Array) -> Array:
        """z of the functions whose values at the centres are those of the rows of F, given at `points`: (k, m)."""
        return solve_lower(self._L, F[:, self._pivots].T).T

    @cached_property
    def _factor(self) -> tuple[NDArray[np.intp], Array]:
        X = self.points.points
        return pivoted_cholesky(self.kernel(X, X), TOLERANCE)

    @property
    def _pivots(self) -> NDArray[np.intp]:
        return self._factor[0]

    @property
    def _L(self) -> Array:
        return self._factor[1]

    @cached_property
    def _centres(self) -> Array:
        return self.points.points[self._pivots]


@dataclass(frozen=True)
class Peaked(Described):
    """Functions of another basis, scaled so that |f| is at most `peak` at its points, and `peak` at one of them."""

    basis: Whitened
    peak: float

    def __post_init__(self) -> None:
        if not isinstance(self.basis, Whitened):
            raise InvalidInput(f"basis must be a Whitened one, got {checks.shown(self.basis)}")
        checks.settle(self, peak=checks.positive)

    @property
    def kernel(self) -> Kernel:
        return self.basis.kernel

    def features(self, X: Array) -> Array:
        return self.basis.features(X)

    def gradient(self, X: Array) -> Array:
        return self.basis.gradient(X)

    def norms(self, C: Array) -> Array:
        return self.basis.norms(C)

    def draw(self, rng: np.random.Generator) -> Array:
        z = self.basis.draw(rng)
        return z * (self.peak / float(np.abs(self._table @ z).max()))

    @cached_property
    def _table(self) -> Array:
        return self.features(self.basis.points.points)


@dataclass(frozen=True)
class Coordinates:
    """f(x) = θᵀx: the linear bandit, with ‖f‖_H = ‖θ‖; θ ~ N(0, I)."""

    dim: int

    kernel: ClassVar[Kernel] = Linear()

    def __post_init__(self) -> None:
        checks.count("dim", self.dim, most=MOST)

    def features(self, X: Array) -> Array:
        return checks.table("X", X, columns=self.dim)

    def gradient(self, X: Array) -> Array:
        return np.broadcast_to(np.eye(self.dim), (len(X), self.dim, self.dim)).copy()

    def norms(self, C: Array) -> Array:
        """‖θ‖."""
        return np.sqrt(np.einsum("km,km->k", C, C))

    def draw(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.dim)


as_basis = partial(
    checks.like,
    parts=("kernel", "features", "gradient", "norms", "draw"),
    example="a basis, as Expansion(RBF(0.2), Candidates(points))",
)


def _check_points(kernel: Any, points: Any) -> None:
    as_kernel("kernel", kernel)
    if not isinstance(points, Candidates):
        raise InvalidInput(f"a basis needs Candidates(points), got {checks.shown(points)}")
    kernel(points.points[:1], points.points[:1])  # lengthscales for another number of dimensions are refused
