"""What worlds say that they are, against the weights of their draws and dense algebra."""

import numpy as np
import pytest
from tests.oracles import finite_difference

from driftwise.environments import (
    Abrupt,
    Chain,
    Coordinates,
    Expansion,
    Gaussian,
    Peaked,
    Rotating,
    Slow,
    Still,
    Storm,
    Trend,
    Waves,
    Whitened,
    World,
    swept,
)
from driftwise.environments.levels import CyclingLevel, JumpingLevel, WalkingLevel
from driftwise.environments.truth import DRAWS, Spanned, moments, truth_of
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF
from driftwise.lab.suites import suite
from driftwise.lab.zoo import zoo
from driftwise.spaces import Candidates

STEPS = 30
T = np.arange(1.0, STEPS + 1)
DRIFTS = [
    Still(),
    Abrupt((4, 17)),
    Slow((3, 9, 20)),
    Rotating(7.0),
    Chain(0.1),
    Chain(1.0),
    Storm(12, 0.2),
    Trend(9.0, 25),
]
LINE = Candidates(np.linspace(0, 1, 9))


def weights(at) -> np.ndarray:
    """What draw j has for its weight at step t, (T, J): each draw is a coordinate of its own."""
    rows, before = [], None
    for t in range(1, STEPS + 1):
        before = at(t, lambda j: np.eye(STEPS + 1)[j], before)
        rows.append(before)
    return np.array(rows)


@pytest.mark.parametrize("drift", DRIFTS, ids=repr)
def test_a_drift_has_the_covariance_of_its_weights(drift):
    A = weights(lambda t, draw, before: drift.at(t, draw, before if drift.chained else None))
    np.testing.assert_allclose(drift.covariance(T[:, None], T[None, :]), A @ A.T, atol=1e-12)


@pytest.mark.parametrize("level", [WalkingLevel(1.5, 30), JumpingLevel(2.0, (5, 20))], ids=repr)
def test_a_level_has_the_covariance_of_its_weights(level):
    paths = []
    for j in range(STEPS + 1):
        h = [None]
        for t in range(1, STEPS + 1):
            h.append(level.at(t, lambda i, j=j: np.array([float(i == j)]), h[-1]))
        paths.append(h[1:])
    A = np.array(paths).T
    np.testing.assert_allclose(level.covariance(T[:, None], T[None, :]), A @ A.T, atol=1e-12)


def test_a_cycle_has_the_covariance_of_a_uniform_phase():
    level, z = CyclingLevel(1.5, 8.0), np.linspace(-9, 9, 20_001)
    H = np.array([[level.at(int(t), lambda j, x=x: np.array([x]), None) for x in z[::10]] for t in T[:9]])
    density = np.exp(-(z[::10] ** 2) / 2)
    found = (H * density) @ H.T / density.sum()
    np.testing.assert_allclose(level.covariance(T[:9, None], T[None, :9]), found, atol=1e-6)


def rows(X, t) -> np.ndarray:
    return np.column_stack([X, np.full(len(X), float(t))])


def test_a_gaussian_process_that_moves_has_its_kernel_times_that_of_its_drift():
    world = World(LINE, Whitened(RBF(0.2), LINE), Rotating(40.0), Gaussian(0.1))
    truth = truth_of(world)
    k = truth.kernel(rows(LINE.points, 3), rows(LINE.points, 8))
    np.testing.assert_allclose(k, np.cos(2 * np.pi * 5 / 40) * RBF(0.2)(LINE.points, LINE.points), atol=1e-12)
    assert truth.noise == Gaussian(0.1)


def test_a_level_adds_its_own_covariance():
    world = zoo(kind="level-walk-moving", dim=1, horizon=100)
    X = world.space.points[:5]
    assert isinstance(world.drift.level, WalkingLevel)
    expected = RBF(0.2)(X, X) * 0.99**2.0 + world.drift.level.covariance(np.array(10.0), np.array(14.0))
    np.testing.assert_allclose(world.truth().kernel(rows(X, 10), rows(X, 14)), expected, atol=1e-12)
    np.testing.assert_allclose(world.truth().kernel.diagonal(rows(X, 10)), 1 + 2.25 * 6 / 100 * 9)


def test_functions_of_random_coefficients_have_their_second_moments():
    free = Expansion(RBF(0.2), LINE)  # a ~ U[−1, 1]: S = I/3
    F = free.features(LINE.points)
    assert np.abs(moments(free) - np.eye(9) / 3).max() < 4 / (3 * DRAWS**0.5)
    np.testing.assert_allclose(Spanned(free)(LINE.points, LINE.points), F @ moments(free) @ F.T, atol=1e-12)
    normed = Expansion(RBF(0.2), LINE, norm=2.0)  # aᵀKa = 4 in every draw, so that tr(SK) = 4
    assert np.trace(moments(normed) @ RBF(0.2)(LINE.points, LINE.points)) == pytest.approx(4.0, rel=1e-9)


def test_a_translation_has_the_covariance_of_what_is_translated():
    world = zoo(kind="one-coordinate", dim=2, box=True, horizon=40)
    X, Y = np.random.default_rng(0).random((2, 4, 2))
    basis = world.path.basis
    there = X - np.outer(np.full(4, world.path.shift(np.array(6.0))), [1, 0])
    then = Y - np.outer(np.full(4, world.path.shift(np.array(21.0))), [1, 0])
    expected = basis.features(there) @ moments(basis) @ basis.features(then).T
    np.testing.assert_allclose(world.truth().kernel(rows(X, 6), rows(Y, 21)), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["one-coordinate", "slow-0.01", "level-walk"])
def test_gradients_are_those_of_differences_and_time_has_none(kind):
    kernel = zoo(kind=kind, dim=2, box=True, horizon=40).truth().kernel
    X, Y = rows(np.array([[0.3, 0.4], [0.7, 0.2]]), 5), rows(np.array([[0.35, 0.5]]), 11)
    G = kernel.gradient(X, Y)
    for i in range(2):
        slope = finite_difference(lambda x, i=i: kernel(rows(x[None], 5), Y)[0, 0], X[i, :2])
        np.testing.assert_allclose(G[i, 0], [*slope, 0.0], atol=1e-6)


def test_every_world_of_the_zoo_can_say_what_it_is():
    for case in suite("drift-zoo").cases:
        if "2d" in case.tags:
            world = case.quick().environment()
            assert world.truth().kernel.diagonal(rows(world.space.sample(np.random.default_rng(0), 2), 5)).min() > 0


@pytest.mark.parametrize(
    "world",
    [
        World(Candidates(np.eye(2)), Coordinates(2), Waves(1.0, 50), Gaussian(0.1)),
        swept("hartmann3"),
        object(),
    ],
)
def test_a_world_that_cannot_say_what_it_is_says_so(world):
    with pytest.raises(InvalidInput, match=r"cannot say what it is, because .*; leave oracle out"):
        truth_of(world)


def test_functions_of_a_fixed_peak_have_moments_too():
    basis = Peaked(Whitened(RBF(0.3), LINE), 0.8)
    world = World(LINE, basis, Still(), Gaussian(0.1))
    assert 0.05 < world.truth().kernel.diagonal(rows(LINE.points, 1)).mean() < 0.64
