"""How experts are weighted: by the densities that they gave to rewards, with a fixed share for change."""

from __future__ import annotations

import numpy as np

from driftwise.lean.bank import LeanBank
from driftwise.records import Array

SHARE = 0.01  # s: share of the weight redistributed within its family at each observation
RARE = 0.0005  # r: share redistributed over all families


def weigh(bank: LeanBank, weights: Array, log_density: Array) -> Array:
    """Fixed share (Herbster & Warmuth 1998): the drifts of one shape are a family.

    w ← (1 − s − r)·v + s·V_F∘prior(e|F) + r·prior, v = w∘p/Σ(w∘p), V_F the weight of e's family.
    """
    v = weights * np.exp(log_density - log_density.max(axis=(1, 2), keepdims=True))
    v /= v.sum(axis=(1, 2), keepdims=True)
    family = v.sum(axis=2, keepdims=True) * (bank.shares / bank.shares.sum(axis=1, keepdims=True))
    return np.asarray((1 - SHARE - RARE) * v + SHARE * family + RARE * bank.shares)
