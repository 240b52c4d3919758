"""Of arms in no order that are equal `auto` tries one at random."""

import numpy as np
import pytest

from driftwise import Ask, Candidates, policy, run
from driftwise.environments import recorded
from driftwise.spaces.equals import AnyOfEquals, in_no_order

COUNT = 7
ARMS = Candidates(labels=[f"arm {i}" for i in range(COUNT)])


def score(X):
    """Values by place, equal up to rounding: 0.1 + 0.2 is larger than 0.3 in its last bit."""
    return np.array([0.3, 0.1 + 0.2, 0.3, -1.0, 0.3, 0.2, 0.3])


def test_all_equal_arms_have_their_turn_and_no_other():
    asks = [Ask(number, 1.0, seed=3) for number in range(1, 60)]
    assert {int(ARMS.argmax(AnyOfEquals(score, ask), ask).argmax()) for ask in asks} == {0, 1, 2, 4, 6}
    assert (AnyOfEquals(score, asks[4])(ARMS.points) == AnyOfEquals(score, asks[4])(ARMS.points)).all()


def test_only_allowed_arms_have_their_turn():
    asks = [Ask(number, 1.0, allowed=lambda X: X[:, 0] + X[:, 5] > 0) for number in range(1, 30)]
    assert {int(ARMS.argmax(AnyOfEquals(score, ask), ask).argmax()) for ask in asks} == {0}


@pytest.mark.parametrize(
    ("points", "expected"),
    [(ARMS.points, True), (np.eye(3), True), (np.eye(3)[:2], False), (np.linspace(0, 1, 3)[:, None], False)],
)
def test_arms_are_in_no_order_if_each_has_a_coordinate_of_its_own(points, expected):
    assert in_no_order(points) is expected
    assert not in_no_order(None)


def test_auto_does_not_try_arms_in_the_order_of_their_list():
    rewards = np.tile(np.linspace(-1, 1, 30), (40, 1))  # sorted, the worst first
    world = recorded(rewards + 1e-3 * np.random.default_rng(0).standard_normal((40, 30)))
    tried = [int(np.argmax(step.seen.x)) for step in run(policy("auto", world.space), world, horizon=10)]
    assert max(tried) > 15
