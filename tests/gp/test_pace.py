"""How fast the rewards of a history moved: the likelihood against the covariance written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from driftwise.gp.pace import STRENGTH, likeliest, likelihoods
from driftwise.gp.time_kernels import Forgetting, MaternInTime

RNG = np.random.default_rng(11)
C = np.array([[1.0, 0.6, 0.1], [0.6, 0.8, 0.0], [0.1, 0.0, 0.5]])


def test_the_likelihood_is_that_of_students_t():
    Z, steps = RNG.normal(size=(7, 3)), np.arange(7.0)
    times, noises = (Forgetting(0.1), MaternInTime(2.5, 15.0)), (0.01, 0.3)
    found = likelihoods(Z, C, times, noises)

    def exact(time, noise):
        A = np.kron(time(steps, steps), C) + noise * np.eye(21)
        return multivariate_t(np.zeros(21), A, df=2 * STRENGTH).logpdf(Z.ravel())

    constant = exact(times[0], 0.01) - found[times[0], 0.01]
    for pair, value in found.items():
        assert value == pytest.approx(exact(*pair) - constant)


@pytest.mark.parametrize(("epsilon", "noise"), [(0.003, 0.3), (0.1, 0.003), (0.6, 0.1)])
def test_the_true_pace_is_found(epsilon, noise):
    rng, root = np.random.default_rng(5), np.linalg.cholesky(C)
    f, rows = root @ rng.normal(size=3), []
    for _ in range(400):
        f = np.sqrt(1 - epsilon) * f + np.sqrt(epsilon) * root @ rng.normal(size=3)
        rows.append(f + np.sqrt(noise) * rng.normal(size=3))
    tried = [Forgetting(e) for e in (0.0, 0.003, 0.03, 0.1, 0.6)]
    times, noises = likeliest(likelihoods(np.array(rows), C, tried, (0.003, 0.1, 0.3)), times=1, noises=1)
    assert times == (Forgetting(epsilon),)
    assert noises == (noise,)


def test_one_row_is_enough():
    found = likelihoods(np.array([[1.0, 2.0, 3.0]]), C, (Forgetting(0.0), Forgetting(0.1)), (0.1,))
    assert np.isfinite(list(found.values())).all()
