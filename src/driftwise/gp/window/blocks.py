"""What beliefs of windows say of a block of a mesh, compiled by Numba. Imported if the extra `fast` is installed.

A block has b candidates that lie side by side in the kernel matrix. With k: (m, b) their kernel with the window,

    v = A⁻¹ k        mean = vᵀy        var = k(x, x) − the diagonal of kᵀv
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftwise.gp.window.compiled import Places, Rows, best_score
from driftwise.records import Array


@njit(cache=True, nogil=True, fastmath={"contract"})
def near(
    slots: Rows,  # (r,): which beliefs
    counts: Places,  # (r,): observations in the windows
    firsts: Places,  # (r,): the first candidates of the blocks
    pairs: Array,  # (N, N)
    P: Array,  # (C, w, w): A⁻¹
    where: Places,  # (C, w)
    Y: Array,  # (C, w)
    mean: Array,  # (r, q, b)
    var: Array,  # (r, b)
) -> None:
    """Writes mean and variance at a block each."""
    w, block = P.shape[1], var.shape[1]
    k, v = np.zeros((w, block)), np.zeros((w, block))
    for i in range(len(slots)):
        r = slots[i]
        _near(P[r], where[r], Y[r], counts[i], firsts[i], pairs, k, v, mean[i], var[i])


@njit(cache=True, nogil=True, fastmath={"contract"})
def refine(
    slots: Rows, counts: Places, beta: Array, pairs: Array, prior: Array, P: Array, where: Places, Y: Array,
    best: Places, mean: Array, var: Array,
) -> None:  # fmt: skip
    """Replaces the number of a block, in `best`, by the candidate in it with the largest score.

    `prior`: (N,); `mean`: (q, b) and `var`: (b,) are overwritten.
    """
    w, block = P.shape[1], len(var)
    k, v, score = np.zeros((w, block)), np.zeros((w, block)), np.zeros(block)
    for i in range(len(slots)):
        r, m = slots[i], counts[i]
        first = best[r] * block
        _near(P[r], where[r], Y[r], m, first, pairs, k, v, mean, var)
        best[r] = first + best_score(Y[r, :m], mean, var, prior[first : first + block], beta[i], score)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _near(
    A: Array, spots: Places, seen: Array, m: int, first: int, pairs: Array, k: Array, v: Array, mean: Array, var: Array
) -> None:
    block = len(var)
    for a in range(m):
        row = pairs[spots[a]]
        for f in range(block):
            k[a, f] = row[first + f]
            v[a, f] = 0.0
    for a in range(m):
        for e in range(m):
            each = A[a, e]
            for f in range(block):
                v[a, f] += each * k[e, f]
    mean[:] = 0.0
    for f in range(block):
        var[f] = pairs[first + f, first + f]
    for a in range(m):
        for f in range(block):
            var[f] -= k[a, f] * v[a, f]
            mean[0, f] += v[a, f] * seen[a]
    if len(mean) > 1:
        for a in range(m):
            for f in range(block):
                mean[1, f] += v[a, f]
