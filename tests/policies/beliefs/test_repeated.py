"""Pooled rewards against the dense posterior of all of them."""

import numpy as np

from driftwise import RBF
from driftwise.policies.beliefs.repeated import pooled
from oracles import dense_posterior


def test_equals_the_posterior_of_every_observation():
    rng = np.random.default_rng(0)
    points, kernel = rng.random((9, 2)), RBF(0.4)
    which, y = rng.integers(7, size=300), rng.standard_normal(300)
    counts, sums = np.bincount(which, minlength=9).astype(float), np.bincount(which, y, minlength=9)
    mean, std = pooled(kernel, 0.1, points, counts, sums).predict(points)
    dense_mean, dense_var = dense_posterior(kernel, 0.1, points[which], y, points)
    np.testing.assert_allclose(mean, dense_mean, atol=1e-10)
    np.testing.assert_allclose(std**2, dense_var, atol=1e-10)


def test_nothing_seen_is_the_prior():
    points = np.array([[0.0], [1.0]])
    mean, std = pooled(RBF(0.2), 0.1, points, np.zeros(2), np.zeros(2)).predict(points)
    assert (mean.tolist(), std.tolist()) == ([0.0, 0.0], [1.0, 1.0])
