"""What all policies that begin again on a schedule have in common."""

import numpy as np
import pytest

from driftwise import Candidates, Float, Study, policy
from driftwise.policies import replay
from driftwise.records import Ask, Observation

SPACE = Candidates(np.linspace(0, 1, 5)[:, None])
RESTARTS = {
    "r-gp-ucb": {"interval": 5},
    "tv-r-gp-ucb": {"epsilon": 0.9},
    "drift-aware": {"length": 5, "forget": "restart"},
    "restart-linucb": {"interval": 5},
    "r-perp": {"interval": 5},
}


@pytest.mark.parametrize("space", [SPACE, {"x": Float(0, 1)}], ids=["candidates", "box"])
@pytest.mark.parametrize("name", RESTARTS)
def test_a_recommendation_is_in_the_rewards_own_units_after_a_restart_too(name, space):
    if name == "r-perp" and space is not SPACE:
        pytest.skip("r-perp is defined on candidates")
    study = Study("s", space=space, policy=name, **RESTARTS[name])
    for i in range(2 * study.policy.memory):
        study.tell(study.ask(), 1000.0 + 50 * (i % 3))
        assert 990 < study.recommend().mean < 1110


@pytest.mark.parametrize("name", RESTARTS)
def test_these_units_are_those_of_what_is_remembered_to_the_last_bit(name):
    made = policy(name, SPACE, standardise=True, **RESTARTS[name])
    rng, log, state = np.random.default_rng(0), [], made.start()
    for number in range(1, 3 * made.memory):
        ask = Ask(number, float(number))
        again = made.belief(replay(made, log[-made.memory :]), ask)
        assert again.units == made.belief(state, ask).units
        if number % 4 == 0 or 11 <= number <= 16:
            continue  # asked and never told, once for a whole block
        seen = Observation(number, float(number), tuple(made.choose(state, ask).tolist()), 1000 + rng.random())
        log.append(seen)
        state = made.update(state, seen)
