"""ET-GP-UCB: its test by hand, gp-ucb while nothing triggers, and false alarms no more often than it says."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, policy
from driftwise.errors import InvalidInput
from driftwise.policies.et_gp_ucb import thresholds
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 25)[:, None])


def observation(t, x, y):
    return Observation(t, float(t), tuple(np.atleast_1d(x).tolist()), float(y))


def test_the_thresholds():
    """τ = 1, δ = 0.1, λ = 0.01: ρ = 6.987, w = 0.2643; and Σ 1/π_τ = 1 gives δ in all."""
    rho, w = thresholds(1, delta=0.1, noise=0.01)
    assert (round(rho, 3), round(w, 4)) == (6.987, 0.2643)
    later, _ = thresholds(7, delta=0.1, noise=0.01)
    assert later == pytest.approx(2 * math.log(2 * math.pi**2 * 49 / 6 / 0.1))
    spent = sum(2 * math.exp(-thresholds(t, delta=0.1, noise=0.01)[0] / 2) for t in range(1, 10_000))
    assert spent == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize(("error", "alarm"), [(0.27, True), (0.26, False), (-0.27, True), (-0.26, False)])
def test_the_trigger_where_sigma_is_zero(error, alarm):
    made = policy("et-gp-ucb", Candidates([[0.0]]), kernel=Linear(), noise=0.01)  # k(0, 0) = 0
    state = made.update(made.start(), observation(1, 0.0, error))
    assert state.restarts == int(alarm)


def test_the_trigger_is_by_the_belief_without_the_new_pair():
    """After one y = 0 at x: μ = 0, σ² = 1 − 1/1.01; with the pair itself in, an error would look smaller."""
    made = policy("et-gp-ucb", LINE, kernel=RBF(0.2), noise=0.01)
    state = made.update(made.start(), observation(1, 0.5, 0.0))
    rho, w = thresholds(2, delta=0.1, noise=0.01)
    edge = math.sqrt(rho * (1 - 1 / 1.01)) + w
    assert made.update(state, observation(2, 0.5, edge - 1e-9)).restarts == 0
    assert made.update(state, observation(2, 0.5, edge + 1e-9)).restarts == 1


@pytest.mark.parametrize("space", [LINE, {"a": Float(0, 1)}], ids=["candidates", "box"])
@pytest.mark.parametrize("width", [2.0, "bogunovic"])
def test_while_nothing_triggers_it_is_gp_ucb(space, width):
    told = {"kernel": RBF(0.2), "noise": 0.01, "width": width}
    made, twin = policy("et-gp-ucb", space, **told), policy("gp-ucb", space, **told)
    one, other, rng = made.start(), twin.start(), np.random.default_rng(0)
    for t in range(1, 41):
        ask = Ask(t, float(t), pending=((0.5,),) if t % 5 == 0 and space is LINE else ())
        x = made.choose(one, ask)
        np.testing.assert_array_equal(x, twin.choose(other, ask))
        seen = observation(t, x, math.sin(6 * x[0]) + 0.1 * rng.uniform(-1, 1))
        one, other = made.update(one, seen), twin.update(other, seen)
    assert one.restarts == 0
    np.testing.assert_array_equal(made.belief(one, ask).predict(LINE.points), other.predict(LINE.points))


def test_after_an_alarm_only_the_pair_that_gave_it_is_left():
    made = policy("et-gp-ucb", LINE, kernel=RBF(0.2), width="bogunovic")
    state = made.start()
    for t in range(1, 9):
        state = made.update(state, observation(t, LINE.coordinates[3 * t % 25][0], 0.0))
    assert (state.restarts, state.clock) == (0, 9)
    alarmed = made.update(state, observation(9, LINE.coordinates[3][0], 0.9))
    fresh = made.start().belief.observe(observation(9, LINE.coordinates[3][0], 0.9))
    assert (alarmed.restarts, alarmed.clock, len(alarmed.belief)) == (1, 1, 1)
    np.testing.assert_array_equal(alarmed.belief.predict(LINE.points), fresh.predict(LINE.points))
    mean, std = fresh.predict(LINE.points)
    expected = LINE.points[np.argmax(mean + math.sqrt(0.8 * math.log(4)) * std)]  # β of a first step
    np.testing.assert_array_equal(made.choose(alarmed, Ask(10, 10.0)), expected)


@pytest.mark.slow
def test_a_still_world_rarely_gives_an_alarm():
    """P(any of 25 tests) ≤ δ = 0.3 on functions of the prior: of 400 runs at most 120, by the union bound far fewer."""
    delta, kernel, rng = 0.3, RBF(0.2), np.random.default_rng(1)
    made = policy("et-gp-ucb", LINE, kernel=kernel, noise=0.01, delta=delta)
    root = np.linalg.cholesky(kernel(LINE.points, LINE.points) + 1e-10 * np.eye(25))
    alarms = 0
    for _ in range(400):
        f, state = root @ rng.standard_normal(25), made.start()
        for t in range(1, 26):
            i = int(np.flatnonzero((made.choose(state, Ask(t, float(t))) == LINE.points).all(axis=1))[0])
            state = made.update(state, observation(t, LINE.coordinates[i], f[i] + 0.1 * rng.standard_normal()))
        alarms += state.restarts > 0
    assert 0 < alarms <= delta * 400


def test_rewards_are_taken_from_their_range():
    told = {"kernel": RBF(0.2), "noise": 0.01}
    plain, ranged = policy("et-gp-ucb", LINE, **told), policy("et-gp-ucb", LINE, low=100.0, high=300.0, **told)
    one, other = plain.start(), ranged.start()
    for t, y in enumerate([0.2, 0.1, -0.5, 0.9, 0.85], 1):
        x = LINE.coordinates[4]
        one, other = plain.update(one, observation(t, x, y)), ranged.update(other, observation(t, x, 200 + 100 * y))
    assert one.restarts == other.restarts > 0
    ask = Ask(6, 6.0)
    np.testing.assert_allclose(ranged.choose(other, ask), plain.choose(one, ask))
    assert ranged.belief(other, ask).units == (200.0, 100.0)
    assert plain.belief(one, ask).units == (0.0, 1.0)


def test_with_a_window_of_one_length_it_is_r_gp_ucb():
    """No alarm counts before `shortest`, and after `longest` all is forgotten: every era has 9 samples."""
    told = {"kernel": RBF(0.2), "noise": 0.01}
    made = policy("et-gp-ucb", LINE, shortest=9, longest=9, **told)
    twin = policy("r-gp-ucb", LINE, interval=9, **told)
    one, other, rng = made.start(), twin.start(), np.random.default_rng(0)
    for t in range(1, 41):
        ask = Ask(t, float(t))
        x = made.choose(one, ask)
        np.testing.assert_array_equal(x, twin.choose(other, ask))
        seen = observation(t, x, 5 * math.sin(t) * x[0] + rng.normal())  # which gives alarms all the time
        one, other = made.update(one, seen), twin.update(other, seen)
    assert one.restarts == 4


@pytest.mark.parametrize(("shortest", "longest", "alarms"), [(0, None, 1), (5, None, 1), (6, None, 0), (0, 5, 1)])
def test_where_an_alarm_counts(shortest, longest, alarms):
    """Five times 0 and then 0.9: an alarm after 5 samples; with longest=5 these are forgotten, and 0.9 is no news."""
    made = policy("et-gp-ucb", LINE, kernel=RBF(0.2), noise=0.01, shortest=shortest, longest=longest)
    state = made.start()
    for t in range(1, 6):
        state = made.update(state, observation(t, 0.5, 0.0))
    state = made.update(state, observation(6, 0.5, 0.9))
    assert state.restarts == alarms
    assert len(state.belief) == (1 if alarms else 6)


def test_a_window_of_no_length_is_refused():
    with pytest.raises(InvalidInput, match="longest must be ≥ shortest"):
        policy("et-gp-ucb", LINE, shortest=9, longest=8)
