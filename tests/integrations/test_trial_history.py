"""The state after a log that is handed over as a whole is that of folding it, whatever was there before."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from driftwise import Float, policy
from driftwise.feasible import Feasible
from driftwise.integrations.history import History
from driftwise.policies import replay
from driftwise.records import Ask, Observation, failure
from driftwise.replay import KEPT

LOG = [Observation(n, float(n), (v,), float(np.sin(9 * v))) for n, v in enumerate(np.linspace(0, 1, 40) ** 2, start=1)]
ASK = Ask(50, 50.0)
POLICIES = {
    "a window": lambda: policy("sw-gp-ucb", {"x": Float(0, 1)}, window=6),
    "everything": lambda: policy("gp-ucb", {"x": Float(0, 1)}),
}


class Counting(History):
    """It counts the updates."""

    updates = 0

    def state(self, log):
        inner = self.policy

        class Counted(Feasible):
            def update(counted, state, seen):  # noqa: N805
                self.updates += 1
                return super().update(state, seen)

        self.policy = Counted(inner.inner)
        try:
            return super().state(log)
        finally:
            self.policy = inner


def predicted(state, made):
    return made.belief(state, ASK).predict(np.linspace(0, 1, 9)[:, None])


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_however_the_log_grows_the_state_is_that_of_a_replay(make):
    made, rng = Feasible(make()), random.Random(1)
    history, arrived = History(made), []
    for seen in sorted(LOG, key=lambda seen: seen.number + rng.choice([0, 0, 0, 7])):  # some come late
        arrived.append(failure(seen.number, seen.at, seen.x) if seen.number % 9 == 0 else seen)
        log = sorted(arrived, key=lambda seen: seen.number)
        np.testing.assert_array_equal(predicted(history.state(log), made), predicted(replay(made, log), made))


def test_what_is_known_is_not_folded_again():
    history = Counting(Feasible(POLICIES["a window"]()))
    for length in range(1, 31):
        history.state(LOG[:length])
    assert history.updates == 30
    history.state(LOG[:30])
    assert history.updates == 30
    late = [seen for seen in LOG[:31] if seen.number != 29]
    history.state(late)  # as of number 28: then 30 and 31
    assert history.updates == 32


def test_a_changed_past_changes_the_state_and_rewards_may_be_minimised():
    made = Feasible(POLICIES["everything"]())
    history = History(made, sign=-1.0)
    history.state(LOG)
    other = [replace(LOG[0], y=5.0), *LOG[1:]]
    turned = [replace(seen, y=-seen.y) for seen in other]
    np.testing.assert_array_equal(predicted(history.state(other), made), predicted(replay(made, turned), made))
    np.testing.assert_array_equal(predicted(history.state([]), made), predicted(made.start(), made))


def test_a_long_log_is_folded_as_far_as_the_policy_remembers():
    history = Counting(Feasible(POLICIES["a window"]()))
    made, log = history.policy, [replace(LOG[n % 40], number=n + 1, at=n + 1.0) for n in range(600)]
    state = history.state(log)
    assert history.updates == made.memory + KEPT < 600
    np.testing.assert_array_equal(predicted(state, made), predicted(replay(made, log), made))
