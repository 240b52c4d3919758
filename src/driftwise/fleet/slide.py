"""The step of `windowed.py` for many keys, compiled by Numba. Imported if the extra `fast` is installed."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from driftwise.fleet.streams import Places
from driftwise.records import Array

Slots = NDArray[np.int64]


@njit(cache=True, nogil=True, fastmath={"contract"})
def slide(
    slots: Slots,  # (r,): which beliefs
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
    places: Places,  # (r,): where the new ones go
    mean: Array,  # (C, q, n)
    var: Array,  # (C, n)
    best: Places,  # (C,): where the next score is largest, of the n
    surprise: Array,  # (r,)
) -> None:
    """Observe one reward a key, in place, and choose what is next."""
    w, n, q = P.shape[1], len(prior), mean.shape[1]
    c, u, k, v, more = np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w)
    g, h, explained, expected = np.zeros(n), np.zeros(n), np.zeros(q), np.zeros(q)
    for b in range(len(slots)):
        r, j, y = slots[b], entering[b], rewards[b]
        m, A, spots, seen, s = counts[b], P[r], where[r], Y[r], places[b]
        full = m == w
        size = m if full else m + 1
        _leaving(A, seen, s, full, size, c, explained)
        root = _entering(A, pairs, spots, s, j, size, noise, refined, c, k, v, more, u)
        lost = pairs[j, spots[s]] * c[s] + _dot(c, k, size)  # g at the candidate that enters
        _expect(u, seen, s, size, root, expected)
        before, variance = expected + lost * explained, root**2 - lost**2  # with the slot that leaves, and the noise
        surprise[b] = _surprise(y, seen[:m], before, variance, noise) if m else 0.0
        for a in range(size):
            for e in range(size):
                A[a, e] += u[a] * u[e] - c[a] * c[e]
        for a in range(size):
            A[s, a] = A[a, s] = u[s] * u[a]
        g[:] = 0.0
        h[:] = 0.0
        if full:
            _add_row(g, c[s], kernel[spots[s]])
        spots[s] = j
        _add_row(h, u[s], kernel[j])
        c[s] = 0.0
        u[s] = 0.0
        _sweep(kernel, spots, c, u, size, g, h)
        for i in range(n):
            var[r, i] += g[i] * g[i] - h[i] * h[i]
        for column in range(q):
            gained = ((y if column == 0 else 1.0) - expected[column]) / root
            for i in range(n):
                mean[r, column, i] -= g[i] * explained[column] + h[i] * gained
        seen[s] = y
        best[r] = best_score(seen[:size], mean[r], var[r], prior, beta[b], g)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _leaving(A: Array, seen: Array, s: int, full: bool, size: int, c: Array, explained: Array) -> None:
    """Writes c/√p of the slot that leaves, and cᵀy/√p of the rewards and of ones; zeros if nothing leaves."""
    explained[:] = 0.0
    if not full:
        c[:size] = 0.0
        return
    root = 1.0 / math.sqrt(A[s, s])
    for a in range(size):
        c[a] = A[s, a] * root
        explained[0] += c[a] * seen[a]
    if len(explained) > 1:
        for a in range(size):
            explained[1] += c[a]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _solved(A: Array, c: Array, k: Array, s: int, size: int, v: Array) -> None:
    """Writes v = (A⁻¹ − c cᵀ)k, 0 in slot s; k is 0 there."""
    along = 0.0
    for a in range(size):
        v[a] = 0.0
        along += c[a] * k[a]
    for a in range(size):
        if a != s:
            for e in range(size):
                v[e] += k[a] * A[a, e]
    for a in range(size):
        v[a] -= along * c[a]
    v[s] = 0.0


@njit(cache=True, nogil=True, fastmath={"contract"})
def _rest(pairs: Array, spots: Places, s: int, size: int, noise: float, k: Array, v: Array, rest: Array) -> None:
    """Writes the residual k − A v of the window without slot s."""
    for a in range(size):
        row, total = pairs[spots[a]], noise * v[a]
        for e in range(size):
            if e != s:
                total += row[spots[e]] * v[e]
        rest[a] = k[a] - total
    rest[s] = 0.0


@njit(cache=True, nogil=True, fastmath={"contract"})
def _entering(
    A: Array, pairs: Array, spots: Places, s: int, j: int, size: int, noise: float, refined: bool, c: Array, k: Array,
    v: Array, more: Array, u: Array,
) -> float:  # fmt: skip
    """Writes k and ũ/√δ of the candidate that enters at slot s, and returns √δ."""
    row = pairs[j]
    for a in range(size):
        k[a] = row[spots[a]] if a != s else 0.0
    _solved(A, c, k, s, size, v)
    if refined:
        _rest(pairs, spots, s, size, noise, k, v, u)
        _solved(A, c, u, s, size, more)
        for a in range(size):
            v[a] += more[a]
    known = 0.0
    for a in range(size):
        known += v[a] * k[a]
    root = math.sqrt(max(row[j] - known, 0.0) + noise)
    for a in range(size):
        u[a] = v[a] / root
    u[s] = -1.0 / root
    return root


@njit(cache=True, nogil=True, fastmath={"contract"})
def _dot(x: Array, y: Array, size: int) -> float:
    total = 0.0
    for a in range(size):
        total += x[a] * y[a]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _expect(u: Array, seen: Array, s: int, size: int, root: float, expected: Array) -> None:
    """Writes kᵀA⁻¹y of the candidate that enters, without the slot s, for the rewards and for ones."""
    expected[:] = 0.0
    for a in range(size):
        if a != s:
            expected[0] += root * u[a] * seen[a]
    if len(expected) > 1:
        for a in range(size):
            if a != s:
                expected[1] += root * u[a]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_row(into: Array, factor: float, row: Array) -> None:
    for i in range(len(into)):
        into[i] += factor * row[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sweep(kernel: Array, spots: Places, c: Array, u: Array, size: int, g: Array, h: Array) -> None:
    """g += Kᵀc and h += Kᵀu: the kernel rows are read once, four at a time."""
    n, fours = len(g), size // 4 * 4
    for a in range(0, fours, 4):
        r0, r1, r2, r3 = kernel[spots[a]], kernel[spots[a + 1]], kernel[spots[a + 2]], kernel[spots[a + 3]]
        c0, c1, c2, c3 = c[a], c[a + 1], c[a + 2], c[a + 3]
        u0, u1, u2, u3 = u[a], u[a + 1], u[a + 2], u[a + 3]
        for i in range(n):
            g[i] += c0 * r0[i] + c1 * r1[i] + c2 * r2[i] + c3 * r3[i]
            h[i] += u0 * r0[i] + u1 * r1[i] + u2 * r2[i] + u3 * r3[i]
    for a in range(fours, size):
        _add_row(g, c[a], kernel[spots[a]])
        _add_row(h, u[a], kernel[spots[a]])


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
    slots: Slots, counts: Places, beta: Array, prior: Array, Y: Array, mean: Array, var: Array, best: Places
) -> None:
    """What is chosen next with these widths, for each of the beliefs."""
    score = np.empty(len(prior))
    for b in range(len(slots)):
        r = slots[b]
        best[r] = best_score(Y[r, : counts[b]], mean[r], var[r], prior, beta[b], score)
