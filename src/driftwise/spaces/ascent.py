"""Projected BFGS in the unit cube, from many starts at once, with one batched evaluation per iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise.records import Array

ITERATIONS = 40
TOLERANCE = 1e-5  # a climb has arrived when its next step promises less than half this part of its value
TRUSTED_AFTER = 6  # iterations after which a climb is stopped if the gain that H predicts would not make it win
FIRST_STEP = 0.1  # of the cube's side


class Differentiable(Protocol):
    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Value and gradient at the rows of X: (m,), (m, d)."""
        ...


def ascend(
    score: Differentiable, X: Array, free: Array, *, race: bool = False, tolerance: float = TOLERANCE
) -> tuple[Array, Array]:
    """Where the climbs from the rows of X end, moving only the `free` coordinates: (m, d), (m,).

    In a `race` only the best end counts: climbs that have arrived or cannot win leave the batch. Otherwise every climb
    goes on to its own maximum, and `score` is evaluated at all rows every time.
    """
    climbs = _start(score, X, free)
    tops, heights = X.copy(), climbs.f.copy()
    for iteration in range(ITERATIONS):
        direction, slope = climbs.direction()
        going = slope > tolerance * np.abs(climbs.f)
        if race and iteration >= TRUSTED_AFTER:
            going &= climbs.f + 0.5 * slope >= heights.max()
        if not going.any():
            break
        if race and not going.all():
            climbs, direction, slope = climbs.only(going), direction[going], slope[going]
        climbs = _step(climbs, score, free, direction, slope, first=iteration == 0)
        tops[climbs.row], heights[climbs.row] = climbs.X, climbs.f
    return tops, heights


@dataclass(frozen=True, eq=False)
class _Climbs:
    """Climbs in progress: where each is, what it knows of the score there, and how long its next step is."""

    row: NDArray[np.intp]  # (m,): which start it comes from
    X: Array  # (m, d)
    f: Array  # (m,)
    g: Array  # (m, d): the gradient along the free coordinates
    H: Array  # (m, d, d): minus the inverse Hessian, as BFGS estimates it
    step: Array  # (m,): the next step, in units of Hg

    def direction(self) -> tuple[Array, Array]:
        """Hg, without what would leave the cube, and its slope gᵀHg, half of which a full step gains: (m, d), (m,)."""
        pushing = _into_cube(self.X + self.g) == self.X  # against a face
        inward = np.where(pushing, 0.0, self.g)
        direction = np.where(pushing, 0.0, (self.H @ inward[:, :, None])[:, :, 0])
        return direction, np.einsum("md,md->m", direction, inward)

    def only(self, going: NDArray[np.bool_]) -> _Climbs:
        X, f, g, H, step = (part[going] for part in (self.X, self.f, self.g, self.H, self.step))
        return _Climbs(self.row[going], X, f, g, H, step)


def _start(score: Differentiable, X: Array, free: Array) -> _Climbs:
    f, g = score.gradient(X)
    g = g * free
    H = (FIRST_STEP / np.maximum(np.abs(g).max(axis=1), 1e-300))[:, None, None] * np.eye(X.shape[1])
    return _Climbs(np.arange(len(X)), X, f, g, H, np.ones(len(X)))


def _step(
    climbs: _Climbs, score: Differentiable, free: Array, direction: Array, slope: Array, *, first: bool
) -> _Climbs:
    """Each climb after one trial: it moves there if that is better, and else its next step is shorter."""
    X, f, g, step = climbs.X, climbs.f, climbs.g, climbs.step
    trial = _into_cube(X + step[:, None] * direction)
    f_trial, g_trial = score.gradient(trial)
    g_trial = g_trial * free
    better = f_trial > f
    promised = np.maximum(slope * step, 1e-300)
    # back to the maximum of the parabola through the trial
    shorter = np.maximum(0.5 * promised / (promised + np.maximum(f - f_trial, 0.0)), 0.1)
    return _Climbs(
        row=climbs.row,
        X=np.where(better[:, None], trial, X),
        f=np.where(better, f_trial, f),
        g=np.where(better[:, None], g_trial, g),
        H=_bfgs(climbs.H, trial - X, g - g_trial, first=first),
        step=np.where(better, 1.0, step * shorter),
    )


def _into_cube(X: Array) -> Array:
    return np.minimum(np.maximum(X, 0.0), 1.0)  # np.clip takes twice as long on arrays as small as these


def _bfgs(H: Array, s: Array, z: Array, *, first: bool) -> Array:
    """H ← (I − ρszᵀ)H(I − ρzsᵀ) + ρssᵀ with ρ = 1/sᵀz (Nocedal & Wright, Eq. 6.17), where sᵀz > 0: where it is concave.

    The first H only sets the length of a step, and is replaced by sᵀz/zᵀz · I (their Eq. 6.20) before its update.
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
