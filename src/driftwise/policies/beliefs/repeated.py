"""The posterior of many observations at few points, from the count and the sum of the rewards at each."""

from __future__ import annotations

import numpy as np

from driftwise.gp.kernels import Kernel
from driftwise.gp.noise import PLAIN
from driftwise.gp.posterior import Posterior
from driftwise.records import Array


def pooled(
    kernel: Kernel,
    noise: float,
    points: Array,
    counts: Array,
    sums: Array,
    *,
    known: Array | None = None,  # (2, n)
    standardise: bool = False,
) -> Posterior:
    """The GP posterior: c rewards at one point are equivalent to their mean with noise λ/c.

    Exact in mean and variance, whatever the number of observations: A = K + diag(λ/c) over the points observed. Its
    `len`, `information_gain` and standardising are those of the means, not of the single observations. Observations of
    `known` standard deviation are given by Σ 1/std² and Σ y/std² at each point, and are rows of their own.

    >>> from driftwise.gp.kernels import RBF
    >>> belief = pooled(RBF(0.2), 0.1, np.array([[0.0], [1.0]]), np.array([10.0, 0.0]), np.array([5.0, 0.0]))
    >>> round(float(belief.predict(np.array([[0.0]]))[0][0]), 4) == round(0.5 / 1.01, 4)
    True
    """
    observed = np.flatnonzero(counts)
    surplus, y, own = noise / counts[observed] - noise, sums[observed] / counts[observed], None
    if known is not None and known[0].any():
        exact = np.flatnonzero(known[0])
        precision, total = known[0][exact], known[1][exact]
        own = np.vstack([np.tile(PLAIN, (len(observed), 1)), np.column_stack([1 / precision, np.zeros(len(exact))])])
        observed, y = np.append(observed, exact), np.append(y, total / precision)
        surplus = np.append(surplus, np.zeros(len(exact)))
    if not len(observed):
        return Posterior(kernel, noise, standardise)
    X = points[observed]
    K = kernel(X, X) + np.diag(surplus)  # the posterior itself adds λ, or 1/Σ(1/std²)
    return Posterior(kernel, noise, standardise, X=X, y=y, K=K, own=own)
