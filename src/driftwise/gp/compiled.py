"""A step of the posterior on candidates as one function, compiled by Numba. Imported if the extra `fast` is installed.

The formulas are those of `gp/inverses.py`, `gp/slots.py` and `gp/sweep.py`, of the last in a single pass over the
kernel rows. Sums are taken in another order, so that results differ from theirs by rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from driftwise.gp.inverses import Index
from driftwise.records import Array

BLOCK = 512  # candidates at a time, so that what is summed stays in the first-level cache


@njit(cache=True, fastmath={"contract"})
def step(
    P: Array,  # (m, m) or one less
    kernel: Array,  # (n, n)
    candidates: Index,  # (m,)
    numbers: Index,  # (w,): serial numbers of slots
    first: int,
    Y: Array,  # (w, q)
    mean: Array,  # (q, n)
    var: Array,  # (n,)
    entering: int,
    y: float,
    drop: int,
    noise: float,
    gone: int,  # slots before the first that is in use afterwards
) -> tuple[Array, Array, Array, float]:
    """A⁻¹, mean and variance after the step, and what the information gain grows by."""
    m, n, q = len(candidates), len(var), len(mean)
    counts, sums = np.zeros(m), np.zeros(m)
    for t in range(drop, len(numbers)):
        counts[numbers[t] - first] += 1.0
        sums[numbers[t] - first] += Y[t, 0]
    after = np.zeros((m - gone, m - gone))
    after[: len(P) - gone, : len(P) - gone] = P[gone:, gone:]
    U, T, gain = np.zeros((2, m)), np.zeros((q, 2)), (0.5 * drop - 0.5) * math.log(noise)
    if drop:
        leaving = numbers[0] - first
        left = counts[leaving]
        root = 1.0 / math.sqrt(P[leaving, leaving] + left * (left + 1.0) / noise)
        U[0, : len(P)] = root * P[leaving]
        _add_square(after, U[0, gone:], -1.0)
        if left == 0.0 and leaving >= gone:
            after[leaving - gone] = 0.0
            after[:, leaving - gone] = 0.0
        gain -= math.log((left + 1.0) * root)
        _slopes(T[:, 0], -1.0, U[0], root, leaving, Y[0, 0], counts, sums)
    root = _entering(after, U[1, gone:], entering - gone, counts[entering], kernel, candidates[gone:], noise)
    _add_square(after, U[1, gone:], 1.0)
    gain += math.log((counts[entering] + 1.0) * root)
    _slopes(T[:, 1], 1.0, U[1], root, entering, y, counts, sums)
    next_mean, next_var = np.empty((q, n)), np.empty(n)
    _sweep(kernel, candidates, U, T, mean, var, next_mean, next_var)
    return after, next_mean, next_var, gain


@njit(cache=True, fastmath={"contract"})
def _entering(P: Array, u: Array, i: int, c: float, kernel: Array, candidates: Index, noise: float) -> float:
    """Writes u of an observation that enters, and returns √g."""
    m = len(u)
    if c > 0.0:
        weight = c * (c + 1.0) / noise
        root = math.sqrt(weight - P[i, i])
        for a in range(m):
            u[a] = P[i, a] / root
        return root / weight
    row, v, own = kernel[candidates[i]], np.zeros(m), 0.0
    for a in range(m):
        for b in range(m):
            v[b] += row[candidates[a]] * P[a, b]
    for a in range(m):
        own += v[a] * row[candidates[a]]
        u[a] = -v[a]
    root = math.sqrt(max(row[candidates[i]] - own, 0.0) + noise)
    u[i] = 1.0
    for a in range(m):
        u[a] /= root
    return root


@njit(cache=True, fastmath={"contract"})
def _slopes(T: Array, sign: float, u: Array, root: float, i: int, y: float, counts: Array, sums: Array) -> None:
    """Writes the slopes, (q,), of one change: of the rewards, and of ones if there are two."""
    explained, ones = 0.0, 0.0
    for a in range(len(u)):
        if counts[a] > 0.0:
            explained += u[a] * (sums[a] / counts[a])
            ones += u[a]
    before = sums[i] / counts[i] if counts[i] > 0.0 else 0.0
    T[0] = sign * (((sums[i] + y) / (counts[i] + 1.0) - before) / root + explained)
    if len(T) > 1:
        T[1] = sign * ((0.0 if counts[i] > 0.0 else 1.0) / root + ones)


@njit(cache=True, fastmath={"contract"})
def _add_square(P: Array, u: Array, sign: float) -> None:
    """P ± u uᵀ, in place."""
    for a in range(len(u)):
        v = sign * u[a]
        if v != 0.0:
            for b in range(len(u)):
                P[a, b] += v * u[b]


@njit(cache=True, fastmath={"contract"})
def _sweep(
    kernel: Array, candidates: Index, U: Array, T: Array, mean: Array, var: Array, next_mean: Array, next_var: Array
) -> None:
    """Mean and variance at all candidates: the rows of the kernel are read once, four at a time."""
    n, used = len(var), np.flatnonzero((U[0] != 0.0) | (U[1] != 0.0))
    C, D = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        c, d = C[:size], D[:size]
        c[:] = 0.0
        d[:] = 0.0
        for s in range(0, len(used) - 3, 4):
            i0, i1, i2, i3 = used[s], used[s + 1], used[s + 2], used[s + 3]
            r0, r1 = kernel[candidates[i0], start:], kernel[candidates[i1], start:]
            r2, r3 = kernel[candidates[i2], start:], kernel[candidates[i3], start:]
            a0, a1, a2, a3 = U[0, i0], U[0, i1], U[0, i2], U[0, i3]
            b0, b1, b2, b3 = U[1, i0], U[1, i1], U[1, i2], U[1, i3]
            for j in range(size):
                c[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
                d[j] += b0 * r0[j] + b1 * r1[j] + b2 * r2[j] + b3 * r3[j]
        for s in range(len(used) // 4 * 4, len(used)):
            row, a0, b0 = kernel[candidates[used[s]], start:], U[0, used[s]], U[1, used[s]]
            for j in range(size):
                c[j] += a0 * row[j]
                d[j] += b0 * row[j]
        for j in range(size):
            next_var[start + j] = var[start + j] + c[j] * c[j] - d[j] * d[j]
        for column in range(len(mean)):
            for j in range(size):
                next_mean[column, start + j] = mean[column, start + j] + (T[column, 0] * c[j] + T[column, 1] * d[j])
