"""TV-GP-UCB against the dense kernel k·(1−ε)^{|i−j|/2}, gp-ucb at ε = 0, and Bogunovic's own numbers."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import Forgetting, SpaceTime
from driftwise.policies import policy
from driftwise.records import Ask, Observation
from oracles import dense_posterior


def play(made, horizon: int, reward) -> list[Observation]:
    """A run with at = t."""
    state, log = made.start(), []
    for t in range(1, horizon + 1):
        x = tuple(made.choose(state, Ask(t, float(t))).tolist())
        log.append(Observation(t, float(t), x, reward(t, np.array(x))))
        state = made.update(state, log[-1])
    return log


def wandering(seed: int):
    noise = np.random.default_rng(seed).standard_normal(1000)
    return lambda t, x: float(np.sin(5 * x.sum() + t / 30) + 0.1 * noise[t])


@pytest.fixture
def points():
    return np.random.default_rng(0).random((40, 2))


@pytest.mark.parametrize("epsilon", [0.001, 0.03, 0.3])
def test_chooses_by_the_dense_gp(points, epsilon):
    made = policy("tv-gp-ucb", Candidates(points), epsilon=epsilon, kernel=RBF(0.3), width=2.0)
    log = play(made, 150, wandering(1))
    kernel = SpaceTime(RBF(0.3), Forgetting(epsilon))
    rows, y = np.array([(*o.x, o.at) for o in log]), np.array([o.y for o in log])
    state = made.start()
    for t, seen in enumerate(log, start=1):
        mean, std = made.belief(state, Ask(t, float(t))).predict(made.space.points)
        if t > 1:
            at = np.column_stack([points, np.full(len(points), float(t))])
            expected, var = dense_posterior(kernel, 0.01, rows[: t - 1], y[: t - 1], at)
            np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-9)
            np.testing.assert_allclose(std**2, var, rtol=0, atol=1e-9)
        assert seen.x == tuple(points[np.argmax(mean + 2.0 * std)])
        state = made.update(state, seen)


def test_standing_still_it_is_gp_ucb(points):
    options = {"kernel": RBF(0.3), "noise": 0.01}
    still = play(policy("tv-gp-ucb", Candidates(points), epsilon=0.0, **options), 150, wandering(2))
    assert still == play(policy("gp-ucb", Candidates(points), **options), 150, wandering(2))


def test_standing_still_on_a_box_it_is_sw_gp_ucb():
    box = {"a": Float(0, 1), "b": Float(0, 1)}
    still = play(policy("tv-gp-ucb", box, epsilon=0.0, window=15), 25, wandering(3))
    for one, other in zip(still, play(policy("sw-gp-ucb", box, window=15), 25, wandering(3)), strict=True):
        np.testing.assert_allclose(one.x, other.x, atol=1e-9)


def test_one_observation():
    """ε = 0.19, σ² = 0.1, k = 1: μ = 0.9y/1.1 and variance 1 − 0.81/1.1, on candidates and on a box."""
    for space, x in ((Candidates([[0.4]]), (0.4,)), ({"a": Float(0, 1)}, (0.4,))):
        made = policy("tv-gp-ucb", space, epsilon=0.19, noise=0.1)
        state = made.update(made.start(), Observation(1, 1.0, x, 2.0))
        mean, std = made.belief(state, Ask(2, 2.0)).predict(np.array([x]))
        assert mean[0] == pytest.approx(0.9 * 2.0 / 1.1, rel=1e-14)
        assert std[0] ** 2 == pytest.approx(1 - 0.81 / 1.1, rel=1e-13)


def test_time_is_at_and_gaps_count():
    """Over a gap Δ the mean shrinks by (1−ε)^{Δ/2}, whatever the numbers say: over 20 units by 0.97¹⁰."""
    made = policy("tv-gp-ucb", Candidates([[0.0]]), epsilon=0.03)
    state = made.update(made.start(), Observation(1, 5.0, (0.0,), 1.0))
    now, later = (made.belief(state, Ask(2, at)).predict(made.space.points)[0][0] for at in (5.0, 25.0))
    assert later == pytest.approx(now * 0.97**10, rel=1e-13)


def test_on_a_box_old_observations_are_dropped_where_they_no_longer_count():
    box = {"a": Float(0, 1)}
    assert policy("tv-gp-ucb", box, epsilon=0.1).window == 88  # 0.9^(88/2) = 0.0097
    assert policy("tv-gp-ucb", box, epsilon=0.0).window == 150
    assert policy("tv-gp-ucb", box, epsilon=0.1).memory == 88
    assert policy("tv-gp-ucb", Candidates([[0.0]]), epsilon=0.1).memory is None


def test_the_authors_width():
    """β_t² = 0.8 ln(4t)."""
    made = policy("tv-gp-ucb", Candidates([[0.0]]), width="bogunovic")
    assert made.width(made.start(), 7) ** 2 == pytest.approx(0.8 * np.log(28))


@pytest.mark.parametrize("epsilon", [-0.01, 1.0, float("nan"), True])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        policy("tv-gp-ucb", Candidates([[0.0]]), epsilon=epsilon)
