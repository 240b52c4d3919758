"""A trial's result is what its steps say, and a function of the trial alone."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

import driftwise as dw
from driftwise.lab import statistics
from driftwise.lab.results import line
from driftwise.lab.suites import suite
from driftwise.lab.trials import Contender, Trial, changes_of, checkpoints, name_of

WINDOW = Contender("window", "sw-gp-ucb", (("window", 10),))
DENG = suite("deng").quick()


def trial(contender=WINDOW, case="abrupt", seed=1):
    made = DENG.case(case)
    return Trial(contender, "deng", made, made.horizon, seed)


def test_the_figures_are_those_of_the_steps():
    world = DENG.case("abrupt").environment(1)
    steps = list(dw.run(WINDOW.on(world), world, 50))
    regret, best = np.array([s.regret for s in steps]), np.array([s.best for s in steps])
    result, timing, r = trial().perform()
    assert r.tolist() == regret.tolist()
    assert result.key == timing.key == trial().key
    assert name_of(result.key) == "deng/abrupt T=50 sw-gp-ucb:window=10 seed=0001"
    assert (result.suite, result.case, result.policy, result.seed, result.horizon) == (
        "deng",
        "abrupt",
        "window",
        1,
        50,
    )
    assert result.regret == pytest.approx(regret.sum(), rel=1e-14)
    assert result.integrated == pytest.approx(result.regret, rel=1e-14)  # at is the step
    assert result.curve == pytest.approx(np.cumsum(regret), rel=1e-6)
    assert result.within == tuple(statistics.share_within(regret, best, p) for p in (1, 5, 10))
    assert result.changes == (10, 20)
    assert result.recovery == statistics.recovery(regret, best, (10, 20))
    assert result.variation == world.variation(50)
    assert result.restarts is None


def test_a_result_is_the_same_bytes_every_time_and_another_for_another_seed():
    first, again, other = (line(trial(seed=s).perform().result) for s in (1, 1, 2))
    assert first == again != other
    assert json.loads(first)["curve"] == list(trial().perform().result.curve)


def test_keys_tell_apart_what_differs_and_nothing_else():
    shuffled = Contender("as written", "sw-gp-ucb", (("width", 2.0), ("window", 10)))
    ordered = Contender("or so", "sw-gp-ucb", (("window", 10), ("width", 2.0)))
    assert trial(shuffled).key == trial(ordered).key
    kernel = Contender("window", "sw-gp-ucb", (("window", 10), ("kernel", dw.RBF(0.3))))
    trials = [
        trial(),
        trial(seed=2),
        trial(case="slow"),
        trial(shuffled),
        trial(kernel),
        trial(replace(WINDOW, name="gp-ucb")),
    ]
    trials += [replace(trial(), horizon=40), replace(trial(), suite="other")]
    trials.append(replace(trial(), case=suite("deng").case("abrupt")))  # 50 of 500 steps: no change within them
    assert len({t.key for t in trials}) == len(trials)


def test_time_is_shared_out_without_rest():
    timing = trial().perform().timing
    assert min(timing.policy, timing.environment, timing.rest) > 0
    assert timing.median > 0
    assert timing.mean * 50 <= timing.wall


def test_restarts_are_those_of_the_last_state():
    class Alarmed:
        """Random, which counts every tenth step as an alarm."""

        def __init__(self, policy):
            self.policy = policy

        def start(self):
            return Count(0)

        def choose(self, state, ask):
            return self.policy.choose(self.policy.start(), ask)

        def update(self, state, seen):
            return Count(state.restarts + (seen.number % 10 == 0))

    @dataclass(frozen=True)
    class Count:
        restarts: int

    class Entrant(Contender):
        def on(self, world):
            return Alarmed(super().on(world))

    assert trial(Entrant("alarmed", "random")).perform().result.restarts == 5


@dataclass(frozen=True)
class Hourly:
    """A world in which a step is six minutes."""

    world: object

    def __getattr__(self, name):
        return getattr(self.world, name)

    def at(self, t):
        return 8.0 + t / 10


def test_where_time_is_real_policies_are_told_it_and_regret_is_integrated_over_it():
    class Case:
        name, horizon, make = "hourly", 50, Hourly

        def environment(self, seed):
            return Hourly(DENG.case("slow").environment(seed))

    slow = trial(case="slow").perform().result
    hourly = replace(trial(), case=Case()).perform().result
    assert hourly.regret == slow.regret  # a window does not look at the clock
    assert hourly.integrated == pytest.approx(slow.regret / 10, rel=1e-9)
    steps = list(dw.run(dw.policy("random", dw.environment("still").space), Hourly(dw.environment("still")), 3))
    assert [s.seen.at for s in steps] == [8.1, 8.2, 8.3]


def test_changes_are_those_the_world_knows_of():
    assert changes_of(dw.environment("deng-abrupt"), 500) == (100, 200)
    assert changes_of(dw.environment("deng-abrupt"), 200) == (100,)  # a change after the last step is none
    assert changes_of(dw.environment("deng-slow"), 500) == ()


def test_checkpoints():
    assert checkpoints(1) == [1]
    assert checkpoints(200) == list(range(1, 201))
    for horizon in (201, 333, 500, 10_000):
        steps = checkpoints(horizon)
        assert len(steps) == 200
        assert steps[-1] == horizon
        assert (np.diff(steps) >= 1).all()
        assert max(np.diff([0, *steps])) <= horizon / 200 + 1
