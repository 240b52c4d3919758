"""Weights against direct densities, and the closed form of the signal's scale against numerical integration."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.stats import gamma, multivariate_normal

from driftwise.gp.window.density import STRENGTH, log_density
from driftwise.gp.window.experts import foreseen
from driftwise.lean.step import LeanState, observe
from driftwise.lean.weigh import RARE, SHARE, weigh
from driftwise.lean.window import Units
from lean_bank import POINTS, bank, covariance, run

UNITS = Units(np.array([0.4]), np.array([1.7]), np.array([4.0]), np.array([np.inf]))


def integrated(made, state, s, d, where, number, y):
    """log p(targets) of an expert's observations and a further one, over all variances of the signal."""
    held = np.flatnonzero(np.diagonal(state.beliefs.inverse[0, s, d]) > 0)
    X = np.column_stack([POINTS[state.held.where[0, held]], state.held.number[0, held]])
    targets = (state.held.y[0, held] - UNITS.location[0]) / UNITS.scale[0]
    if y is not None:
        X = np.vstack([X, [*POINTS[where], number]])
        targets = np.append(targets, (y - UNITS.location[0]) / UNITS.scale[0])
    A = sum(covariance(made, s, d, X, X)) + made.noises[s] * np.eye(len(X))
    signal = gamma(STRENGTH, scale=1 / STRENGTH)  # of 1/s²
    peak = multivariate_normal(cov=A).logpdf(targets) if len(X) else 0.0

    def density(precision):
        if not len(X):
            return signal.pdf(precision)
        return signal.pdf(precision) * np.exp(multivariate_normal(cov=A / precision).logpdf(targets) - peak)

    return peak + np.log(quad(density, 0, 20, epsabs=0, epsrel=1e-10, limit=200)[0])


def test_the_density_of_a_reward_is_that_of_all_scales_of_the_signal_together():
    made = bank()
    *_, (state, number) = run(made, 7, keys=1)
    now, where, y = number + 2, 4, 1.3
    b = state.at(made, now)
    of = foreseen(made.experts, b, state.held.at(now), np.array([where]))
    log_p = log_density(made.experts, b, UNITS.location, UNITS.scale, of, np.array([y]))
    for s, d in np.ndindex(*made.shares.shape):
        given = integrated(made, state, s, d, where, now[0], None)
        both = integrated(made, state, s, d, where, now[0], y)
        assert abs(log_p[0, s, d] - (both - given)) < 1e-7


def test_weights_follow_the_densities_by_fixed_share():
    """Expert by expert, with the matrix of who gives weight to whom; a shape is a family."""
    made, rng = bank(), np.random.default_rng(2)
    log_p = rng.normal(0, 2, size=(30, *made.shares.shape))
    prior, families = made.shares.ravel(), np.repeat([0, 1], made.shares.shape[1])
    weights, path = np.broadcast_to(made.shares, (1, *made.shares.shape)), prior
    same = families[:, None] == families
    moves = (1 - SHARE - RARE) * np.eye(len(prior)) + RARE * prior
    moves += SHARE * same * prior / (same @ prior)[:, None]
    for each in log_p:
        weights = weigh(made, weights, each[None])
        posterior = path * np.exp(each.ravel())
        path = posterior / posterior.sum() @ moves
    np.testing.assert_allclose(weights.ravel(), path, rtol=1e-12)


def test_the_expert_that_is_right_wins():
    """A world that stands still, one that forgets fast, one with a level that moves, and one that moves smoothly."""
    made, rng = bank(window=24), np.random.default_rng(5)
    for right in (0, 1, 6, 2):
        where, at = rng.integers(len(POINTS), size=150), np.arange(1, 151)
        X = np.column_stack([POINTS[where], at])
        K = sum(covariance(made, 0, right, X, X))
        y = rng.multivariate_normal(np.zeros(150), K + made.noises[0] * np.eye(150))
        state = LeanState.start(made)
        for t, j, reward in zip(at, where, y, strict=True):
            state = observe(made, state, np.array([j]), np.array([reward]), np.array([t]))
        kinds = np.where(np.isin(np.arange(7), [3, 4]), 0, np.arange(7))  # those that begin again stand still, too
        together = np.bincount(kinds, state.weights[0].sum(axis=0), minlength=7)
        assert np.argmax(together) == right, (right, state.weights.round(3))
