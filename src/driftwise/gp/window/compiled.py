"""A slide of many windows, in place, compiled by Numba. Imported if the extra `fast` is installed.

The formulas are those of `gp/window`. Sums are taken in another order than NumPy does, so that results differ from its
by rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from driftwise.gp.window.slots import Index
from driftwise.records import Array

Places = NDArray[np.int32]
Rows = NDArray[np.int64]
BLOCK = 512  # candidates at a time, so that what is summed stays in the first-level cache


@njit(cache=True, nogil=True, fastmath={"contract"})
def leave(A: Array, s: int, others: int, noise: float, size: int, c: Array) -> float:
    """Writes c of an observation that leaves slot s, beside so many others, and returns √g."""
    root = 1.0 / math.sqrt(A[s, s] + others * (others + 1.0) / noise)
    for a in range(size):
        c[a] = A[s, a] * root
    return root


@njit(cache=True, nogil=True, fastmath={"contract"})
def enter_again(A: Array, c: Array, s: int, others: int, noise: float, size: int, u: Array) -> float:
    """Writes u of one more observation at slot s, and returns √g."""
    weight = others * (others + 1.0) / noise
    root = math.sqrt(weight - (A[s, s] - c[s] * c[s]))
    for a in range(size):
        u[a] = (A[s, a] - c[s] * c[a]) / root
    return root / weight


@njit(cache=True, nogil=True, fastmath={"contract"})
def enter(
    A: Array, c: Array, freed: int, s: int, own: float, noise: float, kernel: Array, spots: Places, size: int,
    refined: bool, k: Array, v: Array, more: Array, u: Array,
) -> float:  # fmt: skip
    """Writes ũ/√δ of the first observation at slot s, where k is 0 as at the slot `freed`, and returns √δ."""
    _solved(A, c, k, freed, size, v)
    if refined:
        _rest(kernel, spots, freed, s, size, noise, k, v, u)
        _solved(A, c, u, freed, size, more)
        for a in range(size):
            v[a] += more[a]
    root = math.sqrt(max(own - dot(v, k, size), 0.0) + noise)
    for a in range(size):
        u[a] = -v[a] / root
    u[s] = 1.0 / root
    return root


@njit(cache=True, nogil=True, fastmath={"contract"})
def _solved(A: Array, c: Array, k: Array, freed: int, size: int, v: Array) -> None:
    """Writes v = (A⁻¹ − c cᵀ)k, 0 in the slot that is freed; k is 0 there."""
    along = dot(c, k, size)
    for a in range(size):
        v[a] = -along * c[a]
    for a in range(size):
        if k[a] != 0.0:
            for e in range(size):
                v[e] += k[a] * A[a, e]
    if freed >= 0:
        v[freed] = 0.0


@njit(cache=True, nogil=True, fastmath={"contract"})
def _rest(
    pairs: Array, spots: Places, freed: int, s: int, size: int, noise: float, k: Array, v: Array, rest: Array
) -> None:
    """Writes the residual k − A v of the window without the slots that is freed and that is filled."""
    for a in range(size):
        row, total = pairs[spots[a]], noise * v[a]
        for e in range(size):
            total += row[spots[e]] * v[e]
        rest[a] = k[a] - total
    rest[s] = 0.0
    if freed >= 0:
        rest[freed] = 0.0


@njit(cache=True, nogil=True, fastmath={"contract"})
def dot(x: Array, y: Array, size: int) -> float:
    total = 0.0
    for a in range(size):
        total += x[a] * y[a]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_squares(A: Array, c: Array, u: Array, size: int) -> None:
    """A⁻¹ += u uᵀ − c cᵀ, in place."""
    for a in range(size):
        for e in range(size):
            A[a, e] += u[a] * u[e] - c[a] * c[e]


@njit(cache=True, nogil=True, fastmath={"contract"})
def sweep(
    kernel: Array, spots: Places, c: Array, u: Array, size: int, losses: Array, gains: Array, mean: Array, var: Array,
    g: Array, h: Array,
) -> None:  # fmt: skip
    """Mean and variance move by g = Kᵀc, which is taken away, and h = Kᵀu; g and h begin with what is in them.

    The kernel rows are read once, four at a time, for a block of candidates.
    """
    used, count = np.empty(size, np.intp), 0
    for a in range(size):
        if c[a] != 0.0 or u[a] != 0.0:
            used[count] = a
            count += 1
    for start in range(0, len(var), BLOCK):
        stop = min(start + BLOCK, len(var))
        some, more = g[start:stop], h[start:stop]
        _add_rows(kernel, spots, c, u, used[:count], start, some, more)
        left = var[start:stop]
        for i in range(stop - start):
            left[i] += some[i] * some[i] - more[i] * more[i]
        for column in range(len(mean)):
            loss, gain, into = losses[column], gains[column], mean[column, start:stop]
            for i in range(stop - start):
                into[i] += more[i] * gain - some[i] * loss


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_rows(kernel: Array, spots: Places, c: Array, u: Array, used: Index, start: int, g: Array, h: Array) -> None:
    """g += Kᵀc and h += Kᵀu from candidate `start` on."""
    fours, stop = len(used) // 4 * 4, start + len(g)
    for b in range(0, fours, 4):
        a0, a1, a2, a3 = used[b], used[b + 1], used[b + 2], used[b + 3]
        r0, r1 = kernel[spots[a0], start:stop], kernel[spots[a1], start:stop]
        r2, r3 = kernel[spots[a2], start:stop], kernel[spots[a3], start:stop]
        c0, c1, c2, c3 = c[a0], c[a1], c[a2], c[a3]
        u0, u1, u2, u3 = u[a0], u[a1], u[a2], u[a3]
        for i in range(len(g)):
            g[i] += c0 * r0[i] + c1 * r1[i] + c2 * r2[i] + c3 * r3[i]
            h[i] += u0 * r0[i] + u1 * r1[i] + u2 * r2[i] + u3 * r3[i]
    for a in used[fours:]:
        add_row(g, c[a], kernel[spots[a], start:stop])
        add_row(h, u[a], kernel[spots[a], start:stop])


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_row(into: Array, factor: float, row: Array) -> None:
    for i in range(len(into)):
        into[i] += factor * row[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def slide(
    slots: Rows,  # (r,): which beliefs
    entering: Places,  # (r,)
    rewards: Array,  # (r,)
    beta: Array,  # (r,): of the next step
    pairs: Array,  # (N, N): of all candidates
    kernel: Array,  # (N, n): of these and those where beliefs are held
    prior: Array,  # (n,)
    noise: float,
    refined: bool,  # whether u is refined by its residual
    P: Array,  # (C, w, w): A⁻¹
    where: Places,  # (C, w)
    Y: Array,  # (C, w)
    counts: Places,  # (r,): observations in the windows
    places: Places,  # (r,): the slots that are taken
    mean: Array,  # (C, q, n)
    var: Array,  # (C, n)
    best: Places,  # (C,): where the next score is largest, of the n
    surprise: Array,  # (r,)
) -> None:
    """Observe one reward a key, in place, and choose what is next."""
    w, n, q = P.shape[1], len(prior), mean.shape[1]
    c, u, k, v, more = np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w)
    g, h, losses, gains = np.zeros(n), np.zeros(n), np.zeros(q), np.zeros(q)
    for b in range(len(slots)):
        r, j, y = slots[b], entering[b], rewards[b]
        m, A, spots, seen, s = counts[b], P[r], where[r], Y[r], places[b]
        size = min(m + 1, w)
        c[:] = 0.0
        losses[:] = 0.0
        if m == w:
            leave(A, s, 0, noise, size, c)
            _along(c, seen, -1, size, losses)
        row = pairs[j]
        for a in range(size):
            k[a] = row[spots[a]] if a != s else 0.0
        lost = row[spots[s]] * c[s] + dot(c, k, size)  # g at the candidate that enters
        root = enter(A, c, s, s, row[j], noise, pairs, spots, size, refined, k, v, more, u)
        _along(u, seen, s, size, gains)
        expected = lost * losses - root * gains  # with the slot that leaves
        surprise[b] = _surprise(y, seen[:m], expected, root**2 - lost**2, noise) if m else 0.0
        gains[0] += u[s] * y
        if q > 1:
            gains[1] += u[s]
        seen[s] = y
        add_squares(A, c, u, size)
        for a in range(size):
            A[s, a] = A[a, s] = u[s] * u[a]  # not what rounding leaves
        g[:] = 0.0
        h[:] = 0.0
        if m == w:
            add_row(g, c[s], kernel[spots[s]])
        spots[s] = j
        add_row(h, u[s], kernel[j])
        c[s] = u[s] = 0.0
        sweep(kernel, spots, c, u, size, losses, gains, mean[r], var[r], g, h)
        best[r] = best_score(seen[:size], mean[r], var[r], prior, beta[b], g)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _along(x: Array, seen: Array, without: int, size: int, into: Array) -> None:
    """Writes xᵀy of the rewards and of ones, without one slot."""
    into[:] = 0.0
    for a in range(size):
        if a != without:
            into[0] += x[a] * seen[a]
            if len(into) > 1:
                into[1] += x[a]


@njit(cache=True, nogil=True)
def _units(seen: Array) -> tuple[float, float]:
    """Mean and standard deviation of rewards, as `gp.noise.location_scale`."""
    if not len(seen):
        return 0.0, 1.0
    location, scale = seen.mean(), seen.std()
    return location, scale if scale > 1e-12 * np.abs(seen).max() else 1.0


@njit(cache=True, nogil=True)
def _surprise(y: float, seen: Array, expected: Array, variance: float, noise: float) -> float:
    """How far y is from what was expected, in deviations of a reward."""
    deviation = math.sqrt(max(variance, noise))
    if len(expected) == 1:
        return (y - expected[0]) / deviation
    location, scale = _units(seen)
    return ((y - location) - (expected[0] - location * expected[1])) / scale / deviation


@njit(cache=True, nogil=True)
def best_score(seen: Array, mean: Array, var: Array, prior: Array, beta: float, score: Array) -> int:
    """The first of those where mean + β deviation is largest; `score` is overwritten."""
    location, scale = _units(seen) if len(mean) > 1 else (0.0, 1.0)
    for i in range(len(prior)):
        score[i] = beta * math.sqrt(min(max(var[i], 0.0), prior[i]))
    if len(mean) == 1:
        for i in range(len(prior)):
            score[i] += mean[0, i]
    else:
        for i in range(len(prior)):
            score[i] += (mean[0, i] - location * mean[1, i]) / scale
    top = 0
    for i in range(1, len(prior)):
        if score[i] > score[top]:
            top = i
    return top


@njit(cache=True, nogil=True)
def choose(
    slots: Rows, counts: Places, beta: Array, prior: Array, Y: Array, mean: Array, var: Array, best: Places
) -> None:
    """What is chosen next with these widths, for each of the beliefs."""
    score = np.empty(len(prior))
    for b in range(len(slots)):
        r = slots[b]
        best[r] = best_score(Y[r, : counts[b]], mean[r], var[r], prior, beta[b], score)
