"""The beliefs of a shard's keys: the interface that all ways to compute them share.

An engine is a cache: it may forget any belief at any time, and makes it again from the streams, to the same bits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise.fleet.streams import Places, Rows
from driftwise.records import Array
from driftwise.spaces.mesh import best_places

Numbers = NDArray[np.int32]


class FleetEngine(Protocol):
    """Chooses for many keys at once and learns from their rewards. Rows of one call are all different."""

    name: str

    def choose(self, rows: Rows, numbers: Numbers) -> Places:
        """The candidates for the suggestions with these numbers, as indices; what a row awaits counts."""
        ...

    def observe(self, rows: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        """Learn rewards that are newer than all before, just before the streams get them.

        Returned are the surprises z = (y − μ)/√(σ² + λ): how far a reward is from what was expected. They
        are 0 where nothing was expected yet.
        """
        ...

    def forget(self, row: int) -> None:
        """The streams of this row have changed otherwise."""
        ...

    def advise(self, rows: Rows, numbers: Numbers, caution: float) -> tuple[Places, Array, Array]:
        """Where μ − `caution` σ is largest for the steps with these numbers; μ and σ there in the units of rewards."""
        ...


def most_cautious(mean: Array, std: Array, caution: float, block: int = 1) -> tuple[Places, Array, Array]:
    """Where μ − `caution` σ, (r, n), is largest in each row, in the best block where there are some, and both there."""
    best = best_places(mean - caution * std, block)
    at = np.arange(len(mean)), best
    return best.astype(np.int32), mean[at], std[at]
