"""A slide of the window of one key, whose candidates may be repeated, compiled by Numba (`gp/window/compiled.py`)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from driftwise.gp.window.compiled import add_squares, dot, enter, enter_again, leave, sweep
from driftwise.gp.window.slots import Index
from driftwise.records import Array


@njit(cache=True)
def upper(mean: Array, var: Array, prior: Array, beta: float) -> Array:
    """μ + βσ at every candidate, (n,), with the bits that NumPy gives it."""
    bound = np.empty_like(var)
    for j in range(len(var)):
        bound[j] = mean[j] + beta * math.sqrt(min(max(var[j], 0.0), prior[j]))
    return bound


@njit(cache=True, fastmath={"contract"})
def slide(
    P: Array,  # (m, m) or without the last slot
    kernel: Array,  # (n, n)
    candidates: Index,  # (m,): of the slots
    means: Array,  # (q, m): of `Exchange`
    mean: Array,  # (q, n)
    var: Array,  # (n,)
    noise: float,
    leaving: int,  # a slot, or −1
    left: int,
    loss: float,
    entering: int,
    stay: int,
    gain: float,
    gone: int,
) -> tuple[Array, Array, Array, float]:
    """A⁻¹ without the slots that are `gone`, mean and variance afterwards, and what the information gain grows by."""
    m, n, size, q = len(candidates), len(var), len(P), len(mean)
    c, u, losses, gains = np.zeros(m), np.zeros(m), np.zeros(q), np.zeros(q)
    grown, freed = -0.5 * math.log(noise), -1
    if leaving >= 0:
        root = leave(P, leaving, left, noise, size, c)
        _slopes(losses, loss, left, root, c, means)
        grown = -math.log((left + 1.0) * root)
        freed = leaving if left == 0 else -1
    if stay > 0:
        root = enter_again(P, c, entering, stay, noise, size, u)
    else:
        row, k, v, more = kernel[candidates[entering]], np.empty(size), np.empty(size), np.empty(size)
        for a in range(size):
            k[a] = row[candidates[a]] if a != freed else 0.0
        own = row[candidates[entering]]
        root = enter(P, c, freed, entering, own, noise, kernel, candidates, size, False, k, v, more, u)
    _slopes(gains, gain, stay, root, u, means)
    grown += math.log((stay + 1.0) * root)
    after = np.zeros((m - gone, m - gone))
    after[: size - gone, : size - gone] = P[gone:, gone:]
    add_squares(after, c[gone:], u[gone:], m - gone)
    if freed >= gone and freed != entering:
        after[freed - gone] = 0.0
        after[:, freed - gone] = 0.0
    next_mean, next_var = mean.copy(), var.copy()
    sweep(kernel, candidates, c, u, m, losses, gains, next_mean, next_var, np.zeros(n), np.zeros(n))
    return after, next_mean, next_var, grown


@njit(cache=True, fastmath={"contract"})
def _slopes(slopes: Array, delta: float, others: int, root: float, u: Array, means: Array) -> None:
    """Writes Δ/√g + uᵀȳ of rewards and, if there are two, of ones."""
    for column in range(len(slopes)):
        change = delta if column == 0 else (0.0 if others > 0 else 1.0)
        slopes[column] = change / root + dot(u, means[column], len(u))
