"""Levels that move for all settings: the same function, the same best setting, and rewards that go up and down."""

import numpy as np
import pytest

from driftwise.environments.levels import CyclingLevel, JumpingLevel, Lifted, WalkingLevel
from driftwise.environments.rkhs import Whitened
from driftwise.gp.kernels import RBF
from driftwise.lab.zoo import LEVEL, zoo
from driftwise.spaces import Candidates

PATHS = ("cycle", "walk", "jumps")


def level_of(world, still, horizon):
    """h(t), and whether it is the same at all points: (T,)."""
    X = world.space.sample(np.random.default_rng(0), 5)
    apart = np.array([world.value(t, X) - still.value(t, X) for t in range(1, horizon + 1)])
    np.testing.assert_allclose(apart, apart[:, :1] + np.zeros(5), atol=1e-12)
    return apart[:, 0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("suffix", "plain"), [("", "still"), ("-moving", "slow-0.01")])
@pytest.mark.parametrize("box", [False, True])
def test_a_world_with_a_level_is_the_one_without_and_its_level(path, suffix, plain, box):
    world = zoo(kind=f"level-{path}{suffix}", dim=1, box=box, seed=3, horizon=50)
    without = zoo(kind=plain, dim=1, box=box, seed=3, horizon=50)
    h = level_of(world, without, 50)
    assert np.ptp(h) > 0.1
    for t in (1, 20, 50):
        assert world.best(t) - h[t - 1] == pytest.approx(without.best(t), abs=1e-6)
        np.testing.assert_allclose(world.best_x(t), without.best_x(t), atol=1e-3)


def test_the_levels_have_the_standard_deviation_they_say():
    draws = {j: np.random.default_rng(j).standard_normal(1) for j in range(4001)}
    cycle = [CyclingLevel(2.0, 40.0).at(t, draws.__getitem__, None) for t in range(1, 401)]
    assert np.std(cycle) == pytest.approx(2.0, rel=1e-9)
    jumps = [JumpingLevel(2.0, tuple(range(1, 4000))).at(t, draws.__getitem__, None) for t in range(1, 4001)]
    assert np.std(jumps) == pytest.approx(2.0, rel=0.05)
    spread = []
    for seed in range(400):
        steps, h = np.random.default_rng(seed).standard_normal((51, 1)), None
        walk = [h := WalkingLevel(2.0, 50).at(t, steps.__getitem__, h) for t in range(1, 51)]
        spread.append(np.var(walk))
    assert np.sqrt(np.mean(spread)) == pytest.approx(2.0, rel=0.1)


def test_the_zoo_s_level_is_relative_to_its_functions():
    """On candidates g has variance 1; on a box as much as the draws have, on average."""
    X = np.random.default_rng(0).random((200, 2))
    drawn = np.sqrt(np.mean([np.square(zoo(kind="still", dim=2, box=True, seed=s).value(1, X)) for s in range(60)]))
    world = zoo(kind="level-walk", dim=2, box=True)
    assert world.drift.level.std == pytest.approx(LEVEL * drawn, rel=0.15)
    assert zoo(kind="level-walk", dim=1).drift.level.std == LEVEL


def test_norms_and_gradients_of_a_lifted_basis():
    line = Candidates(np.linspace(0, 1, 6))
    basis = Lifted(Whitened(RBF(0.3), line), 4.0)
    C = np.random.default_rng(1).standard_normal((3, basis.features(line.points).shape[1]))
    np.testing.assert_allclose(np.square(basis.norms(C)) / 5, np.square(C[:, :-1]).sum(axis=1) + C[:, -1] ** 2 / 4)
    x, h = np.array([[0.37]]), 1e-6
    slope = (basis.features(x + h) - basis.features(x - h)) / (2 * h)
    np.testing.assert_allclose(basis.gradient(x)[:, :, 0], slope, atol=1e-6)
    np.testing.assert_allclose(5 * basis.kernel(x, line.points), basis.basis.kernel(x, line.points) + 4.0)
