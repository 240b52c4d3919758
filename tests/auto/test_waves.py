"""Waves of the function and of the level: which are tried on a window, what is near them, and what joins."""

import numpy as np
import pytest

from driftwise.auto.data import Frame, Observations
from driftwise.auto.experts import Expert, MovingLevel
from driftwise.auto.waves import (
    LEAST,
    PERIODS,
    TURN,
    fan,
    other_periods,
    other_sizes,
    periods,
    swinging,
    turning,
    wave_of,
)
from driftwise.gp.time_kernels import Forgetting, Wave

STILL = Expert(2, Forgetting(0.0), 0.03, stretch=(0.5,))


def window(n, gap):
    return Observations(np.arange(1, n + 1), gap * np.arange(n), np.zeros((n, 1)), np.zeros(n), Frame((1.0,)))


@pytest.mark.parametrize("gap", [1.0, 3600.0])
def test_periods_are_tried_of_which_the_window_spans_a_part(gap):
    assert periods(window(81, gap)) == [p for p in PERIODS if p <= 80 / TURN]


def test_a_few_observations_say_nothing_about_a_wave():
    assert not periods(window(LEAST - 1, 1.0))
    assert periods(window(LEAST, 1.0))


def test_a_wave_is_of_the_function_or_of_the_level():
    for tried in (turning(STILL, (40.0, 60.0)), swinging(STILL, (40.0, 60.0))):
        assert [wave_of(e).period for e in tried] == [40.0, 60.0]
        assert {(e.kernel, e.noise, e.stretch) for e in tried} == {(2, 0.03, (0.5,))}
    assert not any(isinstance(e.time, Wave) for e in swinging(STILL, (40.0,)))


def test_what_is_near_a_wave_of_the_function():
    expert = Expert(2, Wave(100.0, 0.75, 0.001), 0.03)
    assert [e.time for e in other_sizes(expert)] == [Wave(100.0, 0.5, 0.001), Wave(100.0, 1.0, 0.001)]
    assert [e.time for e in other_periods(expert, 1.25)] == [Wave(80.0, 0.75, 0.001), Wave(125.0, 0.75, 0.001)]


def test_what_is_near_a_wave_of_the_level():
    [expert] = swinging(STILL, (100.0,))
    assert expert.level == MovingLevel(1.0, Wave(100.0, 1.0, 0.001))
    sizes = [(e.time, e.level.variance) for e in other_sizes(expert)]
    assert sizes == [(expert.time, 0.3), (expert.time, 3.0), (Forgetting(0.0), 1.0), (Forgetting(0.01), 1.0)]
    assert [e.level.time.period for e in other_periods(expert, 1.25)] == [80.0, 125.0]
    assert {e.time for e in other_periods(expert, 1.25)} == {expert.time}


def test_periods_near_it_join_with_a_wave():
    joining = fan(Wave(100.0, 0.75, 0.001))
    assert {time.share for time in joining} == {0.75}
    assert sorted({time.period for time in joining}) == pytest.approx([93.0, 100.0, 107.0])
    assert {time.epsilon for time in joining} == {0.0, 0.003}
