"""Mean and variance at every candidate after a step: products with the kernel rows, nearly all the cost of it."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from driftwise.gp.window.slots import Exchange
from driftwise.records import Array

# Kernels with which OpenBLAS has a fast way for small products, and the most multiplications of one.
WITH_SMALL_PRODUCTS = ("SkylakeX", "Cooperlake", "SapphireRapids")
SMALL = 10**6


class Move(NamedTuple):
    """What a slide changes: A⁻¹ by ∓ u uᵀ for each row u of U, the first with − if an observation left."""

    U: Array  # (r, m)
    slopes: list[list[float]]  # (q, r): the means of rewards, and of ones, change by these times Kᵀu
    gain: float  # what the information gain grows by

    @classmethod
    def of(cls, how: Exchange, U: Array, roots: list[float], noise: float) -> Move:
        """With ȳ the means without the observation, Δ what it adds to that of its candidate, and c how many others
        the candidate has, the means change by ±(Δ/√g + uᵀȳ) Kᵀu, and the information gain by ±(ln((c + 1)√g) − ½ ln λ).
        """
        explained, (_, others, delta) = np.dot(how.means, U.T).tolist(), how.entering
        gains, gain = (delta, 0.0 if others else 1.0), math.log((others + 1) * roots[-1])
        if how.leaving is None:
            slopes = [[each / roots[0] + one] for each, (one,) in zip(gains, explained, strict=False)]
            return cls(U, slopes, gain - 0.5 * math.log(noise))
        (_, others, delta), (out, into) = how.leaving, roots
        losses = delta, 0.0 if others else 1.0
        slopes = [
            [-(loss / out + one), each / into + two]
            for loss, each, (one, two) in zip(losses, gains, explained, strict=False)
        ]
        return cls(U, slopes, gain - math.log((others + 1) * out))


def swept(mean: Array, var: Array, move: Move, K: Array) -> tuple[Array, Array, Array]:
    """The next mean, (q, n), and variance, (n,), and C = U K, (r, n), of kernel rows K, (m, n)."""
    C = product(move.U, K)
    squares = C * C
    after = var - squares[-1] if len(C) == 1 else squares[0] - squares[1]
    if len(C) > 1:
        after += var
    return mean + np.dot(move.slopes, C), after, C


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
