"""The marginal likelihood against SciPy's Gaussian and finite differences, and the fit against the truth."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from driftwise import RBF, Matern
from driftwise.policies.w_dbo_fit import Hyper, MarginalLikelihood
from oracles import finite_difference


def data(n=25, hyper=None, seed=0):
    rng = np.random.default_rng(seed)
    X, at = rng.random((n, 2)), np.sort(rng.random(n)) * 100
    rows = np.column_stack([X, at])
    hyper = hyper or Hyper(scale=30.0, noise=0.05)
    A = hyper.kernel(Matern(2.5, 0.3), 1.5)(rows, rows) + hyper.noise * np.eye(n)
    return X, at, np.linalg.cholesky(A) @ rng.standard_normal(n)


@pytest.mark.parametrize("space", [RBF(0.3), Matern(0.5, 0.3), Matern(1.5, (0.3, 0.6)), Matern(2.5, 0.3)])
@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_value_and_gradient(space, nu):
    X, at, y = data()
    likelihood, hyper = MarginalLikelihood(space, nu, X, at, y), Hyper(variance=1.4, stretch=0.8, scale=25.0, noise=0.1)
    value, gradient = likelihood(hyper.logs)
    rows = np.column_stack([X, at])
    A = hyper.kernel(space, nu)(rows, rows) + 0.1 * np.eye(25)
    assert value == pytest.approx(multivariate_normal(cov=A).logpdf(y), abs=1e-8)
    np.testing.assert_allclose(
        gradient, finite_difference(lambda h: likelihood(h)[0], hyper.logs), rtol=1e-5, atol=1e-6
    )


def test_the_fit_is_a_maximum_and_near_the_truth():
    true = Hyper(variance=1.0, stretch=1.0, scale=30.0, noise=0.05)
    X, at, y = data(n=220, hyper=true, seed=2)
    likelihood = MarginalLikelihood(Matern(2.5, 0.3), 1.5, X, at, y)
    low, high = Hyper(0.05, 0.1, 1.0, 1e-4), Hyper(20.0, 20.0, 1e4, 1.0)
    found = likelihood.maximise([Hyper(1.0, 3.0, 300.0, 0.5)], low, high)
    value, gradient = likelihood(found.logs)
    assert np.abs(gradient).max() < 0.05
    assert value >= likelihood(true.logs)[0]
    np.testing.assert_allclose(found.logs, true.logs, atol=0.8)
