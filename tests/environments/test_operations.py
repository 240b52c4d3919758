"""Worlds as live systems have them: the optimum against dense samples, what they say of themselves, and their noise."""

import itertools
import pickle

import numpy as np
import pytest

from driftwise.environments import Gaussian
from driftwise.environments.operations import DISCRETE, MODES, PLANE, SERVICE, Latency
from driftwise.environments.searched import highest
from driftwise.environments.wrong_readings import Glitches, OneWrong
from driftwise.errors import InvalidInput
from driftwise.lab.ops import FIRST, boba, ops
from driftwise.lab.trials import changes_of
from driftwise.rng import generator

SURFACES = ("cliff", "timeouts", "latency", "throughput", "tenfold", "peak", "discrete", "one-wrong-none")


def world(name, seed=3):
    return ops.case(name).environment(seed)


@pytest.mark.parametrize("name", [case.name for case in ops.cases])
def test_nothing_is_better_than_the_best_and_a_setting_reaches_it(name):
    w, rng = world(name), np.random.default_rng(0)
    X = w.space.points if w.space.points is not None else w.space.sample(rng, 20_000)
    for t in (1, 77, 100, 160):
        assert w.best(t) >= w.value(t, X).max() - 1e-9
        assert w.value(t, w.best_x(t)[None])[0] == pytest.approx(w.best(t), abs=1e-9)


@pytest.mark.parametrize("name", SURFACES)
def test_around_the_best_setting_there_is_none_better(name):
    """At every distance from 1e-5 on: what a scan leaves is refined."""
    w, rng = world(name), np.random.default_rng(1)
    x = w.best_x(100)
    for size in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        steps = size * rng.standard_normal((2000, len(x))) * w.space.continuous
        near = w.space.snap(np.clip(x + steps, 0, 1))
        assert w.value(100, near).max() <= w.best(100) + 1e-6 * (1 + abs(w.best(100)))


@pytest.mark.parametrize("seed", range(2))
def test_of_whole_numbers_and_choices_the_best_is_exact(seed):
    for name, box in (("discrete", DISCRETE), ("one-wrong-none", SERVICE)):
        w = world(name, seed)
        each = [p.settings if hasattr(p, "settings") else None for _, p in box.parameters]
        X = np.array([np.concatenate(rows) for rows in itertools.product(*each)])
        assert len(X) in (64 * 12 * 12, 64 * 20 * 3)
        assert w.best(1) == w.value(1, X).max()


@pytest.mark.parametrize("name", [case.name for case in ops.cases])
def test_a_seed_is_a_world_with_its_noise_in_another_process_too(name):
    a, b, other = world(name), pickle.loads(pickle.dumps(world(name))), world(name, seed=4)
    X = a.space.sample(generator(1), 5) if a.space.points is None else a.space.points[:5]
    assert (a.value(60, X) == b.value(60, X)).all()
    assert [a.observe(t, X[0]) for t in (60, 61)] == [b.observe(t, X[0]) for t in (60, 61)]
    read, others = ([w.observe(60, x) for x in X] for w in (a, other))
    assert read != others
    assert [a.seeded(4).observe(60, x) for x in X] == others


def test_the_cliff_is_as_high_as_it_says_whatever_the_seed():
    X = MODES.sample(np.random.default_rng(0), 4000)
    for seed in range(12):
        cost = -world("cliff", seed).value(1, X)
        off = cost > 100
        assert 0.01 < off.mean() < 0.6
        assert cost[~off].min() > 9.5
        assert cost[~off].max() < 17
        assert cost[off].min() > 190


def test_timeouts_are_one_constant_without_noise():
    X = PLANE.sample(np.random.default_rng(0), 2000)
    for seed in range(8):
        w = world("timeouts", seed)
        out = w.value(1, X) == -30
        assert 0.05 < out.mean() < 0.9
        assert {w.observe(t, X[out][0]) for t in range(1, 20)} == {-30.0}
        assert len({w.observe(t, X[~out][0]) for t in range(1, 20)}) == 19


def test_latencies_span_two_decades_follow_the_load_and_are_read_without_bias():
    w, X = world("latency", 1), PLANE.sample(np.random.default_rng(0), 4000)
    values = np.array([-w.value(t, X) for t in range(1, 161)])
    assert values.max() / values.min() > 100
    assert w.value(7, X) == pytest.approx(w.value(47, X))  # four cycles in 160 steps
    assert (w.best_x(1) != w.best_x(21)).any()
    ratios = np.array([w.seeded(seed).noise.draw(seed, 5) for seed in range(4000)])
    read = np.exp(ratios - Latency.STD**2 / 2)
    assert read.mean() == pytest.approx(1, abs=0.015)
    y = w.observe(5, X[0])
    assert np.log(y / w.value(5, X[:1])[0]) == pytest.approx(w.noise.draw(1, 5) - Latency.STD**2 / 2)


def test_the_noise_of_throughput_depends_on_the_place():
    w = world("throughput")
    X = PLANE.sample(np.random.default_rng(0), 300)
    draw = w.noise.draw(w.seed, 9)
    ratios = np.array([(w.observe(9, x) / v - 1) / draw for x, v in zip(X, w.value(9, X), strict=True)])
    assert ratios.min() == pytest.approx(0.02, abs=0.03)
    assert ratios.max() == pytest.approx(0.3, abs=0.03)


def test_tenfold_is_ten_times_as_dear_elsewhere_from_the_middle_on():
    for seed in range(8):
        w = world("tenfold", seed)
        assert changes_of(w, 160) == (80,)
        assert w.best(80) == pytest.approx(-1, abs=0.05)
        assert w.best(81) == pytest.approx(-10, abs=0.5)
        assert np.linalg.norm(w.best_x(80) - w.best_x(81)) > 0.2


def test_wrong_readings_are_as_many_and_as_large_as_said_and_the_others_are_those_of_still():
    noise, right = Glitches(0.1, 0.03, 1.0, 3.0), Gaussian(0.1)
    draws, honest = (np.array([each.draw(7, t) for t in range(1, 20_001)]) for each in (noise, right))
    off = np.abs(draws - honest)
    assert ((off == 0) | ((off > 1 - 1e-9) & (off < 3 + 1e-9))).all()
    assert (off > 0).mean() == pytest.approx(0.03, abs=0.004)
    assert (draws - honest).mean() == pytest.approx(0, abs=0.01)
    assert draws.var() == pytest.approx(noise.variance, rel=0.1)
    one = OneWrong(0.1, 65, -70.0)
    assert [t for t in range(1, 161) if one.draw(7, t) != right.draw(7, t)] == [65]
    with pytest.raises(InvalidInput):
        Glitches(0.1, 1.5, 1.0, 3.0)


def test_a_level_is_the_same_for_all_arms_and_its_changes_are_known():
    w = world("arms-jumps")
    X = w.space.points
    moved = w.value(65, X) - w.value(64, X)
    assert np.ptp(moved) == pytest.approx(0, abs=1e-12)
    assert abs(moved[0]) > 0.01
    assert w.drift.level.times == (64, 128)


def test_boba_has_eight_functions_in_time_after_three_steps_of_queries():
    assert [(case.horizon, case.environment(0).space.dim + 1) for case in boba.cases] == [
        (120 + FIRST, d) for d in (4, 4, 2, 4, 4, 6, 3, 6)
    ]
    assert {round(case.environment(0).noise.variance, 9) for case in boba.cases} == {0.025}


def test_the_search_finds_a_narrow_maximum_between_the_points_of_its_scan():
    top = np.array([0.123456, 0.654321])
    x, value = highest(lambda X: -np.abs(X - top).sum(axis=1), PLANE)
    assert x == pytest.approx(top, abs=1e-6)
    assert value == pytest.approx(0, abs=2e-6)
