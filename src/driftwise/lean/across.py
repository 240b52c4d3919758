"""What many keys have in common, as the prior of the next one (empirical Bayes).

- The weights of experts are the average of the keys' weights, with one key more that has the prior's own.
- Location and scale are those of the keys, and count for as many places as the keys agree: if locations vary by τ² and
  a key's rewards by s², one key's location says as much of another's as s²/τ² places do. In the same way squares of
  scales that vary by v, as logarithms, are known as of 2/v places.
- The means at candidates are averages of what the keys expect there, each by how much it knows, as far as one half of
  the keys agrees with the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from driftwise.lean.bank import LeanBank
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState, moments, rows_of
from driftwise.lean.window import Units
from driftwise.records import Array

FEW = 10  # observations that a key must have to be counted
KEYS = 4  # keys below which nothing is known
MOST = 16.0  # places that the units of other keys count for, at most
AGREED = 0.3  # correlation between halves of the keys below which they have no means in common


def pooled(bank: LeanBank, states: LeanState) -> Prior:
    """The prior of the next key, from the states of k keys whose prior was that of `bank`."""
    counted = np.flatnonzero((states.recent.number > 0).sum(axis=1) >= FEW)
    if len(counted) < KEYS:
        return bank.prior
    some = rows_of(states, counted)
    weights = (some.weights.sum(axis=0) + bank.shares) / (len(counted) + 1)
    location, spread = some.origin + some.units.location, _spread(bank, some.units)
    prior, strength = Prior(weights=tuple(weights.ravel().tolist())), _strength(location, spread)
    if strength < 1:
        return prior
    known, share = _known(bank, some)
    means = _agreed(known, share)
    scale = np.exp(np.log(spread).mean()) * np.sqrt(_unexplained(known, share, means))
    return replace(
        prior,
        location=float(np.mean(location)),
        scale=float(scale),
        strength=strength,
        means=tuple(means.tolist()) if means.any() else (),
    )


def _spread(bank: LeanBank, units: Units) -> Array:
    """The standard deviation of rewards over places, of which a key's scale is an upper bound: (k,)."""
    bound = np.interp(units.places, np.arange(len(bank.quantiles)), bank.quantiles)
    return np.asarray(units.scale * np.sqrt(bound / np.maximum(units.places - 1, 1.0)))


def _strength(location: Array, spread: Array) -> float:
    """Of how many places the location and the scale of one key are known by those of the others."""
    by_location = np.exp(2 * np.log(spread).mean()) / max(float(np.var(location, ddof=1)), 1e-300)
    by_spread = 2 / max(float(np.var(2 * np.log(spread), ddof=1)), 1e-300)
    return float(min(by_location, by_spread, MOST))


def _known(bank: LeanBank, states: LeanState) -> tuple[Array, Array]:
    """What each key expects at each candidate above its location, and how much of its variance it knows: (k, n) both.

    Where a key knows nothing it expects nothing: what it expects has been shrunk by what it knows.
    """
    said = moments(bank, states, states.last)
    mean = np.einsum("ksd,ksdn->kn", states.weights, said.mean) * states.units.scale[:, None] - bank.expected
    shares = states.beliefs.explained / bank.experts.variance[:, None]
    share = np.clip(np.einsum("ksd,ksdn->kn", states.weights, shares), 0.0, 1.0)
    return mean + share * bank.expected, share


def _average(known: Array, share: Array) -> Array:
    """Over keys, with one more that knows nothing: (n,); the level is not counted."""
    mean = known.sum(axis=0) / (share.sum(axis=0) + 1)
    return np.asarray(mean - mean.mean())


def _agreed(known: Array, share: Array) -> Array:
    """The average over keys, times how reliable it is by the correlation of two halves (Spearman & Brown): (n,)."""
    halves = [_average(known[i::2], share[i::2]) for i in range(2)]
    norm = float(np.sqrt(np.prod([half @ half for half in halves])))
    correlation = float(halves[0] @ halves[1]) / norm if norm > 0 else 0.0
    if correlation < AGREED:
        return np.zeros(known.shape[1])
    return 2 * correlation / (1 + correlation) * _average(known, share)


def _unexplained(known: Array, share: Array, means: Array) -> float:
    """Which part of the keys' variance the means leave, of what the keys know: at least a twentieth."""
    before, after = float(np.square(known).sum()), float(np.square(known - share * means).sum())
    return min(max(after / before, 0.05), 1.0) if before > 0 else 1.0
