"""Waves: experts whose function or level has one harmonic, of periods of which not one need be over.

A cycle (`gp.time_kernels.Cyclic`) may have any form, and is looked for where the window spans it several times. Of a
harmonic less is to be known: after half a turn a function is the opposite of what it was. So long periods are tried as
well, a few of them at first, and then others near the best. While only one setting is looked at, nothing tells a wave
of the level from one of the function, and the latter must be clearly ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.experts import Expert, MovingLevel
from driftwise.gp.time_kernels import Forgetting, Wave

PERIODS = tuple(float(30 * 1.2**i) for i in range(15))  # in typical gaps: 30 to 385
TURN = 0.4  # of a period that the window must span
LEAST = 24  # observations before one is looked for
SHARE, SHARES = 0.75, (0.5, 1.0)  # of the variance that turns: at first, and then
VARIANCE, VARIANCES = 1.0, (0.3, 3.0)  # of a level, relative to the signal's: at first, and then
WANING = 0.001  # ε while it is looked for
REST, RESTS = Forgetting(0.003), (Forgetting(0.0), Forgetting(0.01))  # of the function below such a level: the same
CLOSER = (1.1, 1.05, 1.02)  # factors by which a period is made longer or shorter, one after the other
FAN, WANINGS = (0.93, 1.0, 1.07), (0.0, 0.003)  # of the experts that join: factors of the period, and ε


def periods(data: Observations) -> list[float]:
    """Those of the PERIODS that the window is long enough for."""
    span = float(np.ptp(data.clock)) if len(data) >= LEAST else 0.0
    return [period for period in PERIODS if TURN * period <= span]


def turning(expert: Expert, periods: Sequence[float]) -> list[Expert]:
    """Copies whose function turns."""
    return [replace(expert, time=Wave(p, SHARE, WANING)) for p in periods]


def swinging(expert: Expert, periods: Sequence[float]) -> list[Expert]:
    """Copies whose level goes up and down, while the rest hardly moves."""
    waves = (Wave(p, 1.0, WANING) for p in periods)
    return [replace(expert, time=REST, level=MovingLevel(VARIANCE, wave)) for wave in waves]


def other_sizes(expert: Expert) -> list[Expert]:
    """Copies of which more of the variance turns, or less; or whose level has another variance, or another rest."""
    if expert.level:
        levels = [replace(expert, level=replace(expert.level, variance=v)) for v in VARIANCES]
        return levels + [replace(expert, time=rest) for rest in RESTS]
    return [replace(expert, time=replace(wave_of(expert), share=share)) for share in SHARES]


def other_periods(expert: Expert, factor: float) -> list[Expert]:
    """Copies that turn slower and faster by this factor."""
    wave = wave_of(expert)
    near = [replace(wave, period=wave.period * by) for by in (1 / factor, factor)]
    if expert.level:
        return [replace(expert, level=replace(expert.level, time=each)) for each in near]
    return [replace(expert, time=each) for each in near]


def fan(wave: Wave) -> tuple[Wave, ...]:
    """The kernels of time that join if this one predicts clearly better than others: periods near its own."""
    return tuple(replace(wave, period=wave.period * by, epsilon=waning) for by in FAN for waning in WANINGS)


def wave_of(expert: Expert) -> Wave:
    """The wave of its level, if it has one, or of its function."""
    time = expert.level.time if expert.level else expert.time
    assert isinstance(time, Wave)
    return time
