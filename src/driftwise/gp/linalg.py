"""Linear algebra of a window of observations, A = K + λI: the only user of scipy.linalg.

All functions are pure but for `add_outer` and `add_squares`, which can add to a matrix in place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from driftwise.errors import InvalidInput
from driftwise.records import Array

# The C library of Linux returns a freed block above a threshold to the system, and memory that comes back costs a page
# fault for every 4 kB. The threshold is raised once a larger block was freed: by this one, which is never written to.
np.empty(2**20)

SIGNS = np.array([-1.0, 1.0])  # of what an observation that leaves, and one that enters, add to A⁻¹
THIN, THIN_TRANSPOSED = 8, 5  # rows up to which BLAS takes less time for a full product than for a triangular one
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


def whitened(A: Array, y: Array) -> tuple[Array, Array] | None:
    """L with A = LLᵀ, which takes the place of A, and L⁻¹y; None if A is not positive definite.

    A must be symmetric and C-contiguous. What is above L's diagonal is left as it was.
    """
    if not len(A):
        return A, y
    L, info = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    return None if info else (L, solve_lower(L, y))


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
    """X Wᵀ for lower triangular W, or `transposed` X W: half the work of a full product, unless X has few rows.

    Both may be stacks of matrices, (e, m, n) and (e, n, n), the latter in C's order.
    """
    if not W.shape[-1]:
        return X
    if X.shape[-2] <= (THIN_TRANSPOSED if transposed else THIN):
        return X @ (W if transposed else W.swapaxes(-1, -2))
    if X.ndim == 2:
        product: Array = blas.dtrmm(1.0, W, X.T, lower=1, trans_a=transposed)
        return product.T
    # BLAS takes matrices in Fortran's order without copying them, and Wᵀ is one of these
    return np.stack([blas.dtrmm(1.0, w.T, x.T, lower=0, trans_a=not transposed).T for x, w in zip(X, W, strict=True)])


def extend_inverse_lower(W: Array, V: Array, C: Array) -> Array:
    """The inverse of the factor [[L, 0], [V, C⁻¹]], given W = L⁻¹: its last rows are (−CVW, C)."""
    n, k = len(W), len(C)
    extended = np.empty((n + k, n + k), order="F")
    extended[:n, :n], extended[:n, n:] = W, 0.0
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


def add_outer(M: Array, u: Array, v: Array, *, sign: float) -> Array:
    """M ± u vᵀ, written into M, whose rows must be contiguous: several times as fast as `M += np.outer(u, v)`."""
    if not len(u):
        return M
    total: Array = blas.dger(sign, v, u, a=M.T, overwrite_a=1)
    return total.T


def add_squares(M: Array, U: Array, *, into: bool = False) -> Array:
    """M − u uᵀ + v vᵀ for the two rows u and v of U: a new matrix, or written `into` M."""
    if not len(M):
        return M
    total: Array = blas.dgemm(1.0, (SIGNS[:, None] * U).T, U.T, 1.0, M.T, trans_b=1, overwrite_c=into)
    return total.T


def solve_factor(L: Array, B: Array) -> Array:
    """A⁻¹B for A = L Lᵀ."""
    solved: Array = lapack.dpotrs(L, B, lower=1)[0] if len(B) else B
    return solved


def aligned(rows: int, columns: int) -> Array:
    """An uninitialised (rows, columns) whose rows begin on cache lines: products with it take a quarter less time."""
    line = 8  # numbers in 64 bytes
    stride = -(-columns // line) * line
    memory = np.empty(rows * stride + line)
    start = -(memory.ctypes.data // memory.itemsize) % line
    return memory[start : start + rows * stride].reshape(rows, stride)[:, :columns]
