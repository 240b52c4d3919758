"""How fast the rewards of a history moved, and how noisy they were.

A stretch of τ rows z, whose candidates have the covariance C, is N(0, s²(K_T ⊗ C + λI)). With the eigenvalues μ of K_T
and c of C, and y the stretch in their eigenvectors, d_ij = μ_i c_j + λ and 1/s² gamma with shape and rate STRENGTH,

    log p = −½ Σ ln d_ij − (STRENGTH + nτ/2) ln(STRENGTH + ½ Σ y_ij²/d_ij) + const
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

ROWS, STRETCHES = 100, 4  # of a stretch, and of how many the log likelihood is averaged
STRENGTH = 5.0

Likelihoods = dict[tuple[TimeKernel, float], float]


def likelihoods(Z: Array, C: Array, times: Sequence[TimeKernel], noises: Sequence[float]) -> Likelihoods:
    """log p of rows Z, (T, n), which are one step apart, for each kernel of time and each noise λ."""
    c, vectors = np.linalg.eigh(C)
    Y, length = Z @ vectors, min(len(Z), ROWS)
    starts = np.unique(np.linspace(0, len(Z) - length, STRETCHES).astype(int))
    steps = np.arange(length, dtype=float)
    found: Likelihoods = {}
    for time in times:
        mu, in_time = np.linalg.eigh(time(steps, steps))
        squares = [np.square(in_time.T @ Y[s : s + length]) for s in starts]
        for noise in noises:
            d = np.outer(np.maximum(mu, 0.0), np.maximum(c, 0.0)) + noise
            q = np.array([float((square / d).sum()) for square in squares])
            logs = -0.5 * np.log(d).sum() - (STRENGTH + d.size / 2) * np.log(STRENGTH + q / 2)
            found[time, noise] = float(logs.mean())
    return found


def likeliest(found: Likelihoods, *, times: int, noises: int) -> tuple[tuple[TimeKernel, ...], tuple[float, ...]]:
    """The kernels of time, and the noises, with the largest likelihood each with its best other part."""
    ranked = sorted(found, key=lambda pair: -found[pair])
    return tuple(dict.fromkeys(t for t, _ in ranked))[:times], tuple(dict.fromkeys(n for _, n in ranked))[:noises]
