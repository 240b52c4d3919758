"""Kernels: each is its formula. k maps (n, d) and (m, d) to (n, m); `gradient` is ∂k(x, y)/∂x, (n, m, d).

Kernels can be added, multiplied and scaled: `2.0 * RBF(0.2) + Linear()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.distances import Lengthscale, as_lengthscale, check_points, downhill, squared_distance, too_far
from driftwise.records import Array


class Kernel(Protocol):
    """What a kernel must be able to do, the library's or one of your own: a positive definite function of two settings.

    Make yours a frozen dataclass, so that it can be compared, hashed and stored.

    >>> kernel: Kernel = RBF(0.2)
    >>> X = np.array([[0.0], [0.2]])
    >>> kernel(X, X).shape, kernel.diagonal(X).tolist(), kernel.gradient(X, X).shape
    ((2, 2), [1.0, 1.0], (2, 2, 1))
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        """k(x, y) for the rows of X and Y: (n, m)."""
        ...

    def diagonal(self, X: Array) -> Array:
        """k(x, x) for the rows of X: (n,)."""
        ...

    def gradient(self, X: Array, Y: Array) -> Array:
        """∂k(x, y)/∂x for the rows of X and Y: (n, m, d)."""
        ...


class Combined:
    """k₁ + k₂, k₁ * k₂ and v * k: what every kernel here can do, also with a kernel of the user's own.

    >>> 2.0 * RBF(0.2) + Linear()
    Sum(first=Scaled(kernel=RBF(lengthscale=0.2), variance=2.0), second=Linear())
    """

    __array_ufunc__ = None  # so that NumPy leaves np.float64(2) * k to the kernel

    def __add__(self: Kernel, other: Kernel) -> Sum:
        return Sum(self, other) if _is_kernel(other) else NotImplemented

    def __radd__(self: Kernel, other: Kernel) -> Sum:
        return Sum(other, self) if _is_kernel(other) else NotImplemented

    def __mul__(self: Kernel, other: Kernel | float) -> Product | Scaled:
        return Product(self, other) if _is_kernel(other) else _scaled(self, other)

    def __rmul__(self: Kernel, other: Kernel | float) -> Product | Scaled:
        return Product(other, self) if _is_kernel(other) else _scaled(self, other)


def _scaled(kernel: Kernel, variance: Any) -> Scaled:
    number = isinstance(variance, Real)  # what number it may be is for Scaled to say
    return Scaled(kernel, variance) if number else NotImplemented


class Stationary(Combined, ABC):
    """A kernel of the distance alone, with k(x, x) = 1 and the gradient F · (y − x)/ℓ²."""

    lengthscale: Lengthscale

    @abstractmethod
    def with_factor(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """k and F for the rows of X and Y: (n, m) each."""

    def diagonal(self, X: Array) -> Array:
        check_points(X)
        return np.ones(len(X))

    def gradient(self, X: Array, Y: Array) -> Array:
        return downhill(X, Y, self.lengthscale, self.with_factor(X, Y)[1])


@dataclass(frozen=True)
class RBF(Stationary):
    """k(x, y) = exp(−r²/2), r = ‖(x − y)/ℓ‖: the squared exponential (SE).

    Args:
        lengthscale: ℓ, one number or one for each coordinate.

    >>> RBF(0.2)(np.array([[0.0]]), np.array([[0.2]])).round(4)
    array([[0.6065]])
    """

    lengthscale: Lengthscale = 0.2

    def __post_init__(self) -> None:
        checks.settle(self, lengthscale=as_lengthscale)

    def __call__(self, X: Array, Y: Array) -> Array:
        return np.exp(-0.5 * squared_distance(X, Y, self.lengthscale))

    def with_factor(self, X: Array, Y: Array) -> tuple[Array, Array]:
        return (k := self(X, Y)), k


@dataclass(frozen=True)
class Matern(Stationary):
    """Matérn with ν = ½, 3/2 or 5/2; with a = √(2ν)·r and r = ‖(x − y)/ℓ‖:

    k = e^−a (½),   (1 + a) e^−a (3/2),   (1 + a + a²/3) e^−a (5/2)

    Args:
        nu: ν, which is 0.5, 1.5 or 2.5.
        lengthscale: ℓ, one number or one for each coordinate.

    >>> Matern(1.5, 0.2)(np.array([[0.0]]), np.array([[0.2]])).round(4)
    array([[0.4834]])
    """

    nu: float = 2.5
    lengthscale: Lengthscale = 0.2

    def __post_init__(self) -> None:
        checks.settle(self, nu=checks.real, lengthscale=as_lengthscale)
        if self.nu not in (0.5, 1.5, 2.5):
            raise InvalidInput(f"nu must be 0.5, 1.5 or 2.5, got {self.nu:g}; for a smoother kernel use RBF")

    def __call__(self, X: Array, Y: Array) -> Array:
        a = self._a(X, Y)
        return self._polynomial(a) * np.exp(-a)

    def with_factor(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """F = −k′(r)/r; at x = y the limit, which for ν = ½ does not exist and is taken as 0."""
        a = self._a(X, Y)
        e = np.exp(-a)
        if self.nu == 0.5:
            return e, np.where(a > 0, e / np.where(a > 0, a, 1), 0)
        return self._polynomial(a) * e, (3 if self.nu == 1.5 else 5 / 3 * (1 + a)) * e

    def _polynomial(self, a: Array) -> Array | float:
        return 1.0 if self.nu == 0.5 else 1 + a if self.nu == 1.5 else 1 + a + a * a / 3

    def _a(self, X: Array, Y: Array) -> Array:
        """√(2ν)·r, cut where e^−a is 0 anyway: a·e^−a would be ∞·0 for points immensely far apart."""
        a: Array = np.sqrt(np.minimum(2 * self.nu * squared_distance(X, Y, self.lengthscale), 1e6))
        return a


@dataclass(frozen=True)
class Linear(Combined):
    """k(x, y) = xᵀy: the linear bandit.

    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])).tolist()
    [[11.0]]
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        check_points(X, Y)
        return _summed((X[:, j : j + 1] * Y[:, j] for j in range(X.shape[1])), (len(X), len(Y)))

    def diagonal(self, X: Array) -> Array:
        check_points(X)
        return _summed((X[:, j] * X[:, j] for j in range(X.shape[1])), (len(X),))

    def gradient(self, X: Array, Y: Array) -> Array:
        check_points(X, Y)
        return np.broadcast_to(Y, (len(X), *Y.shape)).copy()


def _summed(terms: Iterable[Array], shape: tuple[int, ...]) -> Array:
    """Term by term: BLAS and einsum sum in an order that depends on the shapes, and so do the bits."""
    total = np.zeros(shape)
    try:
        with np.errstate(over="raise"):
            for term in terms:
                total += term
    except FloatingPointError:
        raise too_far() from None
    return total


@dataclass(frozen=True)
class Level(Combined):
    """k(x, y) = v: in a sum, a level that the function may have as a whole and that is learned with it."""

    variance: float = 1.0

    def __post_init__(self) -> None:
        checks.settle(self, variance=checks.positive)

    def __call__(self, X: Array, Y: Array) -> Array:
        check_points(X, Y)
        return np.full((len(X), len(Y)), self.variance)

    def diagonal(self, X: Array) -> Array:
        check_points(X)
        return np.full(len(X), self.variance)

    def gradient(self, X: Array, Y: Array) -> Array:
        check_points(X, Y)
        return np.zeros((len(X), *Y.shape))


@dataclass(frozen=True)
class Scaled(Combined):
    """v · k(x, y).

    Args:
        kernel: k.
        variance: v > 0.

    >>> 2.0 * RBF(0.2)
    Scaled(kernel=RBF(lengthscale=0.2), variance=2.0)
    """

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        checks.settle(self, kernel=as_kernel, variance=checks.positive)

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.variance * self.kernel(X, Y)

    def diagonal(self, X: Array) -> Array:
        return self.variance * self.kernel.diagonal(X)

    def gradient(self, X: Array, Y: Array) -> Array:
        return self.variance * self.kernel.gradient(X, Y)


@dataclass(frozen=True)
class Stretched(Combined):
    """k(x/s, y/s): along coordinate j the lengthscale is s_j times as long.

    >>> Stretched(RBF(0.1), (2.0,)) (np.array([[0.0]]), np.array([[0.2]])).round(4)
    array([[0.6065]])
    """

    kernel: Kernel
    stretch: tuple[float, ...]

    def __post_init__(self) -> None:
        each = partial(checks.each, rule=checks.positive, fix="(1.0, 2.0)")
        checks.settle(self, kernel=as_kernel, stretch=each)

    def __call__(self, X: Array, Y: Array) -> Array:
        self._check(X, Y)
        return self.kernel(X / self.stretch, Y / self.stretch)

    def diagonal(self, X: Array) -> Array:
        self._check(X)
        return self.kernel.diagonal(X / self.stretch)

    def gradient(self, X: Array, Y: Array) -> Array:
        self._check(X, Y)
        return self.kernel.gradient(X / self.stretch, Y / self.stretch) / self.stretch

    def _check(self, *tables: Array) -> None:
        check_points(*tables)
        given, dim = len(self.stretch), tables[0].shape[1]
        if given != dim:
            raise InvalidInput(f"{given} stretches given for {dim} dimensions; give one for each")


@dataclass(frozen=True)
class _Pair(Combined):
    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checks.settle(self, first=as_kernel, second=as_kernel)


@dataclass(frozen=True)
class Sum(_Pair):
    """k₁(x, y) + k₂(x, y).

    Args:
        first: k₁.
        second: k₂.

    >>> RBF(0.2) + Linear()
    Sum(first=RBF(lengthscale=0.2), second=Linear())
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.first(X, Y) + self.second(X, Y)

    def diagonal(self, X: Array) -> Array:
        return self.first.diagonal(X) + self.second.diagonal(X)

    def gradient(self, X: Array, Y: Array) -> Array:
        return self.first.gradient(X, Y) + self.second.gradient(X, Y)


@dataclass(frozen=True)
class Product(_Pair):
    """k₁(x, y) · k₂(x, y).

    Args:
        first: k₁.
        second: k₂.

    >>> RBF(0.2) * Linear()
    Product(first=RBF(lengthscale=0.2), second=Linear())
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.first(X, Y) * self.second(X, Y)

    def diagonal(self, X: Array) -> Array:
        return self.first.diagonal(X) * self.second.diagonal(X)

    def gradient(self, X: Array, Y: Array) -> Array:
        first, second = self.first(X, Y)[:, :, None], self.second(X, Y)[:, :, None]
        return self.first.gradient(X, Y) * second + first * self.second.gradient(X, Y)


@dataclass(frozen=True)
class Empirical(Combined):
    """k(i, j) = C[i, j]: a covariance known only at finitely many candidates.

    Their one coordinate is their index, or they have a coordinate for each, of which that at their index is 1.
    """

    covariance: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        C = checks.table("covariance", self.covariance)
        if C.shape[0] != C.shape[1] or not np.abs(C).max() <= checks.LARGEST or not np.allclose(C, C.T):
            raise InvalidInput(f"covariance must be a symmetric matrix, up to 1e100, got one of shape {C.shape}")
        _check_positive_semidefinite(C)
        object.__setattr__(self, "covariance", tuple(map(tuple, C.tolist())))
        object.__setattr__(self, "_matrix", C)

    def __call__(self, X: Array, Y: Array) -> Array:
        matrix: Array = self._matrix  # type: ignore[attr-defined]
        return matrix[np.ix_(candidate_index(X, len(matrix)), candidate_index(Y, len(matrix)))]

    def diagonal(self, X: Array) -> Array:
        matrix: Array = self._matrix  # type: ignore[attr-defined]
        index = candidate_index(X, len(matrix))
        return matrix[index, index]

    def gradient(self, X: Array, Y: Array) -> Array:
        raise InvalidInput("an empirical kernel has no gradient; use it on Candidates")


def candidate_index(X: Array, size: int) -> NDArray[np.intp]:
    """Which of `size` candidates each row is: its one coordinate, or the place at which it has 1."""
    check_points(X)
    known = X.shape[1] == size if X.shape[1] != 1 else ((X >= 0) & (size > X)).all()
    if not known:
        raise InvalidInput(f"the covariance is of {size} candidates, got {checks.shown(X.tolist())}; give their index")
    return X[:, 0].astype(np.intp) if X.shape[1] == 1 else X.argmax(axis=1)


def as_kernel(name: str, given: Any) -> Kernel:
    """A kernel, and not the class of one."""
    if not _is_kernel(given):
        raise InvalidInput(f"{name} must be a kernel, as RBF(0.2), got {checks.shown(given)}")
    return given


def _is_kernel(given: Any) -> TypeGuard[Kernel]:
    return not isinstance(given, type) and all(hasattr(given, part) for part in ("__call__", "diagonal", "gradient"))


def check_bounded(kernel: Kernel, X: Array) -> None:
    """k(x, x) ≤ 1 on the rows of X, as every bound of the paper assumes."""
    largest = float(kernel.diagonal(X).max())
    if largest > 1 + 1e-9:
        raise InvalidInput(
            f"the paper's widths and bounds assume k(x, x) ≤ 1, got {largest:.4g}; "
            f"scale the rewards or the kernel: Scaled(kernel, {1 / largest:.4g})"
        )


def _check_positive_semidefinite(C: Array) -> None:
    """By a factorisation, which is cheaper than eigenvalues; the lift admits matrices of less than full rank."""
    lift = 1e-8 * max(float(np.abs(C).max(initial=0.0)), 1e-300) * len(C)
    try:
        np.linalg.cholesky(C + lift * np.eye(len(C)))
    except np.linalg.LinAlgError:
        raise InvalidInput("covariance must have no negative eigenvalue; use an empirical covariance") from None
