"""For how many steps a discovery pays, and the exploration bonus that just pays off."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from driftwise.auto.rows import Row
from driftwise.gp.time_kernels import TimeKernel

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


@lru_cache(maxsize=512)
def _correlated_steps(time: TimeKernel, steps: int) -> float:
    """Σρ(τ) over so many steps."""
    return float(time(np.zeros(1), np.arange(1.0, steps + 1)).sum())


def bonus(row: Row, age: int) -> float:
    """The factor of σ at which exploring just pays, if the row's first reading was `age` numbers ago.

    A discovery pays for Σρ(τ) steps: over STABLE of them, or over as many as the row's function has lasted. A world
    that changed abruptly will change again: after a restart it is as many as there were before it, if these are fewer.
    """
    ahead = max(age, min(row.since - 1, STABLE) if row.since else STABLE)
    return break_even_width(max(_correlated_steps(row.time, ahead), SHORTEST))
