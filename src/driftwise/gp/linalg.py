"""Linear algebra of a window of observations, A = K + λI. Pure functions; the only user of scipy.linalg.

Two ways to keep A⁻¹ while the window slides, with one interface (`append`, `slide`):
`Inverse` updates A⁻¹ itself, the fastest, and right where A is well conditioned; `Factor` refactorises at every slide
and is right always. Measured on 1,000 candidates (docs/design.md), at λ = 1e-6 the first loses all digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from driftwise.errors import InvalidInput
from driftwise.records import Array

# The C library of Linux returns a freed block above a threshold to the system, and memory that comes back costs a page
# fault for every 4 kB. The threshold is raised once a larger block was freed: by this one, which is never written to.
np.empty(2**20)

JITTERS = (0.0, *(10.0**e for e in range(-10, 1)))  # the ladder: none, 1e-10, ×10, ...


def cholesky(K: Array, noise: float | Array = 0.0) -> tuple[Array, float]:
    """Lower L with L Lᵀ = K + diag(noise) + jitter·scale I for the smallest jitter of the ladder that works.

    Returned with that jitter. The noise is one for all rows or one for each; the scale is K's largest diagonal entry
    and the smallest noise, so that a row of huge noise does not blur the others.
    """
    n = len(K)
    if not n:
        return np.zeros((0, 0)), 0.0
    scale = max(float(np.max(np.diagonal(K)) + np.min(noise)), 1e-300)
    for jitter in JITTERS:
        A = np.array(K.T, order="F")  # K = Kᵀ: the transpose is in Fortran's order already
        A.ravel(order="K")[:: n + 1] += noise + jitter * scale
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            return L, jitter
    raise InvalidInput("the kernel's matrix is not positive definite; is the kernel one, and are its values finite?")


def pivoted_cholesky(K: Array, tolerance: float) -> tuple[NDArray[np.intp], Array]:
    """Pivots p and lower L with L Lᵀ = K[p][:, p], as many as leave at most `tolerance` of the diagonal."""
    packed, pivots, rank, _ = lapack.dpstrf(K, tol=tolerance, lower=1)
    return pivots[:rank].astype(np.intp) - 1, np.asfortranarray(np.tril(packed[:rank, :rank]))


def solve_lower(L: Array, B: Array) -> Array:
    """L⁻¹B for lower triangular L."""
    if not len(L):
        return B.copy()
    solved: Array = lapack.dtrtrs(L, B, lower=1)[0]
    return solved


def invert_positive(K: Array, noise: float | Array = 0.0) -> Array:
    """(K + diag(λ))⁻¹ = L⁻ᵀL⁻¹ for a symmetric positive definite matrix, symmetric to the bit."""
    if not len(K):
        return np.zeros((0, 0))
    W = invert_lower(cholesky(K, noise)[0])
    P = lapack.dlauum(W, lower=1, overwrite_c=1)[0]  # two thirds of the time of LAPACK's dpotri
    inverse: Array = P + P.T
    inverse.ravel(order="K")[:: len(K) + 1] *= 0.5
    return inverse


def invert_lower(L: Array) -> Array:
    """L⁻¹ for lower triangular L, by halves: [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [−C⁻¹BA⁻¹, C⁻¹]].

    From a few dozen rows on this takes half the time of LAPACK's dtrtri.
    """
    n, h = len(L), len(L) // 2
    if not n:
        return L
    if n <= 64:
        inverse: Array = lapack.dtrtri(L, lower=1)[0]
        return inverse
    W = np.zeros((n, n), order="F")
    W[:h, :h], W[h:, h:] = invert_lower(L[:h, :h]), invert_lower(L[h:, h:])
    W[h:, :h] = -W[h:, h:] @ (L[h:, :h] @ W[:h, :h])
    return W


def times_lower(X: Array, W: Array, *, transposed: bool = False) -> Array:
    """X Wᵀ for lower triangular W, or `transposed` X W: half the work of a full product."""
    if not len(W):
        return X
    product: Array = blas.dtrmm(1.0, W, X.T, lower=1, trans_a=transposed)
    return product.T


def extend_inverse_lower(W: Array, V: Array, C: Array) -> Array:
    """The inverse of the factor [[L, 0], [V, C⁻¹]], given W = L⁻¹: its last rows are (−CVW, C)."""
    n, k = len(W), len(C)
    extended = np.zeros((n + k, n + k), order="F")
    extended[:n, :n] = W
    extended[n:, :n] = -np.dot(C, np.dot(V, W))  # of a single row @ takes half as long again
    extended[n:, n:] = C
    return extended


def border(A: Array, k: Array, kappa: float) -> Array:
    """[[A, k], [kᵀ, kappa]]."""
    n = len(A)
    bordered = np.empty((n + 1, n + 1))
    bordered[:n, :n] = A
    bordered[n, :n] = bordered[:n, n] = k
    bordered[n, n] = kappa
    return bordered


def add_outer(M: Array, U: Array, V: Array) -> Array:
    """M with a row of zeros behind, plus UᵀV for U, (r, rows + 1), and V, (r, columns)."""
    total = U.T @ V
    total[:-1] += M
    return total


def aligned(rows: int, columns: int) -> Array:
    """An uninitialised (rows, columns) whose rows begin on cache lines: products with it take a quarter less time."""
    line = 8  # numbers in 64 bytes
    stride = -(-columns // line) * line
    memory = np.empty(rows * stride + line)
    start = -(memory.ctypes.data // memory.itemsize) % line
    return memory[start : start + rows * stride].reshape(rows, stride)[:, :columns]


class WindowInverse(Protocol):
    """A⁻¹ of a window of w points. Each method returns the next window and the change as Z, (r, w + 1), and D, (r,):

        append:  Z = (v −1),            D = 1/s            v = A⁻¹k,    s = k(x,x) + λ − kᵀv
        slide:   Z = (p 0; 0 v −1),     D = (−1/p₀, 1/s)   p = A⁻¹e₁, and v, s of the window without its first point

    so that the next A⁻¹ is this one, bordered by zeros, plus ZᵀDZ (of which a slide drops the first row and column).
    """

    @property
    def jitter(self) -> float: ...
    def append(self, k: Array, kxx: float) -> tuple[WindowInverse, Array, Array]: ...
    def slide(self, k: Array, kxx: float) -> tuple[WindowInverse, Array, Array]: ...
    def solve(self, B: Array) -> Array:
        """A⁻¹B."""
        ...


@dataclass(frozen=True, eq=False)
class Inverse:
    """P = A⁻¹ itself; a slide is one rank-two update of it."""

    P: Array
    noise: float
    jitter: float = 0.0  # a well-conditioned window takes none

    @classmethod
    def of(cls, K: Array, noise: float) -> Inverse:
        return cls(invert_positive(K, noise), noise)

    def solve(self, B: Array) -> Array:
        return self.P @ B

    def append(self, k: Array, kxx: float) -> tuple[Inverse, Array, Array]:
        v = self.P @ k
        Z, D = _appended(v, _residual(kxx, k, v, self.noise))
        P = Z.T @ (D[:, None] * Z)
        P[:-1, :-1] += self.P
        return Inverse(P, self.noise), Z, D

    def slide(self, k: Array, kxx: float) -> tuple[Inverse, Array, Array]:
        p, q = self.P[0], self.P[:, 1:] @ k
        v = q[1:] - p[1:] * (q[0] / p[0])  # the window without its first point has P₂₂ − p₁p₁ᵀ/p₀ for its inverse
        Z, D = _slid(p, v, _residual(kxx, k, v, self.noise))
        U, n = Z[:, 1:], len(p)
        P = np.empty((n, n), order="F")
        P[:-1, :-1] = self.P[1:, 1:]
        P[-1] = P[:, -1] = 0.0
        # BLAS adds in place, where NumPy's P += UᵀDU would take twice as long
        P = blas.dgemm(1.0, U.T, (D[:, None] * U).T, 1.0, P, trans_b=1, overwrite_c=1)
        return Inverse(P, self.noise), Z, D


@dataclass(frozen=True, eq=False)
class Factor:
    """K and the Cholesky factor of A; a slide is one LAPACK factorisation.

    If every row has a noise of its own it is not for appending and sliding, only for `solve`.
    """

    K: Array
    L: Array
    noise: float | Array
    jitter: float = 0.0  # what the factor took

    @classmethod
    def of(cls, K: Array, noise: float | Array) -> Factor:
        L, jitter = cholesky(K, noise)
        return cls(K, L, noise, jitter)

    def solve(self, B: Array) -> Array:
        solved: Array = lapack.dpotrs(self.L, B, lower=1)[0] if len(B) else B
        return solved

    def append(self, k: Array, kxx: float) -> tuple[Factor, Array, Array]:
        grown = Factor.of(border(self.K, k, kxx), self.noise)
        return grown, *_appended(*grown._last())

    def slide(self, k: Array, kxx: float) -> tuple[Factor, Array, Array]:
        first = np.zeros(len(self.K))
        first[0] = 1.0
        p: Array = lapack.dpotrs(self.L, first, lower=1)[0]
        slid = Factor.of(border(self.K[1:, 1:], k, kxx), self.noise)
        return slid, *_slid(p, *slid._last())

    def _last(self) -> tuple[Array, float]:
        """v and s of the last point given the others: L is [[M, 0], [rᵀ, √s]] with r = M⁻¹k, so v = M⁻ᵀr."""
        r, root = self.L[-1, :-1], float(self.L[-1, -1])
        v: Array = lapack.dtrtrs(self.L[:-1, :-1], r, lower=1, trans=1)[0] if len(r) else r
        return v, root * root


def _appended(v: Array, s: float) -> tuple[Array, Array]:
    Z = np.empty((1, len(v) + 1))
    Z[0, :-1] = v
    Z[0, -1] = -1.0
    return Z, np.array([1 / s])


def _slid(p: Array, v: Array, s: float) -> tuple[Array, Array]:
    Z = np.zeros((2, len(p) + 1))
    Z[0, :-1] = p
    Z[1, 1:-1] = v
    Z[1, -1] = -1.0
    return Z, np.array([-1 / p[0], 1 / s])


def _residual(kxx: float, k: Array, v: Array, noise: float) -> float:
    """k(x,x) + λ − kᵀA⁻¹k, which is at least λ; rounding can leave less."""
    return max(kxx - float(k @ v), 0.0) + noise
