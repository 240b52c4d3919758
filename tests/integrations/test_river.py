"""The bandits ask what a Study would ask, and run in River's own evaluations."""

from __future__ import annotations

import random

import pytest

bandit = pytest.importorskip("river.bandit", reason="needs the extra river")

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.integrations.river import ContextualDriftBandit, DriftBandit

ARMS = ["red", "green", "blue"]
SW = {"window": 20, "kernel": dw.RBF(0.5)}


def reward(arm: str, t: int) -> float:
    best = ARMS[t // 20 % 3]
    return (1.0 if arm == best else 0.0) + random.Random(t).gauss(0, 0.1)


@pytest.mark.parametrize(("name", "options"), [("auto", {}), ("sw-gp-ucb", SW)])
def test_it_pulls_what_a_study_asks(name, options):
    theirs = DriftBandit(name, options=options)
    ours = dw.Study("a", dw.Candidates(labels=ARMS), (name, options))
    for t in range(40):
        arm, s = theirs.pull(ARMS), ours.ask()
        assert arm == s.params["arm"]
        theirs.update(arm, reward(arm, t))
        ours.tell(s, reward(arm, t))


def test_features_and_contexts_are_those_of_a_study():
    features, hour = {"a": [0.0], "b": [0.5], "c": [2.0]}, {"hour": dw.Float(0, 24)}
    theirs = ContextualDriftBandit(hour, "sw-gp-ucb", features=features, options=SW)
    ours = dw.Study("a", dw.Candidates([[0.0], [0.5], [2.0]]), ("sw-gp-ucb", SW), context=hour)
    for t in range(30):
        context = {"hour": float(t % 24)}
        arm, s = theirs.pull([*features], context), ours.ask(context=context)
        assert features[arm] == [s.params["x0"]]
        earned = -abs(features[arm][0] - context["hour"] / 12)
        theirs.update(arm, context, earned)
        ours.tell(s, earned)


def test_arms_may_come_and_go():
    made = DriftBandit("sw-gp-ucb", options=SW)
    for t in range(12):
        made.update(made.pull(ARMS[:2]), t % 2)
    assert made.pull(["blue"]) == "blue"
    made.update("blue", 9.0)
    assert made.pull(ARMS) == "blue"
    assert made.pull(ARMS[:2]) in ARMS[:2]
    fresh = DriftBandit("sw-gp-ucb", options=SW)
    fresh._learner._know(ARMS)  # in the same order, known from the beginning
    for pulled in made._learner.log:
        fresh.update(pulled.arm, pulled.reward)
    assert [fresh.pull(ARMS), fresh.pull(ARMS[:2])] == [made.pull(ARMS), made.pull(ARMS[:2])]


def test_it_runs_in_rivers_evaluation_and_is_cloned_without_what_it_learned():
    gym = pytest.importorskip("gymnasium", reason="needs gymnasium")
    made = DriftBandit("sw-gp-ucb", options=SW)
    made.update(0, 5.0)
    assert made.clone()._learner.count == 0
    env = gym.make("river_bandits/KArmedTestbed-v0", max_episode_steps=60)
    trace = list(bandit.evaluate([made, bandit.RandomPolicy(seed=1)], env, n_episodes=2, seed=7))
    total = [sum(step["reward"] for step in trace if step["policy_idx"] == i) for i in range(2)]
    assert len(trace) == 2 * 2 * 60
    assert total[0] > total[1] + 30  # the best of ten arms is worth about 1.5 a step


def test_a_contextual_one_runs_in_rivers_offline_evaluation():
    rng = random.Random(1)
    history = []
    for _ in range(150):
        context, arm = {"hour": rng.uniform(0, 24)}, rng.choice(ARMS)
        history.append((ARMS, context, arm, float(arm == ARMS[int(context["hour"] // 8)])))
    made = ContextualDriftBandit({"hour": dw.Float(0, 24)}, "sw-gp-ucb", options=SW | {"window": 100})
    total, pulls = bandit.evaluate_offline(made, history)
    assert total.get() / pulls > 0.5  # at random: a third


def test_what_is_wrong_is_refused():
    with pytest.raises(InvalidInput, match="features must have every arm, got none for 'b'"):
        DriftBandit(features={"a": [0.0]}).pull(["a", "b"])
    with pytest.raises(InvalidInput, match="context 'hour' is missing"):
        ContextualDriftBandit({"hour": dw.Float(0, 24)}).pull(ARMS, {})
    with pytest.raises(InvalidInput, match="at most 1e\\+100"):
        DriftBandit().update("a", 1e200)
