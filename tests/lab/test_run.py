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

    with pytest.raises(InvalidInput, match="Broken, seed 0, step 1: the reward must be finite"):
        list(run(dw.policy("random", {"x": dw.Float(0, 1)}), Broken(), 3))


def fixed(policy, x):
    """The policy, but that it chooses x from step 3 on."""

    class Fixed(type(policy)):
        def choose(self, state, ask):
            return super().choose(state, ask) if ask.number < 3 else np.array(x)

    made = object.__new__(Fixed)
    vars(made).update(vars(policy))
    return made


@pytest.mark.parametrize(
    ("space", "x"),
    [
        ({"x": dw.Float(0, 1)}, [1.2]),
        ({"x": dw.Float(0, 1)}, [float("nan")]),
        ({"x": dw.Float(0, 1)}, [0.5, 0.5]),
        ({"x": dw.Float(0, 1)}, 0.5),
        ({"x": dw.Int(0, 10)}, [0.123]),
        ({"x": dw.Choice(["a", "b"])}, [0.5, 0.5]),
        (dw.Candidates([[0.0], [0.5], [1.0]]), [0.25]),
    ],
)
def test_a_point_outside_the_space_is_an_error_that_says_where(space, x):
    policy = dw.policy("random", space)
    assert len(list(run(policy, Parabola(), 6, seed=4))) == 6
    with pytest.raises(InvalidInput, match=r"Parabola, seed 4, step 3: random chose .* not in the space"):
        list(run(fixed(policy, x), Parabola(), 6, seed=4))


def test_the_space_that_counts_is_that_of_the_environment():
    world = dw.environment("deng-abrupt", seed=2)
    with pytest.raises(InvalidInput, match=r"deng-abrupt, seed 2, step 1: random chose .* not in the space"):
        list(run(dw.policy("random", {"x": dw.Float(0, 1)}), world, 5))


def test_a_value_above_the_best_is_an_error_that_says_where():
    class Low(Parabola):
        def best(self, t):
            return 1.0 if t < 4 else 0.2

    with pytest.raises(InvalidInput, match=r"Low, seed 7, step \d+: best\(\d+\) is 0.2, and the value at .* is 0\.\d+"):
        list(run(dw.policy("random", {"x": dw.Float(0, 1)}), Low(), 50, seed=7))


def test_rounding_is_no_error():
    class Close(Parabola):
        def best(self, t):
            return 1 - 1e-8

    half = fixed(dw.policy("random", {"x": dw.Float(0, 1)}), [0.5 + 1e-12])
    assert len(list(run(half, Close(), 9, seed=1))) == 9


@pytest.mark.parametrize("what", ["reward", "value", "best", "time"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, np.float64(1e200)])
def test_a_number_that_is_none_stops_the_run_and_says_where(what, bad):
    class Broken(Parabola):
        name = "my world"

        def observe(self, t, x):
            return bad if what == "reward" and t == 2 else super().observe(t, x)

        def value(self, t, X):
            return np.full(1, bad) if what == "value" and t == 2 and len(X) == 1 else super().value(t, X)

        def best(self, t):
            return bad if what == "best" and t == 2 else super().best(t)

        def at(self, t):
            return bad if what == "time" and t == 2 else t / 10

    if what == "value":
        Broken.observe = lambda self, t, x: 0.5
    with pytest.raises(InvalidInput, match=f"my world, seed 3, step 2: the {what} must be"):
        list(run(dw.policy("random", {"x": dw.Float(0, 1)}), Broken(), 5, seed=3))
