"""How likely a reward is to experts whose signal has an unknown variance s².

1/s² is gamma with shape a and rate b, which are STRENGTH plus half of the number of observations, and plus half of
yᵀA⁻¹y. The mean and A⁻¹ do not depend on s, and a reward has a Student's t density:

    p(y) = Γ(a + ½)/Γ(a) (2πbv)^−½ (1 + (y − μ)²/2bv)^−(a+½),    v = k(x, x) + λ − V(x)
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln

from driftwise.gp.window.experts import Beliefs, Experts, Foreseen
from driftwise.records import Array

STRENGTH = 5.0  # of the prior of the signal's variance, worth twice as many observations


def shape_and_rate(b: Beliefs, location: Array, scale: Array) -> tuple[Array, Array]:
    """a and b of every expert's signal, of rewards in the units of each key, (k,): (k, S, D) each."""
    location, scale, Q = location[:, None, None], scale[:, None, None], b.squares
    squares = (Q[..., 0, 0] - 2 * location * Q[..., 0, 1] + location**2 * Q[..., 1, 1]) / scale**2
    return STRENGTH + 0.5 * b.seen.astype(float), STRENGTH + 0.5 * np.maximum(squares, 0.0)


def log_density(experts: Experts, b: Beliefs, location: Array, scale: Array, of: Foreseen, y: Array) -> Array:
    """The log density of a reward y that was foreseen so, as a target, by each expert: (k, S, D)."""
    level, size = location[:, None, None], scale[:, None, None]
    miss = ((y - location)[:, None, None] - of.mean[..., 0] + level * of.mean[..., 1]) / size
    a, rate = shape_and_rate(b, location, scale)
    spread = 2 * rate * np.maximum(of.variance, experts.noise)  # rounding can leave a little less than the noise
    by_seen = gammas(experts.window)[b.seen]
    return np.asarray(by_seen - 0.5 * np.log(np.pi * spread) - (a + 0.5) * np.log1p(miss**2 / spread))


@cache
def gammas(window: int) -> Array:
    """log Γ(a + ½)/Γ(a) for a = STRENGTH + i/2, i observations seen: (w + 1,)."""
    a = STRENGTH + 0.5 * np.arange(window + 1)
    return np.asarray(gammaln(a + 0.5) - gammaln(a))
