"""run: what it yields is what happened, exactly."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.lab import run
from driftwise.policies import replay
from driftwise.records import Ask


class Parabola:
    """A user's own world: the three methods that are needed, and no more."""

    def value(self, t, X):
        return 1 - (X[:, 0] - (t % 3) / 2) ** 2

    def observe(self, t, x):
        return self.value(t, x[None])[0]

    def best(self, t):
        return 1.0


def test_regret_is_exact_and_the_policy_is_told_what_was_seen():
    world = dw.environment("deng-abrupt", seed=2)
    policy = dw.policy("r-gp-ucb", world.space, kernel=world.kernel, interval=20)
    steps = list(run(policy, world, 120))
    assert [s.seen.number for s in steps] == list(range(1, 121))
    for s in steps:
        t, x = s.seen.number, np.array(s.seen.x)
        values = world.value(t, world.space.points)
        assert s.best == values.max()
        assert s.value == values[int(np.flatnonzero(world.space.points[:, 0] == x[0])[0])]
        assert s.regret == s.best - s.value >= 0
        assert s.seen.y == world.observe(t, x)
        assert s.seen.at == float(t)
        assert type(s.seen.x) is tuple
        assert type(s.seen.x[0]) is float
        assert type(s.seen.y) is float
        assert s.seconds > 0
    log = [s.seen for s in steps]
    for t in (1, 2, 60, 120):
        assert tuple(policy.choose(replay(policy, log[: t - 1]), Ask(t, float(t), seed=2))) == log[t - 1].x


def test_a_seed_moves_world_and_policy_together_and_reproducibly():
    world = dw.environment("still")
    policy = dw.policy("random", world.space)
    twice = [[(s.seen, s.value, s.best) for s in run(policy, world, 30, seed=s)] for s in (5, 5, 6)]
    assert twice[0] == twice[1]
    assert [x[0].x for x in twice[0]] != [x[0].x for x in twice[2]]
    assert twice[0][0][2] != twice[2][0][2]
    assert twice[0] == [(s.seen, s.value, s.best) for s in run(policy, world.seeded(5), 30)]


def test_policies_that_are_compared_see_the_same_noise():
    world = dw.environment("deng-slow")
    noise = []
    for name in ("random", "gp-ucb"):
        steps = list(run(dw.policy(name, world.space), world, 25, seed=8))
        noise.append([s.seen.y - s.value for s in steps])
    assert noise[0] == pytest.approx(noise[1], abs=1e-12)
    assert np.std(noise[0]) > 0.05


def test_an_environment_needs_only_value_observe_and_best():
    policy = dw.policy("random", {"x": dw.Float(0, 1)})
    steps = list(run(policy, Parabola(), 9, seed=1))
    for s in steps:
        assert s.regret == pytest.approx((s.seen.x[0] - (s.seen.number % 3) / 2) ** 2)
        assert s.seen.y == s.value


def test_it_is_lazy_and_checks_at_once():
    world = dw.environment("still")
    policy = dw.policy("random", world.space)
    assert next(run(policy, world, 10**9)).seen.number == 1
    with pytest.raises(InvalidInput, match="horizon must be ≥ 1"):
        run(policy, world, 0)
    with pytest.raises(InvalidInput, match="seed must be ≥ 0"):
        run(policy, world, 1, seed=-1)


def test_a_reward_that_is_no_number_stops_the_run():
    class Broken(Parabola):
        def observe(self, t, x):
            return float("nan")

    with pytest.raises(InvalidInput, match="reward must be finite"):
        list(run(dw.policy("random", {"x": dw.Float(0, 1)}), Broken(), 3))
