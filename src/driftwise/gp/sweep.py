"""Mean and variance at every candidate after a step: products with the kernel rows, nearly all the cost of it."""

from __future__ import annotations

from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from driftwise.gp.linalg import SIGNS
from driftwise.gp.slots import Move
from driftwise.records import Array

# Kernels with which OpenBLAS has a fast way for small products, and the most multiplications of one.
WITH_SMALL_PRODUCTS = ("SkylakeX", "Cooperlake", "SapphireRapids")
SMALL = 10**6


def swept(mean: Array, var: Array, move: Move) -> tuple[Array, Array, Array]:
    """The next mean, (q, n), and variance, (n,), and C = U K, (r, n)."""
    C = product(move.U, move.K)
    return mean + np.dot(move.slopes, C), var - np.dot(SIGNS[2 - len(C) :], C * C), C


def product(U: Array, K: Array) -> Array:
    """U K of one or two rows with the kernel rows: at once where BLAS does that fast, and else row by row.

    A product with one vector reads K as fast as the memory allows in every BLAS, and one with two does so in few
    (docs/speed.md). Which one is taken depends on the sizes and the kernels of BLAS alone, so that replay is exact.
    """
    if U.size * K.shape[1] <= SMALL and has_small_products():
        return U @ K
    C = np.empty((len(U), K.shape[1]))
    for u, c in zip(U, C, strict=True):
        np.matmul(u, K, out=c)  # np.dot would first copy a K whose rows are longer than what is used of them
    return C


@cache
def has_small_products() -> bool:
    """Whether BLAS has that way on this processor: its kernels are chosen when it is loaded, and stay."""
    libraries = ThreadpoolController().select(internal_api="openblas").info()
    return bool(libraries) and all(library.get("architecture") in WITH_SMALL_PRODUCTS for library in libraries)
