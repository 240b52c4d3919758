"""Functions that turn: experts whose kernel of time has one harmonic, for periods of which not one need be over.

A cycle (`gp.time_kernels.Cyclic`) may have any form, and is looked for where the window spans it several times. Of a
harmonic less is to be known: after half a turn the function is the opposite of what it was. So long periods are tried
as well, a few of them at first, and then others near the best.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.experts import Expert
from driftwise.gp.time_kernels import Wave

PERIODS = tuple(float(30 * 1.2**i) for i in range(15))  # in typical gaps: 30 to 385
TURN = 0.4  # of a period that the window must span
LEAST = 24  # observations before one is looked for
SHARE, SHARES = 0.75, (0.5, 1.0)  # of the variance that turns: at first, and then
WANING = 0.001  # ε while it is looked for
CLOSER = (1.1, 1.05, 1.02)  # factors by which a period is made longer or shorter, one after the other
FAN, WANINGS = (0.93, 1.0, 1.07), (0.0, 0.003)  # of the experts that join: factors of the period, and ε


def turning(expert: Expert, data: Observations) -> list[Expert]:
    """Copies whose function turns, of each of the PERIODS that the window is long enough for."""
    span = float(np.ptp(data.clock)) if len(data) >= LEAST else 0.0
    return [replace(expert, time=Wave(p, SHARE, WANING)) for p in PERIODS if TURN * p <= span]


def other_shares(expert: Expert) -> list[Expert]:
    """Copies of which more of the variance turns, or less."""
    return [_with(expert, share=share) for share in SHARES]


def other_periods(expert: Expert, factor: float) -> list[Expert]:
    """Copies that turn slower and faster by this factor."""
    return [_with(expert, period=wave_of(expert).period * by) for by in (1 / factor, factor)]


def fan(expert: Expert) -> tuple[Wave, ...]:
    """The kernels of time that join if this expert predicts clearly better than others: periods near its own."""
    wave = wave_of(expert)
    return tuple(replace(wave, period=wave.period * by, epsilon=waning) for by in FAN for waning in WANINGS)


def wave_of(expert: Expert) -> Wave:
    assert isinstance(expert.time, Wave)
    return expert.time


def _with(expert: Expert, **changes: float) -> Expert:
    return replace(expert, time=replace(wave_of(expert), **changes))
