"""Experimental designs on finitely many arms: the log-determinant program inside OPKB (Hong, Li & Tewari 2023).

With feature rows Φ (ΦΦᵀ = K), a distribution P over the arms and c > 0:

    S(P) = Σ P(x) φ(x)φ(x)ᵀ + cI,   M_P = Φ S(P)⁻¹ Φᵀ,   v_P = diag M_P = ∇ log det S(P),   Hessian −(M_P ∘ M_P)

`tradeoff` minimises ΣPΔ − (2/β) log det S(P) over the simplex; `d_optimal` is that with Δ = 0 and a given support.
`greedy` is the other design, a list of points: each time the one of largest variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.gp.linalg import cholesky, solve_lower
from driftwise.records import Array

TOLERANCE = 1e-6  # of the program, in units of log det
CENTRED = 1e-6  # the decrement of Newton's method at which it ends
RANK = 1e-13  # eigenvalues of K below this part of the largest are rounding


@dataclass(frozen=True, eq=False)
class Arms:
    """N arms by their features Φ, and the regulariser c = σ/T.

    >>> arms = Arms.of(np.eye(2), reg=0.01)
    >>> arms.everywhere.round(6).tolist(), round(arms.gamma, 4) == round(2 * math.log(51), 4)
    ([0.5, 0.5], True)
    """

    features: Array  # (N, r)
    reg: float

    def __post_init__(self) -> None:
        checks.positive("reg", self.reg)

    @classmethod
    def of(cls, K: Array, reg: float) -> Arms:
        """From the kernel matrix: Φ has as many columns as K has numerical rank."""
        values, vectors = np.linalg.eigh(K)
        kept = values > RANK * values[-1]
        return cls(vectors[:, kept] * np.sqrt(values[kept]), reg)

    def __len__(self) -> int:
        return len(self.features)

    def log_det(self, P: Array) -> float:
        """log det(I + D^½ K D^½/c) with D = diag P: log det S(P) less its constant N log c."""
        L = self._factor(P)
        return 2 * float(np.log(np.diagonal(L)).sum()) - len(L) * math.log(self.reg)

    def precision(self, P: Array) -> Array:
        """M_P = Φ S(P)⁻¹ Φᵀ: (N, N)."""
        H = solve_lower(self._factor(P), np.ascontiguousarray(self.features.T))  # L⁻¹Φᵀ: (r, N)
        return H.T @ H

    @cached_property
    def everywhere(self) -> Array:
        """π(X): the distribution that maximises log det S, (N,)."""
        return d_optimal(self, np.ones(len(self), dtype=bool))

    @cached_property
    def gamma(self) -> float:
        """γ = max_P log det(I + D^½KD^½/c), without a factor ½."""
        return self.log_det(self.everywhere)

    def _factor(self, P: Array) -> Array:
        F = self.features
        return cholesky((F.T * P) @ F + self.reg * np.eye(F.shape[1]))[0]


def tradeoff(arms: Arms, gaps: Array, beta: float) -> Array:
    """P* = argmin ΣPΔ − (2/β) log det S(P) over the simplex; `gaps` Δ ≥ 0 with an arm at 0."""
    return _barrier(arms, np.arange(len(arms)), 0.5 * beta * gaps)


def d_optimal(arms: Arms, support: NDArray[np.bool_]) -> Array:
    """π(A) = argmax log det S(P) over P supported on A, a mask: (N,)."""
    where = np.flatnonzero(support)
    return _barrier(arms, where, np.zeros(len(where)))


def greedy(K: Array, picks: int, noise: float) -> list[int]:
    """`picks` times the point of largest posterior variance, the first of equals; repeats are allowed. O(picks² · n).

    >>> greedy(np.eye(3), 4, noise=0.1)
    [0, 1, 2, 0]
    """
    n = len(K)
    variance = np.diagonal(K).copy()
    rows = np.empty((min(picks, n), n))  # cov = K − rowsᵀrows
    filled, chosen = 0, []
    for _ in range(picks):
        i = int(np.argmax(variance))
        chosen.append(i)
        if filled == len(rows):  # as many rows as points: the covariance itself is smaller
            K, filled = K - rows.T @ rows, 0
        row = K[i] - rows[:filled, i] @ rows[:filled]
        rows[filled] = row / math.sqrt(max(float(row[i]), 0.0) + noise)
        variance -= rows[filled] ** 2
        filled += 1
    return chosen


def _barrier(arms: Arms, where: NDArray[np.intp], cost: Array) -> Array:
    """argmin costᵀp − log det S(p) over p ≥ 0, Σp ≤ 1 by Newton's method on s·(that) − Σ log p − log(1 − Σp), s rising.

    The minimum over the sub-simplex is that over the simplex, as an arm of cost 0 takes what mass is left.
    """
    n = len(where)
    part = Arms(arms.features[where], arms.reg)
    p, s = np.full(n, 0.5 / n), 1.0
    while True:
        p = _centre(part, p, cost, s)
        if (n + 1) / s <= TOLERANCE:
            break
        s = min(8 * s, (n + 1) / TOLERANCE)
    P = np.zeros(len(arms))
    P[where] = p / p.sum()
    return P


def _centre(arms: Arms, p: Array, cost: Array, s: float) -> Array:
    """Newton steps until the decrement is small, or until no step goes down."""
    value = _objective(arms, p, cost, s)
    for _ in range(60):
        step, decrement = _newton(arms, p, cost, s)
        descended = _line_search(arms, p, value, step, decrement, cost, s)
        if descended is None:
            return p
        p, value = descended
        if decrement < CENTRED:
            return p
    return p


def _newton(arms: Arms, p: Array, cost: Array, s: float) -> tuple[Array, float]:
    """The Newton step and its decrement gᵀH⁻¹g."""
    M = arms.precision(p)
    left = 1 - p.sum()
    gradient = s * (cost - np.diagonal(M)) - 1 / p + 1 / left
    hessian = s * M * M + 1 / left**2
    hessian[np.diag_indices_from(hessian)] += 1 / p**2
    L, _ = cholesky(hessian * np.outer(p, p))  # in units of p the Hessian is well conditioned
    half = solve_lower(L, gradient * p)
    return -p * np.linalg.solve(L.T, half), float(half @ half)


def _line_search(
    arms: Arms, p: Array, value: float, step: Array, decrement: float, cost: Array, s: float
) -> tuple[Array, float] | None:
    """The first point p + step/2^k that is inside and goes down enough, and its value; None if there is none.

    Near the centre differences of values are rounding, and any point inside will do.
    """
    size = 1.0
    while size > 1e-10:
        trial = p + size * step
        if trial.min() > 0 and trial.sum() < 1:
            trial_value = _objective(arms, trial, cost, s)
            if trial_value <= value - 0.1 * size * decrement or decrement < CENTRED:
                return trial, trial_value
        size *= 0.5
    return None


def _objective(arms: Arms, p: Array, cost: Array, s: float) -> float:
    return s * (float(cost @ p) - arms.log_det(p)) - float(np.log(p).sum()) - math.log(1 - p.sum())
