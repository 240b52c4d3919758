"""Of arms in no order that are equal one is chosen at random; of points with coordinates the first."""

import numpy as np
import pytest

from driftwise import Ask, Candidates, policy, run
from driftwise.environments import recorded

COUNT = 7


class Fixed:
    """Values by place, equal up to rounding."""

    def __init__(self, values):
        self.values = np.array(values)

    def __call__(self, X):
        return self.values


EQUAL = Fixed([0.3, 0.1 + 0.2, 0.3, -1.0, 0.3, 0.2, 0.3])  # 0.1 + 0.2 is larger than 0.3 in its last bit
LABELLED = Candidates(labels=[f"arm {i}" for i in range(COUNT)])


@pytest.mark.parametrize("arms", [LABELLED, Candidates(np.eye(COUNT))])
def test_all_equal_arms_have_their_turn_and_no_other(arms):
    chosen = {int(arms.argmax(EQUAL, Ask(number, 1.0, seed=3)).argmax()) for number in range(1, 60)}
    assert chosen == {0, 1, 2, 4, 6}
    first = arms.argmax(EQUAL, Ask(5, 1.0, seed=3))
    assert (first == arms.argmax(EQUAL, Ask(5, 9.0, seed=3))).all()  # the same ask, the same answer


def test_only_allowed_arms_have_their_turn():
    asks = [Ask(number, 1.0, allowed=lambda X: X[:, 0] + X[:, 5] > 0) for number in range(1, 30)]
    assert {int(LABELLED.argmax(EQUAL, ask).argmax()) for ask in asks} == {0}


def test_of_points_with_coordinates_the_first_is_chosen():
    points = Candidates(np.linspace(0, 1, COUNT))
    assert points.argmax(Fixed(np.zeros(COUNT)), Ask(1, 1.0)).tolist() == [0.0]
    assert points.argmax(EQUAL, Ask(1, 1.0)).tolist() == pytest.approx([1 / 6])


def test_auto_does_not_try_arms_in_the_order_of_their_list():
    rewards = np.tile(np.linspace(-1, 1, 30), (40, 1))  # sorted, the worst first
    world = recorded(rewards + 1e-3 * np.random.default_rng(0).standard_normal((40, 30)))
    tried = [int(np.argmax(step.seen.x)) for step in run(policy("auto", world.space), world, horizon=10)]
    assert max(tried) > 15
