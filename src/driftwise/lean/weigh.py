"""How experts are weighted: by the densities that they gave to rewards, with a fixed share for change.

The variance of an expert's signal is learned in closed form: 1/s² is gamma with shape a and rate b, which are STRENGTH
plus half of the number of observations, and plus half of yᵀA⁻¹y. The mean and A⁻¹ do not depend on s, and a reward has
a Student's t density:

    p(y) = Γ(a + ½)/Γ(a) (2πbv)^−½ (1 + (y − μ)²/2bv)^−(a+½),    v = k(x, x) + λ − V(x)
"""

from __future__ import annotations

import numpy as np

from driftwise.auto.weights import RARE, SHARE
from driftwise.lean.bank import STRENGTH, LeanBank
from driftwise.lean.slide import Beliefs, Foreseen
from driftwise.lean.window import Units
from driftwise.records import Array


def shape_and_rate(b: Beliefs, units: Units) -> tuple[Array, Array]:
    """a and b of every expert's signal, for rewards in these units: (k, S, D) each."""
    location, scale = units.location[:, None, None], units.scale[:, None, None]
    Q = b.squares
    squares = (Q[..., 0, 0] - 2 * location * Q[..., 0, 1] + location**2 * Q[..., 1, 1]) / scale**2
    return STRENGTH + 0.5 * b.seen.astype(float), STRENGTH + 0.5 * np.maximum(squares, 0.0)


def log_densities(bank: LeanBank, b: Beliefs, units: Units, of: Foreseen, y: Array) -> Array:
    """The log density of the target of a reward y that was foreseen so, by each expert: (k, S, D)."""
    location, scale = units.location, units.scale
    level = location[:, None, None]
    miss = ((y - location)[:, None, None] - of.mean[..., 0] + level * of.mean[..., 1]) / scale[:, None, None]
    a, rate = shape_and_rate(b, units)
    spread = 2 * rate * np.maximum(of.variance, bank.noise)  # rounding can leave a little less than the noise
    return np.asarray(bank.gammas[b.seen] - 0.5 * np.log(np.pi * spread) - (a + 0.5) * np.log1p(miss**2 / spread))


def weigh(bank: LeanBank, weights: Array, log_density: Array) -> Array:
    """Fixed share (Herbster & Warmuth 1998), as `auto/weights.py` has it: the drifts of one shape are a family.

    w ← (1 − s − r)·v + s·V_F∘prior(e|F) + r·prior, v = w∘p/Σ(w∘p), V_F the weight of e's family.
    """
    v = weights * np.exp(log_density - log_density.max(axis=(1, 2), keepdims=True))
    v /= v.sum(axis=(1, 2), keepdims=True)
    family = v.sum(axis=2, keepdims=True) * (bank.shares / bank.shares.sum(axis=1, keepdims=True))
    return np.asarray((1 - SHARE - RARE) * v + SHARE * family + RARE * bank.shares)
