"""Experts whose function turns: which periods are tried on a window, and what joins."""

import numpy as np
import pytest

from driftwise.auto.data import Frame, Observations
from driftwise.auto.experts import Expert
from driftwise.auto.waves import LEAST, PERIODS, TURN, fan, other_periods, other_shares, turning, wave_of
from driftwise.gp.time_kernels import Forgetting, Wave

STILL = Expert(2, Forgetting(0.0), 0.03, stretch=(0.5,))


def window(n, gap):
    return Observations(np.arange(1, n + 1), gap * np.arange(n), np.zeros((n, 1)), np.zeros(n), Frame((1.0,)))


@pytest.mark.parametrize("gap", [1.0, 3600.0])
def test_periods_are_tried_of_which_the_window_spans_a_part(gap):
    tried = turning(STILL, window(81, gap))
    assert [wave_of(e).period for e in tried] == [p for p in PERIODS if p <= 80 / TURN]
    assert {(e.kernel, e.noise, e.stretch) for e in tried} == {(2, 0.03, (0.5,))}


def test_a_few_observations_say_nothing_about_a_wave():
    assert not turning(STILL, window(LEAST - 1, 1.0))
    assert turning(STILL, window(LEAST, 1.0))


def test_what_is_near_a_wave():
    expert = Expert(2, Wave(100.0, 0.75, 0.001), 0.03)
    assert [wave_of(e) for e in other_shares(expert)] == [Wave(100.0, 0.5, 0.001), Wave(100.0, 1.0, 0.001)]
    assert [wave_of(e).period for e in other_periods(expert, 1.25)] == pytest.approx([80.0, 125.0])
    assert {time.share for time in fan(expert)} == {0.75}
    assert sorted({time.period for time in fan(expert)}) == pytest.approx([93.0, 100.0, 107.0])
    assert {time.epsilon for time in fan(expert)} == {0.0, 0.003}
