"""Readings that only repeat, readings in another unit, and a few wrong readings in a row."""

import numpy as np
import pytest

from driftwise import Float, Study, policy
from driftwise.auto.data import Frame, Memory
from driftwise.auto.readings import DISTINCT, FACTORS, FEWEST, LONGEST, informative, unit_changes
from driftwise.auto.window import Readings
from driftwise.gp.noise import all_pairs
from driftwise.records import Ask, Observation


def distinct(n, seed=0):
    """Rewards around 40 at eleven settings, which all differ: y (n,) and X (n, 1)."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.random(n), 1)[:, None]
    return 30 + 20 * (X[:, 0] - 0.3) ** 2 + 0.3 * rng.standard_normal(n), X


# --- a sensor that sticks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [1, 10, LONGEST, LONGEST + 1])
def test_repeats_at_other_settings_are_left_out_unless_they_go_on(repeats):
    y, X = distinct(60)
    y[31 : 31 + repeats] = y[30]
    left = [*range(31), *range(31 + repeats, 60)] if repeats <= LONGEST else range(60)
    assert informative(y, X).tolist() == list(left)


def test_repeats_that_mean_something_are_kept():
    y, X = distinct(60)
    again = y.copy()
    again[31:36] = y[30]
    at_one_setting = X.copy()
    at_one_setting[30:36] = X[30]
    assert len(informative(again, at_one_setting)) == 60  # a function without noise
    assert len(informative(np.round(again), X)) == 60  # counts
    early = y.copy()
    early[DISTINCT] = early[DISTINCT - 1]
    assert len(informative(early, X)) == 60  # too few before it to say that rewards differ
    twice = again.copy()
    twice[41:45] = y[40]
    assert informative(twice, X).tolist() == [*range(31), *range(36, 41), *range(45, 60)]


@pytest.mark.slow
def test_while_it_sticks_the_best_setting_is_asked_for():
    study = Study("s", space={"x": Float(0, 1)}, seed=3)
    noise, stuck = 0.05 * np.random.default_rng(0).standard_normal(60), []
    reading = 0.0
    for t in range(60):
        s = study.ask()
        reading = reading if 40 <= t < 50 else 2 - 4 * (s.params["x"] - 0.6) ** 2 + noise[t]
        study.tell(s, reading)
        stuck += [s.params["x"]] if 41 <= t < 50 else []
        assert not study.alarm
    assert abs(study.recommend().params["x"] - 0.6) < 0.1
    # once it is known that it sticks all are near the top; before, one look elsewhere may have told so
    assert np.sum(np.abs(np.array(stuck) - 0.6) > 0.15) <= 1


# --- another unit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [*FACTORS, 1e-3, 1 / 60])
def test_a_change_of_the_unit_is_found_and_taken_back(factor):
    y, X = distinct(60)
    there = unit_changes(np.append(y[:40], factor * y[40:]), X, 0.05)
    assert [place for place, _ in there] == [40]
    assert there[0][1] == pytest.approx(factor, rel=0.03)  # 1,000 and 1,024 are hard to tell apart
    assert unit_changes(y, X, 0.05) == []


def test_two_changes_of_the_unit():
    y, X = distinct(90)
    units = np.repeat([1.0, 1e3, 1.0], 30)
    assert unit_changes(units * y, X, 0.05) == [(30, pytest.approx(1e3)), (60, pytest.approx(1e-3))]


def test_it_takes_several_readings_and_what_is_no_unit_is_none():
    y, X = distinct(60)
    for new in range(1, FEWEST):
        assert unit_changes(np.append(y[: 60 - new], 1e3 * y[60 - new :]), X, 0.05) == []
    shifted = np.append(y[:40], y[40:] + 1e5)
    assert unit_changes(shifted, X, 0.05) == []  # a level that is another is no factor
    assert unit_changes(np.append(y[:40], 300 * y[40:]), X, 0.05) == []  # nor is 300 a common one
    assert unit_changes(np.append(y[:40], -1e3 * y[40:]), X, 0.05) == []
    around = y - y.mean()
    assert unit_changes(np.append(around[:40], 3 * around[40:]), X, 0.05) == []
    far = X + np.arange(60)[:, None]
    assert unit_changes(np.append(y[:40], 1e3 * y[40:]), far, 0.05) == []  # nothing to compare with


@pytest.mark.parametrize("size", [0.0, 1e-308, 1e308])
def test_rewards_of_any_size_are_survived(size):
    y = np.append(np.full(20, size), np.linspace(1, 2, 20))
    assert unit_changes(y, np.zeros((40, 1)), 0.05) == []
    assert unit_changes(y[::-1].copy(), np.zeros((40, 1)), 0.05) == []


def remembered(y, X, std):
    memory = Memory.nothing(Frame((1.0,)), most=184)
    for i, (reward, x) in enumerate(zip(y, X, strict=True), 1):
        memory = memory.observe(Observation(i, float(i), tuple(x), float(reward), std=float(std[i - 1])))
    return memory


def test_rows_see_what_they_would_have_seen_in_the_newest_unit():
    y, X = distinct(60)
    units = np.repeat([1.0, 1e3], [40, 20])
    std = 0.3 * units
    mixed, all_new = remembered(units * y, X, std).selected, remembered(1e3 * y, X, np.full(60, 300.0)).selected
    one, other = Readings.of(mixed, None), Readings.of(all_new, None)
    np.testing.assert_allclose(one.targets, other.targets, rtol=1e-9)
    np.testing.assert_allclose(one.units.scale, other.units.scale, rtol=1e-9)
    np.testing.assert_allclose(all_pairs(mixed.own, 60), all_pairs(all_new.own, 60), rtol=1e-9)


def test_a_change_of_the_unit_changes_nothing_else():
    """Once it is found out, suggestions and the diagnosis are those of a study in the new unit from the start."""
    made = policy("auto", {"x": Float(0, 1)})
    both = [made.start(), made.start()]
    noise = 0.3 * np.random.default_rng(0).standard_normal(60)
    rng = np.random.default_rng(1)
    for t in range(1, 61):
        x = np.round(rng.random(1), 1)
        cost = 30 + 20 * (x[0] - 0.3) ** 2 + noise[t - 1]
        told = -cost * (1.0 if t <= 40 else 1000.0), -1000.0 * cost
        both = [made.update(s, Observation(t, float(t), tuple(x), y)) for s, y in zip(both, told, strict=True)]
    ask = Ask(61, 61.0, seed=0)
    np.testing.assert_allclose(made.choose(both[0], ask), made.choose(both[1], ask), atol=1e-6)
    one, other = (made.diagnose(state, ask) for state in both)
    assert one.change == other.change
    assert one.noise == pytest.approx(other.noise, rel=1e-6)


# --- a few wrong readings in a row ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_some_steps_after_three_wrong_readings_nothing_has_changed():
    study = Study("b", space={"x": Float(0, 1)}, seed=1)
    noise, asked = 0.05 * np.random.default_rng(0).standard_normal(70), []
    for t in range(70):
        s = study.ask()
        asked.append(s.params["x"])
        study.tell(s, 2 - 4 * (s.params["x"] - 0.6) ** 2 + noise[t] - (5 if 50 <= t < 53 else 0))
        assert not study.alarm or 50 <= t < 66  # a change and three wrong readings look alike at first
        if t >= 66:
            assert abs(study.recommend().params["x"] - 0.6) < 0.1
    # after two of them it may look elsewhere, whether all has changed, and stay while it seems better there
    assert np.sum(np.abs(np.array(asked[51:]) - 0.6) > 0.15) <= 13
