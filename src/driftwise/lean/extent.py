"""How large a space of candidates is, and for how long it pays to explore it."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from driftwise.records import Array

STABLE = 400  # steps for which a world without abrupt changes so far is expected to have none
SHORTEST = 100  # steps for which a discovery pays at least

_Z = np.linspace(0.0, 5.0, 1001)
_STEPS = _Z / (np.exp(-0.5 * _Z**2) / math.sqrt(2 * math.pi) - _Z * ndtr(-_Z))


def break_even_width(steps: float) -> float:
    """z with H E[(f − z)⁺] = z, f standard normal, H the `steps` for which a discovery pays.

    If a setting of value z is known, trying another costs z on average and gains (f − z)⁺ in each step from then on.

    >>> [round(break_even_width(H), 2) for H in (20.0, 200.0, 2000.0)]
    [1.18, 1.95, 2.63]
    """
    return float(np.interp(steps, _STEPS, _Z))


def sides(points: Array) -> Array:
    """The extent along each coordinate; 1 where all are equal: (d,)."""
    extent = np.ptp(points, axis=0)
    return np.where(extent > 0, extent, 1.0)


def stretched(points: Array) -> Array:
    """What length scales are relative to: the extent along each coordinate, times √(b/2) above b = 2. (d,)"""
    return math.sqrt(max(breadth(points), 2) / 2) * sides(points)


def breadth(points: Array) -> float:
    """b, the effective dimension: each coordinate counts with its variance relative to a uniform one's, at most 1."""
    return float(np.minimum(12 * np.var(points / sides(points), axis=0), 1.0).sum())
