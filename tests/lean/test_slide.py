"""The posteriors of all experts against dense ones, over whole runs."""

from __future__ import annotations

import numpy as np
import pytest

from driftwise import Candidates, policy
from driftwise.gp.window.density import shape_and_rate
from driftwise.gp.window.experts import Beliefs, HeldSlots, after, begun_again, foreseen, imagined, slide
from driftwise.lean.step import LeanState, moments, observe
from driftwise.records import Ask, Observation
from lean_bank import KERNELS, NOISES, POINTS, bank, covariance, run

SLIDING, FORGETTING = ("sw-gp-ucb", {"window": 10}, 0.0), ("tv-gp-ucb", {"epsilon": 0.05}, 0.05)


def dense(made, state, key, s, d, now):
    """Mean of rewards and of ones, and V, of one expert's function on the slots that it holds, by one dense solve."""
    held = np.flatnonzero(np.diagonal(state.beliefs.inverse[key, s, d]) > 0)
    where, number, y = (each[key, held] for each in (state.held.where, state.held.number, state.held.y))
    X = np.column_stack([POINTS[where], number])
    at = np.column_stack([POINTS, np.full(len(POINTS), float(now))])
    k, K = covariance(made, s, d, X, at)[0], sum(covariance(made, s, d, X, X))
    solved = np.linalg.solve(K + made.noises[s] * np.eye(len(held)), k)
    Y = np.column_stack([y, np.ones(len(y))])
    return (solved.T @ Y).T, np.einsum("wn,wn->n", k, solved), (K, Y, held)


def test_every_expert_is_a_dense_posterior_while_windows_fill_slide_and_begin_again():
    made, counts = bank(), set()
    for state, number in run(made, 40):
        now = number + 2
        b = state.at(made, now)
        for key, s, d in np.ndindex(2, *made.shares.shape):
            mean, V, (K, Y, held) = dense(made, state, key, s, d, now[key])
            np.testing.assert_allclose(b.mean[key, s, d], mean, atol=1e-9)
            np.testing.assert_allclose(b.explained[key, s, d], V, atol=1e-9)
            inverse = np.linalg.inv(K + made.noises[s] * np.eye(len(held)))
            np.testing.assert_allclose(b.inverse[key, s, d][np.ix_(held, held)], inverse, atol=1e-8)
            np.testing.assert_allclose(b.squares[key, s, d], Y.T @ inverse @ Y, rtol=1e-9, atol=1e-9)
            assert b.seen[key, s, d] == len(held)
            counts.add((d in range(*made.renewed.indices(99)), len(held)))
    assert {held for again, held in counts if not again} == {1, 2, 3, 4, 5, 6}
    assert (True, 0) in counts  # an expert that has just begun again


def test_pending_candidates_count_as_if_they_were_answered():
    made = bank()
    *_, (state, number) = run(made, 15, keys=1)
    pending, now = np.array([[3, 7, 3]]), number + 1
    b = state.at(made, now)
    said = b.explained + imagined(made.experts, b, state.held.at(now), pending)
    rewards = moments(made, state, now, pending, level=True)
    a, rate = shape_and_rate(b, *state.units[:2])
    for s, d in np.ndindex(*made.shares.shape):
        held = np.flatnonzero(np.diagonal(b.inverse[0, s, d]) > 0)
        where, times_of = np.append(state.held.where[0, held], pending[0]), state.held.number[0, held]
        X = np.column_stack([POINTS[where], np.append(times_of, np.full(3, now[0]))])
        at = np.column_stack([POINTS, np.full(len(POINTS), float(now[0]))])
        k, K = covariance(made, s, d, X, at)[0], sum(covariance(made, s, d, X, X)) + made.noises[s] * np.eye(len(X))
        np.testing.assert_allclose(said[0, s, d], np.einsum("wn,wn->n", k, np.linalg.solve(K, k)), atol=1e-9)
        k, prior = sum(covariance(made, s, d, X, at)), np.diagonal(sum(covariance(made, s, d, at, at)))
        variance = prior - np.einsum("wn,wn->n", k, np.linalg.solve(K, k))
        np.testing.assert_allclose(rewards.std[0, s, d] ** 2, variance * rate[0, s, d] / a[0, s, d], atol=1e-9)


def test_rewards_are_predicted_with_the_level_and_candidates_compared_without_it():
    made = bank()
    *_, (state, number) = run(made, 15, keys=1)
    now = number + 2
    said = moments(made, state, now, level=True)
    at = np.column_stack([POINTS, np.full(len(POINTS), float(now[0]))])
    for s, d in np.ndindex(*made.shares.shape):
        held = np.flatnonzero(np.diagonal(state.beliefs.inverse[0, s, d]) > 0)
        X = np.column_stack([POINTS[state.held.where[0, held]], state.held.number[0, held]])
        k, K = sum(covariance(made, s, d, X, at)), sum(covariance(made, s, d, X, X)) + made.noises[s] * np.eye(len(X))
        targets = (state.held.y[0, held] - state.units.location[0]) / state.units.scale[0]
        np.testing.assert_allclose(said.mean[0, s, d], k.T @ np.linalg.solve(K, targets), atol=1e-9)


def test_many_keys_at_once_are_each_alone_to_the_last_bit():
    made = bank(span=20)
    *_, (together, _) = run(made, 45, keys=3)
    rng, alone, numbers = np.random.default_rng(1), [LeanState.start(made) for _ in range(3)], np.zeros(3, np.int64)
    for _ in range(45):
        numbers = numbers + rng.integers(1, 4, size=3)
        where, y = rng.integers(len(POINTS), size=3), rng.normal(5.0, 2.0, 3)
        for key in range(3):
            one = slice(key, key + 1)
            alone[key] = observe(made, alone[key], where[one], y[one], numbers[one])
    for key in range(3):
        for many, single in zip(_leaves(together), _leaves(alone[key]), strict=True):
            np.testing.assert_array_equal(many[key], single[0])


def _leaves(tree):
    for part in tree:
        yield from _leaves(part) if isinstance(part, tuple) else [part]


@pytest.mark.parametrize(("name", "options", "epsilon"), [SLIDING, FORGETTING])
def test_one_expert_chooses_as_the_policy_that_it_is(name, options, epsilon):
    """With the oldest observation in the slot that is taken, and the same width."""
    window = 10 if name == "sw-gp-ucb" else 60
    made = bank(
        kernels=KERNELS[:1], noises=NOISES[:1], forgetting=(epsilon,), restarts=0, trends=(), levels=(), window=window
    )
    peer = policy(name, Candidates(POINTS), kernel=KERNELS[0], noise=NOISES[0], width=2.0, **options)
    rng, theirs, ours = np.random.default_rng(3), peer.start(), Beliefs.prior(made.experts, 1)
    where, Y, ages = np.zeros((1, window), np.intp), np.zeros((1, window, 2)), np.zeros((1, window))
    for t in range(1, 61):
        now = after(made.experts, ours, np.ones(1))
        score = now.mean[0, 0, 0, 0] + 2.0 * np.sqrt(np.maximum(made.experts.variance[0] - now.explained[0, 0, 0], 0.0))
        x = peer.choose(theirs, Ask(t, float(t)))
        j = int(np.argmax(score)) if t > 1 else 0
        assert x.tolist() == POINTS[j].tolist()
        y = float(np.sin(7 * x[0] + t / 20) + 0.1 * rng.standard_normal())
        theirs = peer.update(theirs, Observation(t, float(t), tuple(x.tolist()), y))
        slot, ages = (t - 1) % window, ages + 1
        held = HeldSlots(where, Y, ages)
        of = foreseen(made.experts, now, held, np.array([j]))
        ours = slide(made.experts, now, held, np.array([slot]), np.array([j]), np.array([y]), of)
        where[0, slot], Y[0, slot], ages[0, slot] = j, (y, 1.0), 0.0


def test_rounding_errors_stay_small_in_a_long_run():
    made = bank(span=10_000)
    *_, (state, number) = run(made, 1500, keys=1)
    for s, d in np.ndindex(*made.shares.shape):
        mean, V, _ = dense(made, state, 0, s, d, number[0])
        np.testing.assert_allclose(state.beliefs.mean[0, s, d], mean, atol=1e-7)
        np.testing.assert_allclose(state.beliefs.explained[0, s, d], V, atol=1e-7)


def test_to_begin_again_is_to_know_nothing():
    made = bank()
    *_, (state, _) = run(made, 9)
    which = np.zeros((2, *made.shares.shape), dtype=bool)
    which[1, 0, made.renewed.start] = True
    fresh, nothing = begun_again(state.beliefs, which), Beliefs.prior(made.experts, 2)
    for got, before, empty in zip(fresh, state.beliefs, nothing, strict=True):
        if got.shape[2] == which.shape[2]:
            np.testing.assert_array_equal(got[which], empty[which])
            np.testing.assert_array_equal(got[~which], before[~which])
        else:
            np.testing.assert_array_equal(got, before)
