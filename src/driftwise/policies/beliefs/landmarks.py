"""Few points that say nearly all that a function can do: each the one at which a kernel knows least, given the others.

With points Z, a function of norm B that is 0 on Z is at most B·σ_Z(x) at x, where σ_Z is the posterior deviation
without noise. The greedy choice is a Cholesky factorisation with pivots (De Marchi, Schaback & Wendland 2005).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.gp.kernels import Kernel
from driftwise.records import Array

ROUNDING = 1e-10  # a remaining variance below this part of the largest is rounding


def landmarks(kernel: Kernel, X: Array, *, most: int, tolerance: float = 0.0) -> NDArray[np.intp]:
    """Which rows of X to take: the largest σ_Z first, until none is above `tolerance` times the prior's: (m,).

    O(m²·n) for n rows and m picks, `most` at most.

    >>> from driftwise.gp.kernels import RBF
    >>> landmarks(RBF(0.2), np.linspace(0, 1, 11)[:, None], most=3).tolist()
    [0, 10, 5]
    """
    most = min(checks.count("most", most), len(X))
    variance = np.array(kernel.diagonal(X), dtype=float)
    least = max(checks.nonnegative("tolerance", tolerance) ** 2, ROUNDING) * variance.max()
    rows, taken = np.empty((most, len(X))), np.empty(most, dtype=np.intp)  # cov = K − rowsᵀrows
    for m in range(most):
        i = int(np.argmax(variance))
        if m and variance[i] <= least:
            return taken[:m]
        row = kernel(X[i : i + 1], X)[0] - rows[:m, i] @ rows[:m]
        rows[m], taken[m] = row / np.sqrt(max(variance[i], ROUNDING)), i
        variance = np.maximum(variance - rows[m] ** 2, 0.0)
        variance[taken[: m + 1]] = 0.0  # they are known, whatever rounding says
    return taken
