"""A small bank of `auto-lean`, and runs of it, to test with."""

from __future__ import annotations

import numpy as np

from driftwise.gp.kernels import RBF, Matern
from driftwise.gp.time_kernels import Forgetting, MaternInTime, SpaceTime
from driftwise.lean.bank import LeanBank
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState, observe

POINTS = np.random.default_rng(0).random((12, 2))
KERNELS, NOISES = (RBF(0.3), Matern(2.5, 0.5)), (0.01, 0.1)
EPSILONS, SCALES, LEVELS = (0.0, 0.1), (4.0, 20.0), ((7.0, 1.5),)


def bank(**changed):
    given = {
        "points": POINTS,
        "kernels": KERNELS,
        "noises": NOISES,
        "forgetting": EPSILONS,
        "restarts": 2,
        "trends": SCALES,
        "levels": LEVELS,
        "window": 6,
        "span": 1000,
        "prior": Prior(),
    }
    return LeanBank(**given | changed)


def times():
    """Kernels of time of the drifts."""
    steady = (*EPSILONS, *(0.0,) * len(LEVELS), 0.0, 0.0)
    return [*map(Forgetting, steady), *(MaternInTime(1.5, scale) for scale in SCALES)]


def covariance(made, s, d, X, Z):
    """Of the functions at (candidate, time) in the rows of X and Z, and of the levels: two (n, m)."""
    of_function = SpaceTime(made.kernels[s], times()[d])(X, Z)
    first = len(EPSILONS)
    if not first <= d < first + len(LEVELS):
        return of_function, np.zeros(of_function.shape)
    scale, variance = LEVELS[d - first]
    return of_function, variance * MaternInTime(1.5, scale)(X[:, -1], Z[:, -1])


def run(made, steps, keys=2, seed=1):
    rng, state, number = np.random.default_rng(seed), LeanState.start(made, keys), np.zeros(keys, dtype=np.int64)
    for _ in range(steps):
        number = number + rng.integers(1, 4, size=keys)  # some numbers are missing
        state = observe(made, state, rng.integers(len(POINTS), size=keys), rng.normal(5.0, 2.0, keys), number)
        yield state, number
