"""The observations of a window by distinct candidates, as they come and go: against plain lists and dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.gp.grid import Grid, GridPosterior
from driftwise.gp.kernels import RBF
from driftwise.gp.window.slots import FREE, distinct
from driftwise.records import Observation
from oracles import dense_information_gain, dense_posterior

POINTS = np.random.default_rng(0).random((12, 2))


def observed(number: int, i: int, y: float) -> Observation:
    return Observation(number, float(number), tuple(POINTS[i].tolist()), y)


def check(state: GridPosterior, log: list[tuple[int, float]]) -> None:
    """Everything that it says of the observations in `log`, by a dense solve with a row for each."""
    grid = state.grid
    assert state.where.tolist() == [i for i, _ in log]
    assert state.y.tolist() == [y for _, y in log]
    X, y = POINTS[[i for i, _ in log]], np.array([y for _, y in log])
    mean, var = dense_posterior(grid.kernel, grid.noise, X, y, POINTS)
    np.testing.assert_allclose(state.mean[0], mean, atol=1e-8)
    np.testing.assert_allclose(state.var, var, atol=1e-8)
    assert state.information_gain == pytest.approx(dense_information_gain(grid.kernel, grid.noise, X), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 11), st.floats(-3, 3)), min_size=1, max_size=60),
    st.integers(1, 9),
    st.sampled_from([0.01, 1e-3]),
)
def test_any_order_of_coming_and_going_is_the_dense_posterior(steps, keep, noise):
    """Candidates leave, come back to the slot that they had, and lose it when many slots are free."""
    state = GridPosterior.prior(Grid(POINTS, RBF(0.3), noise))
    for t, (i, y) in enumerate(steps, 1):
        state = state.observe(observed(t, i, y), keep=keep)
        used = np.bincount(state.held.slots, minlength=len(state.held.rows)) > 0
        assert used[0]
        assert (~used).sum() <= FREE + used.sum() // 4
    check(state, steps[-keep:])


@pytest.mark.parametrize("noise", [0.01, 1e-3])
def test_a_candidate_that_comes_back_finds_its_slot_and_nothing_of_its_past(noise):
    """Of 0 1 2 0 3 … the window of two forgets 1, and takes it up again with another reward."""
    state = GridPosterior.prior(Grid(POINTS, RBF(0.3), noise)).weighing()
    log = [(0, 1.0), (1, 5.0), (0, 2.0), (0, 1.5), (1, -5.0)]
    for t, (i, y) in enumerate(log, 1):
        state = state.observe(observed(t, i, y), keep=3)
    assert len(state.held.rows) == 2
    check(state, log[-3:])
    X = state.observed
    dense = np.linalg.solve(RBF(0.3)(X, X) + noise * np.eye(3), RBF(0.3)(X, POINTS))
    np.testing.assert_allclose(state.weights(POINTS).T, dense, atol=1e-8)


def test_the_cost_of_a_window_is_that_of_its_distinct_candidates():
    state = GridPosterior.prior(Grid(POINTS, RBF(0.3), 0.01))
    log = [(t % 3, float(t)) for t in range(400)]
    for t, (i, y) in enumerate(log, 1):
        state = state.observe(observed(t, i, y), keep=300)
    assert len(state.held.rows) == 3
    check(state, log[-300:])


@pytest.mark.parametrize("noise", [0.01, 1e-3])
@pytest.mark.parametrize("standardise", [False, True])
def test_a_window_without_repeats_slides_in_order(noise, standardise):
    """One repeat disturbs the order, which comes back when it has left; all along it is the dense posterior."""
    state = GridPosterior.prior(Grid(POINTS, RBF(0.3), noise, standardise)).weighing()
    log = [(t % 12, float(t % 7)) for t in range(60)]
    log[20] = (log[19][0], 2.0)
    ordered = []
    for t, (i, y) in enumerate(log, 1):
        state = state.observe(observed(t, i, y), keep=5)
        ordered.append(state.held.slots.tolist() == list(range(len(state))) and len(state.held.rows) == len(state))
        check(state, log[max(t - 5, 0) : t])
        np.testing.assert_allclose(state.predict(POINTS)[0], state.general.predict(POINTS)[0], atol=1e-8)
        np.testing.assert_allclose(state.weights(POINTS), state.general.weights(POINTS), atol=1e-8)
    assert all(ordered[:20])
    assert not any(ordered[20:24])
    assert all(ordered[30:])


def test_candidates_are_in_the_order_in_which_they_come_first():
    candidates, which = distinct(np.array([7, 3, 7, 9, 3]))
    assert candidates.tolist() == [7, 3, 9]
    assert which.tolist() == [0, 1, 0, 2, 1]


def test_a_huge_reward_leaves_nothing_behind_when_it_is_forgotten_and_all_is_computed_afresh():
    """Sums of rewards are taken of those in the window, and not updated, so that none is lost beside 1e15."""
    state = GridPosterior.prior(Grid(POINTS, RBF(0.3), 0.01))
    log = [(0, 1e15)] + [(0, 0.1 * t) for t in range(20)]
    for t, (i, y) in enumerate(log, 505):  # passes 512, where everything is computed afresh, when it has left
        state = state.observe(observed(t, i, y), keep=3)
    check(state, log[-3:])
