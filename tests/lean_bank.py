"""A small bank of `auto-lean`, and runs of it, to test with."""

from __future__ import annotations

import numpy as np

from driftwise.gp.kernels import RBF, Matern
from driftwise.gp.time_kernels import Forgetting, MaternInTime
from driftwise.lean.bank import LeanBank
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState, observe

POINTS = np.random.default_rng(0).random((12, 2))
KERNELS, NOISES = (RBF(0.3), Matern(2.5, 0.5)), (0.01, 0.1)
EPSILONS, SCALES = (0.0, 0.1), (4.0, 20.0)


def bank(**changed):
    given = {
        "points": POINTS,
        "kernels": KERNELS,
        "noises": NOISES,
        "forgetting": EPSILONS,
        "restarts": 2,
        "trends": SCALES,
        "window": 6,
        "span": 1000,
        "prior": Prior(),
    }
    return LeanBank(**given | changed)


def times():
    still = Forgetting(0.0)
    return [*map(Forgetting, EPSILONS), still, still, *(MaternInTime(1.5, scale) for scale in SCALES)]


def run(made, steps, keys=2, seed=1):
    rng, state, number = np.random.default_rng(seed), LeanState.start(made, keys), np.zeros(keys, dtype=np.int64)
    for _ in range(steps):
        number = number + rng.integers(1, 4, size=keys)  # some numbers are missing
        state = observe(made, state, rng.integers(len(POINTS), size=keys), rng.normal(5.0, 2.0, keys), number)
        yield state, number
