"""Limit cases: what R- and SW-GP-UCB become where they must become something known."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Int, Linear, Matern, policy
from driftwise.records import Ask, Observation

T = 60
SPACES = {
    "candidates": Candidates(np.random.default_rng(0).random((80, 2))),
    "box": {"a": Float(0, 1), "b": Float(0, 1)},
    "mixed": {"a": Float(0, 1), "b": Int(0, 2000)},
}


def reward(t, x):
    """A bump that goes round, and a noise that depends on the step alone."""
    top = 0.5 + 0.3 * np.array([np.cos(t / 20), np.sin(t / 20)])[: len(x)]
    return float(np.exp(-8 * np.sum((x - top) ** 2)) + 0.1 * np.random.default_rng(t).standard_normal())


def choices(made, steps=T):
    """The points that a policy asks for, (steps, d)."""
    state, asked = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(number=t, at=float(t), seed=3))
        asked.append(x)
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), reward(t, x)))
    return np.array(asked)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("length", [T, 10 * T])
def test_a_window_of_the_whole_horizon_is_gp_ucb(space, length):
    told = {"kernel": Matern(2.5, 0.3), "noise": 0.01, "width": 2.0}
    forgets = policy("sw-gp-ucb", SPACES[space], window=length, **told)
    assert np.array_equal(choices(forgets), choices(policy("gp-ucb", SPACES[space], **told)))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("length", [T, 10 * T])
def test_an_interval_of_the_whole_horizon_is_gp_ucb(space, length):
    told = {"kernel": Matern(2.5, 0.3), "noise": 0.01, "width": 2.0}
    forgets = policy("r-gp-ucb", SPACES[space], interval=length, **told)
    assert np.array_equal(choices(forgets), choices(policy("gp-ucb", SPACES[space], **told)))


def test_shorter_ones_are_not():
    told = {"kernel": RBF(0.2), "noise": 0.01, "width": 2.0}
    still = choices(policy("gp-ucb", SPACES["candidates"], **told))
    assert not np.array_equal(choices(policy("sw-gp-ucb", SPACES["candidates"], window=10, **told)), still)
    assert not np.array_equal(choices(policy("r-gp-ucb", SPACES["candidates"], interval=10, **told)), still)


def test_one_interval_is_no_memory():
    made = policy("r-gp-ucb", SPACES["candidates"], interval=1)
    assert (choices(made, 5) == choices(made, 5)[0]).all()


# --- the linear bandit, written directly in d dimensions ------------------------------------------------------------


def linear_ucb(X, *, noise, beta, used, steps):
    """argmax xᵀθ̂ + β √λ ‖x‖_{V⁻¹}, V = λI + Σxxᵀ and θ̂ = V⁻¹Σxy over the steps `used(t)`.

    √λ‖x‖_{V⁻¹} is σ(x) of the linear kernel (Claim 1), so β √λ is what linear bandits call β.
    """
    asked, seen = [], {}
    for t in range(1, steps + 1):
        V, b = noise * np.eye(X.shape[1]), np.zeros(X.shape[1])
        for s in used(t):
            x, y = seen[s]
            V, b = V + np.outer(x, x), b + y * x
        norm = np.sqrt(np.einsum("ni,ni->n", X, np.linalg.solve(V, X.T).T))
        x = X[np.argmax(X @ np.linalg.solve(V, b) + beta * np.sqrt(noise) * norm)]
        asked.append(x)
        seen[t] = x, reward(t, x[:2])
    return np.array(asked)


def linear_choices(made, steps):
    state, asked = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(number=t, at=float(t)))
        asked.append(x)
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), reward(t, x[:2])))
    return np.array(asked)


@pytest.fixture
def ball():
    X = np.random.default_rng(5).standard_normal((50, 3))
    return X / (1.01 * np.linalg.norm(X, axis=1).max())


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_a_linear_kernel_with_a_window_is_sw_linucb(ball, noise):
    direct = linear_ucb(ball, noise=noise, beta=1.5, used=lambda t: range(max(1, t - 25), t), steps=300)
    kernel = policy("sw-gp-ucb", Candidates(ball), kernel=Linear(), noise=noise, width=1.5, window=25)
    assert np.array_equal(linear_choices(kernel, 300), direct)
    assert len(np.unique(direct, axis=0)) > 5


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_a_linear_kernel_with_restarts_is_restart_ucb(ball, noise):
    direct = linear_ucb(ball, noise=noise, beta=1.5, used=lambda t: range(t - (t - 1) % 25, t), steps=300)
    kernel = policy("r-gp-ucb", Candidates(ball), kernel=Linear(), noise=noise, width=1.5, interval=25)
    assert np.array_equal(linear_choices(kernel, 300), direct)
    assert len(np.unique(direct, axis=0)) > 5
