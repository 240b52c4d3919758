"""The posterior of many observations at few points, from the count and the sum of the rewards at each."""

from __future__ import annotations

import numpy as np

from driftwise.gp.kernels import Kernel
from driftwise.gp.posterior import Posterior
from driftwise.records import Array


def pooled(
    kernel: Kernel, noise: float, points: Array, counts: Array, sums: Array, *, standardise: bool = False
) -> Posterior:
    """The GP posterior: c rewards at one point are equivalent to their mean with noise λ/c.

    Exact in mean and variance, whatever the number of observations: A = K + diag(λ/c) over the points observed. Its
    `len`, `information_gain` and standardising are those of the means, not of the single observations.

    >>> from driftwise.gp.kernels import RBF
    >>> belief = pooled(RBF(0.2), 0.1, np.array([[0.0], [1.0]]), np.array([10.0, 0.0]), np.array([5.0, 0.0]))
    >>> round(float(belief.predict(np.array([[0.0]]))[0][0]), 4) == round(0.5 / 1.01, 4)
    True
    """
    observed = np.flatnonzero(counts)
    if not len(observed):
        return Posterior(kernel, noise, standardise)
    X = points[observed]
    K = kernel(X, X) + np.diag(noise / counts[observed] - noise)  # the posterior itself adds λ
    return Posterior(kernel, noise, standardise, X=X, y=sums[observed] / counts[observed], K=K)
