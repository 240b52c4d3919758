"""A step of the posterior on candidates as one function, compiled by Numba. Imported if the extra `fast` is installed.

The formulas are those of `gp/inverses.py`, `gp/slots.py` and `gp/sweep.py`, of the last in a single pass over the
kernel rows. Sums are taken in another order, so that results differ from theirs by rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from driftwise.gp.inverses import Index
from driftwise.gp.slots import leftover
from driftwise.records import Array

BLOCK = 512  # candidates at a time, so that what is summed stays in the first-level cache


@njit(cache=True)
def upper(mean: Array, var: Array, prior: Array, beta: float) -> Array:
    """μ + βσ at every candidate, (n,), with the bits that NumPy gives it."""
    bound = np.empty_like(var)
    for j in range(len(var)):
        bound[j] = mean[j] + beta * math.sqrt(min(max(var[j], 0.0), prior[j]))
    return bound


_leftover = njit(cache=True)(leftover)


@njit(cache=True, fastmath={"contract"})
def step(
    P: Array,  # (m, m)
    kernel: Array,  # (n, n)
    known: Index,  # (m,): the candidates of the slots
    numbers: Index,  # (w,): serial numbers of slots
    first: int,
    Y: Array,  # (w, q)
    mean: Array,  # (q, n)
    var: Array,  # (n,)
    i: int,  # the candidate that enters
    y: float,
    drop: bool,
    noise: float,
) -> tuple[Array, Array, Array, float, int, int, bool]:
    """A⁻¹, mean and variance after the step, and what the information gain grows by; and the slot that i takes.

    With how many slots are left out before the first in use, and whether too many others are free.
    """
    entering = 0
    while entering < len(known) and known[entering] != i:
        entering += 1
    m, n, q = max(len(known), entering + 1), len(var), len(mean)
    candidates, counts, sums, gone, crowded = np.empty(m, np.intp), np.zeros(m), np.zeros(m), 0, False
    candidates[: len(known)] = known
    candidates[entering] = i
    for t in range(drop, len(numbers)):
        counts[numbers[t] - first] += 1.0
        sums[numbers[t] - first] += Y[t, 0]
    if drop and counts[numbers[0] - first] == 0.0:
        gone, crowded = _leftover(counts, entering)
    U, T, gain, freed = np.zeros((2, m)), np.zeros((q, 2)), (0.5 * drop - 0.5) * math.log(noise), -1
    if drop:
        leaving = numbers[0] - first
        left = counts[leaving]
        root = 1.0 / math.sqrt(P[leaving, leaving] + left * (left + 1.0) / noise)
        U[0, : len(P)] = root * P[leaving]
        gain -= math.log((left + 1.0) * root)
        _slopes(T[:, 0], -1.0, U[0], root, leaving, Y[0, 0], counts, sums)
        freed = leaving if left == 0.0 else -1
    root = _entering(P, U, entering, freed, counts[entering], kernel[i], candidates, noise)
    gain += math.log((counts[entering] + 1.0) * root)
    _slopes(T[:, 1], 1.0, U[1], root, entering, y, counts, sums)
    after = _added(P, U, gone)
    if freed >= gone and freed != entering:
        after[freed - gone] = 0.0
        after[:, freed - gone] = 0.0
    next_mean, next_var = np.empty((q, n)), np.empty(n)
    _sweep(kernel, candidates, U, T, mean, var, next_mean, next_var)
    return after, next_mean, next_var, gain, entering, gone, crowded


@njit(cache=True, fastmath={"contract"})
def _entering(P: Array, U: Array, i: int, freed: int, c: float, row: Array, candidates: Index, noise: float) -> float:
    """Writes u of an observation that enters, and returns √g."""
    n, left, u, removed = len(P), U[0], U[1], 0.0
    if c > 0.0:
        weight = c * (c + 1.0) / noise
        root = math.sqrt(weight - (P[i, i] - left[i] * left[i]))
        for a in range(n):
            u[a] = (P[i, a] - left[i] * left[a]) / root
        return root / weight
    for a in range(n):
        k = row[candidates[a]]
        removed += left[a] * k
        for b in range(n):
            u[b] -= k * P[a, b]
    for a in range(n):
        u[a] += removed * left[a]
    if freed >= 0:
        u[freed] = 0.0
    own = row[candidates[i]]
    for a in range(n):
        own += u[a] * row[candidates[a]]
    root = math.sqrt(max(own, 0.0) + noise)
    u[i] = 1.0
    for a in range(len(u)):
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
def _added(P: Array, U: Array, gone: int) -> Array:
    """P − u uᵀ + v vᵀ for the rows u and v of U, which may have one slot more, without the first `gone` slots."""
    P, u, v = P[gone:, gone:], U[0, gone:], U[1, gone:]
    n, m = len(P), len(u)
    after = np.empty((m, m))
    for a in range(n):
        for b in range(n):
            after[a, b] = P[a, b] - u[a] * u[b] + v[a] * v[b]
    if m > n:
        after[n] = v[n] * v
        after[:, n] = v[n] * v
    return after


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
