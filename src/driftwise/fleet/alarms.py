"""Whether a key's world moved: how its rewards compare with what was expected of them.

If the belief is right the surprises z of a key are standard normal. Two figures follow them. `spread` is a running mean
of z², 1 where all is as expected. `evidence` is a CUSUM for a world in which they are `LOUD` times as large:

    evidence ← max(0, evidence + ln(p₁(z)/p₀(z))),    ln(p₁(z)/p₀(z)) = z²(1 − 1/LOUD²)/2 − ln LOUD

An alarm is raised, and the evidence begins anew, when it passes ln(1/RATE): by Lorden's bound the mean time between two
false alarms of a key is at least 1/RATE observations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftwise.fleet.columns import KeyColumns
from driftwise.fleet.streams import Rows
from driftwise.records import Array

LOUD = 3.0
RATE = 1e-5
MOST = 4.0  # |z| beyond this counts as this, so that a single wrong reading is no alarm
KEPT = 0.95  # of the running mean, after each observation


class Alarms(KeyColumns):
    """The figures of every row."""

    def __init__(self) -> None:
        self.spread, self.evidence = np.ones(0), np.zeros(0)
        self.alarms, self.last_alarm = np.zeros(0, np.int32), np.zeros(0, np.int32)

    def add(self, count: int) -> None:
        """`count` new keys, of which nothing surprising is known."""
        self.add_rows(count)
        self.spread[self.size - count : self.size] = 1.0

    def update(self, rows: Rows, numbers: NDArray[np.int32], surprises: Array) -> None:
        """The newest surprises of different rows."""
        squares = np.minimum(np.abs(surprises), MOST) ** 2
        self.spread[rows] = KEPT * self.spread[rows] + (1 - KEPT) * squares
        ratio = squares * (1 - LOUD**-2) / 2 - math.log(LOUD)
        evidence = np.maximum(0.0, self.evidence[rows] + ratio)
        rings = evidence > math.log(1 / RATE)
        self.alarms[rows] += rings
        self.last_alarm[rows] = np.where(rings, numbers, self.last_alarm[rows])
        self.evidence[rows] = np.where(rings, 0.0, evidence)
