"""H and w of the Remarks, and what policies make of a horizon."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, policy
from driftwise.errors import InvalidInput
from driftwise.theory import drift_aware, known_budget, unknown_budget
from driftwise.theory.information import greedy_gain

POINTS = np.linspace(0, 1, 40)[:, None]


def test_the_remarks():
    assert known_budget(81.0, 900, 9.0) == 30  # 3 · 10
    assert unknown_budget(81.0, 900) == 90
    assert drift_aware(27.0, 1000, 8.0) == 75  # 3 · 100 / 4


@pytest.mark.parametrize("schedule", [known_budget, drift_aware])
def test_clamped_to_the_horizon(schedule):
    assert schedule(10.0, 500, 0.0) == 500
    assert schedule(10.0, 500, 1e-320) == 500
    assert schedule(10.0, 500, 1e-9) == 500
    assert schedule(10.0, 500, 1e12) == 1
    assert schedule(0.0, 500, 1.0) == 1
    assert schedule(10.0, 1, 1.0) == 1


def test_refusals():
    with pytest.raises(InvalidInput, match="budget must be ≥ 0, got -1"):
        known_budget(1.0, 10, -1)
    with pytest.raises(InvalidInput, match="horizon must be ≥ 1, got 0"):
        unknown_budget(1.0, 0)


@pytest.mark.parametrize(("name", "length"), [("sw-gp-ucb", "window"), ("r-gp-ucb", "interval")])
def test_the_defaults_of_policies(name, length):
    def made(**options):
        return getattr(policy(name, Candidates(POINTS), kernel=RBF(0.2), noise=0.04, **options), length)

    gamma = greedy_gain(RBF(0.2), POINTS, 0.04, 400).lower[-1]
    assert made() == 60
    assert made(horizon=400) == round(gamma**0.25 * 20) == unknown_budget(gamma, 400)
    assert made(horizon=400, budget=4.0) == round(gamma**0.25 * 10)
    assert made(horizon=400, budget=0.0) == 400
    assert made(horizon=400, budget=4.0, **{length: 7}) == 7
    with pytest.raises(InvalidInput, match=r"got budget=4.0 alone; give horizon="):
        made(budget=4.0)


def test_a_box_has_the_gain_of_a_fine_grid():
    square = policy("sw-gp-ucb", {"a": Float(0, 1), "b": Float(0, 1)}, kernel=RBF(0.3), horizon=300)
    g = np.linspace(0, 1, 30)
    grid = np.stack(np.meshgrid(g, g), axis=-1).reshape(-1, 2)
    assert abs(square.window - unknown_budget(greedy_gain(RBF(0.3), grid, 0.01, 300).lower[-1], 300)) <= 1
