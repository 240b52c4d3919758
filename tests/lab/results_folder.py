"""A results folder made by the real writer, with regrets that a test can know."""

import numpy as np

from driftwise.lab.results import Folder
from driftwise.lab.trials import Result, Timing, checkpoints


def write(
    path, *, suites=("deng",), cases=("abrupt", "slow"), policies=("gp-ucb", "sw-gp-ucb:window=30"), seeds=12, T=500
):
    """R(t) = (1 + place of the policy + noise of the seed) (1 + place of the case) t^0.75; the first policy wins."""
    t = np.array(checkpoints(T), dtype=float)
    with Folder(path) as folder:
        for suite in suites:
            for c, case in enumerate(cases):
                for p, policy in enumerate(policies):
                    for seed in range(seeds):
                        rng = np.random.default_rng([c, p, seed])
                        curve = (1 + p + 0.1 * rng.standard_normal()) * (1 + c) * t**0.75
                        folder.append(*_trial(suite, case, policy, seed, T, curve, variation=2.0**c, p=p))
    return path


def _trial(suite, case, policy, seed, T, curve, *, variation, p):
    key = f"{suite}/{case} T={T} {policy} seed={seed:04d}"
    values = tuple(float(f"{v:.6e}") for v in curve)
    result = Result(
        *(key, suite, case, policy, seed, T, values[-1], values[-1], (0.1, 0.3, 0.5), variation),
        *((T // 5,), (3,), None, values),
    )
    return result, Timing(key, 1e-4 * (1 + p), 1e-4, 1.0, 0.5, 0.3, 0.1)
