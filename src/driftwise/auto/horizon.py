"""For how many steps a discovery pays."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from driftwise.auto.rows import Row
from driftwise.gp.time_kernels import TimeKernel
from driftwise.lean.extent import SHORTEST, STABLE


@lru_cache(maxsize=512)
def _correlated_steps(time: TimeKernel, steps: int) -> float:
    """Σρ(τ) over so many steps."""
    return float(time(np.zeros(1), np.arange(1.0, steps + 1)).sum())


def horizon(row: Row, age: int) -> float:
    """The steps for which a discovery pays, if the row's first reading was `age` numbers ago.

    They are Σρ(τ) over STABLE steps, or over as many as the row's function has lasted. A world that changed abruptly
    will change again: after a restart it is as many as there were before it, if these are fewer.
    """
    ahead = max(age, min(row.since - 1, STABLE) if row.since else STABLE)
    return max(_correlated_steps(row.time, ahead), SHORTEST)
