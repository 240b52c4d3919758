"""The noise of single observations: known standard deviations, and means of several readings.

With λ the noise variance of the model, and rewards that are location + scale · target, observation i has the noise
variance

    λ_i = a_i/scale² + b_i λ,    (a, b) = (std², 0) if its standard deviation is known, else (0, 1/repeats)

so that A = K + diag(λ_i). A window has these pairs as rows, (n, 2), or None where all are (0, 1): then everything is
as fast, and has the same bits, as if there were one λ only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftwise.records import Array, Observation

Pair = tuple[float, float]
Own = Array | None  # (n, 2), or None: λ for all

PLAIN: Pair = (0.0, 1.0)
LEAST = 1e-10  # λ_i is at least this part of the prior variance: no arithmetic can tell a smaller one from 0
SMALLEST, LARGEST = 1e-100, 1e200  # of std²: no sum of these is 0 or infinite
HALVINGS = 60


def pair_of(seen: Observation) -> Pair:
    """(a, b) of one observation.

    >>> pair_of(Observation(1, 1.0, (0.5,), 2.0, std=0.5)), pair_of(Observation(1, 1.0, (0.5,), 2.0, repeats=4))
    ((0.25, 0.0), (0.0, 0.25))
    """
    if seen.std is not None:
        return min(max(seen.std**2 if seen.std < 1e150 else LARGEST, SMALLEST), LARGEST), 0.0
    return PLAIN if seen.repeats == 1 else (0.0, 1 / seen.repeats)


def variance_of(seen: Observation, noise: float, *, scale: float = 1.0) -> float:
    """λ_i of one observation, for what is not a posterior; there it is not bounded from below."""
    a, b = pair_of(seen)
    return a / scale**2 + b * noise


def appended(own: Own, n: int, pair: Pair) -> Own:
    """The pairs of n observations, and that of one more."""
    if own is None and pair == PLAIN:
        return None
    return np.vstack([all_pairs(own, n), pair])


def selected(own: Own, rows: slice | NDArray[np.intp]) -> Own:
    """The pairs of some observations; None if no noise of its own is left among these."""
    if own is None:
        return None
    some = own[rows]
    return None if (some == PLAIN).all() else some


def all_pairs(own: Own, n: int) -> Array:
    """The pairs of n observations, written out: (n, 2)."""
    return np.tile(PLAIN, (n, 1)) if own is None else own


def variances(own: Own, noise: float, *, scale: float, prior: float) -> float | Array:
    """λ, or λ_i of every observation, (n,); `prior` is the largest k(x, x)."""
    if own is None:
        return noise
    return np.maximum(own[:, 0] / scale**2 + own[:, 1] * noise, min(noise, LEAST * prior))


def log_total(noises: float | Array, n: int) -> float:
    """Σ ln λ_i over n observations."""
    return n * np.log(noises) if isinstance(noises, float) else float(np.log(noises).sum())


def location_scale(y: Array, own: Own = None) -> tuple[float, float]:
    """Mean and standard deviation of the rewards; the scale is 1 if all are equal.

    Rewards of known noise are weighted by w_i = 1/(τ² + std_i²) in the mean and w_i² in the variance, with the τ² ≥ 0
    for which Σ w_i² (y_i − ȳ)² = Σ w_i, that of greatest likelihood if they are independent: a reward of infinite noise
    counts as none, and rewards of equal noise count equally.
    """
    if not len(y):
        return 0.0, 1.0
    if own is not None and own[:, 0].any():
        return _weighted(y, own[:, 0])
    location, scale = float(y.mean()), float(y.std())
    # rewards that differ only by rounding count as equal
    return location, scale if scale > 1e-12 * float(np.abs(y).max()) else 1.0


def _weighted(y: Array, squares: Array) -> tuple[float, float]:
    """Location and scale of rewards with the known noise variances `squares`; they are 0 where none is known."""
    middle, spread = float(y.mean()), float(y.std())
    if not spread > 0:
        return middle, 1.0
    z, squares = (y - middle) / spread, squares / spread**2
    low, high = -92.0, 0.0  # of ln τ²
    for _ in range(HALVINGS):
        tried = 0.5 * (low + high)
        mean, variance, w = _moments(z, 1 / (math.exp(tried) + squares))
        low, high = (tried, high) if variance * float(w @ w) > w.sum() else (low, tried)
    mean, variance, w = _moments(z, 1 / (math.exp(high) + squares))
    location, scale = middle + spread * mean, spread * math.sqrt(variance)
    return location, scale if scale > 1e-12 * float(np.abs(y[w > 1e-9 * w.max()]).max()) else 1.0


def _moments(z: Array, w: Array) -> tuple[float, float, Array]:
    """The mean by the weights w, the variance by w², and w."""
    mean = float(w @ z) / float(w.sum())
    return mean, float(np.square(w) @ np.square(z - mean)) / float(w @ w), w
