"""Projected BFGS in the unit cube, from many starts at once: one batched evaluation an iteration."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from driftwise.records import Array

ITERATIONS = 40
TOLERANCE = 1e-5  # a climb has arrived when its next step promises less than half this part of its value
TRUSTED_AFTER = 4  # iterations after which a climb is given up when what H promises would not make it win
FIRST_STEP = 0.1  # of the cube's side


class Differentiable(Protocol):
    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        ...


def ascend(
    score: Differentiable, X: Array, free: Array, *, race: bool = False, tolerance: float = TOLERANCE
) -> tuple[Array, Array]:
    """Where the climbs from the rows of X end, moving only the `free` coordinates: (m, d), (m,).

    Only the best end counts in a `race`: climbs that have arrived or cannot win leave the batch. Else every climb goes
    on to its own top, and `score` is always asked for all the rows.
    """
    f, g = score.gradient(X)
    g = g * free
    H = (FIRST_STEP / np.maximum(np.abs(g).max(axis=1), 1e-300))[:, None, None] * np.eye(X.shape[1])  # (m, d, d)
    step = np.ones(len(X))
    tops, heights, row = X.copy(), f.copy(), np.arange(len(X))
    for iteration in range(ITERATIONS):
        pushing = _into_cube(X + g) == X  # against a face
        inward = np.where(pushing, 0.0, g)
        direction = np.where(pushing, 0.0, (H @ inward[:, :, None])[:, :, 0])
        slope = np.einsum("md,md->m", direction, inward)  # a full step promises half of it
        going = slope > tolerance * np.abs(f)
        if race and iteration >= TRUSTED_AFTER:
            going &= f + 0.5 * slope >= heights.max()
        if not going.any():
            break
        if race and not going.all():
            row, X, f, g, H, step = (a[going] for a in (row, X, f, g, H, step))
            direction, slope = direction[going], slope[going]
        trial = _into_cube(X + step[:, None] * direction)
        f_trial, g_trial = score.gradient(trial)
        g_trial = g_trial * free
        H = _bfgs(H, trial - X, g - g_trial, first=iteration == 0)
        better = f_trial > f
        promised = np.maximum(slope * step, 1e-300)
        # where the trial is no better, back to the top of the parabola through it
        shorter = np.maximum(0.5 * promised / (promised + np.maximum(f - f_trial, 0.0)), 0.1)
        step = np.where(better, 1.0, step * shorter)
        f = np.where(better, f_trial, f)
        X, g = np.where(better[:, None], trial, X), np.where(better[:, None], g_trial, g)
        tops[row], heights[row] = X, f
    return tops, heights


def _into_cube(X: Array) -> Array:
    return np.minimum(np.maximum(X, 0.0), 1.0)  # np.clip takes twice as long on arrays as small as these


def _bfgs(H: Array, s: Array, z: Array, *, first: bool) -> Array:
    """H ← (I − ρszᵀ)H(I − ρzsᵀ) + ρssᵀ with ρ = 1/sᵀz (Nocedal & Wright, Eq. 6.17), where sᵀz > 0: where it is concave.

    The first H only had a direction's length right, and is replaced by sᵀz/zᵀz (their Eq. 6.20) before.
    """
    sz = np.einsum("md,md->m", s, z)
    concave = sz > 1e-300
    rho = np.divide(1.0, sz, out=np.zeros_like(sz), where=concave)
    if first:
        scale = sz / np.maximum(np.einsum("md,md->m", z, z), 1e-300)
        H = np.where(concave[:, None, None], scale[:, None, None] * np.eye(s.shape[1]), H)
    # multiplied out: H − ρswᵀ − ρwsᵀ with w = Hz − ½(1 + ρzᵀHz)s
    Hz = (H @ z[:, :, None])[:, :, 0]
    w = Hz - (0.5 + 0.5 * rho * np.einsum("md,md->m", z, Hz))[:, None] * s
    half = (rho[:, None] * s)[:, :, None] * w[:, None, :]
    return H - half - half.transpose(0, 2, 1)
