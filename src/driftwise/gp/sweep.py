"""Mean and variance at every candidate after a step: one pass over the kernel rows for each change."""

from __future__ import annotations

import numpy as np

from driftwise.gp.slots import Move
from driftwise.records import Array


def swept(mean: Array, var: Array, move: Move) -> tuple[Array, Array, Array]:
    """The next mean, (q, n), and variance, (n,), and C = U K, (r, n).

    The rows of C are computed one by one: a product with one vector reads K as fast as the memory allows in every BLAS,
    and one with two does so in few (docs/speed.md).
    """
    C = np.empty((len(move.U), len(var)))
    for r, u in enumerate(move.U):
        np.dot(u, move.K, out=C[r])
    squares = C * C
    return mean + np.dot(move.slopes, C), (var + squares[0] if move.forgot else var) - squares[-1], C
