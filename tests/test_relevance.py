"""Relevance against SciPy's Student t and finite differences, and what it finds against what was put in."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from driftwise.kernels import Level, Matern, Sum
from driftwise.relevance import HIGH, LOW, SPREAD, SURE, Relevance, stretches
from driftwise.time_kernels import Forgetting
from oracles import finite_difference


def data(n, d, relevant, *, seed=0, ell=0.3, noise=0.03):
    """A draw of the process that depends on the `relevant` coordinates alone, and drifts: the arguments, noise last."""
    rng = np.random.default_rng(seed)
    X, at, lengthscales = rng.random((n, d)), np.arange(n, dtype=float), np.full(d, ell)
    C = Forgetting(0.003)(at, at)
    A = Matern(2.5, ell)(X[:, relevant], X[:, relevant]) * C + noise * np.eye(n)
    y = np.linalg.cholesky(A) @ rng.standard_normal(n)
    return X, C, 1.0, (y - y.mean()) / y.std(), lengthscales, noise


@pytest.mark.parametrize("u", [(0.0, 0.0, 0.0), (-0.6, 0.4, 2.0)])
def test_the_value_is_that_of_a_student_t(u):
    """With σ² ~ IG(a, a), y is t with 2a degrees of freedom and the shape A; the constants cancel in differences."""
    X, C, level, y, lengthscales, noise = data(20, 3, [0])

    def dense(u, y):
        kernel = Sum(Matern(2.5, tuple(lengthscales * np.exp(u))), Level(level))
        t = multivariate_t(shape=kernel(X, X) * C + noise * np.eye(20), df=2 * SURE)
        return t.logpdf(y) - 0.5 * np.sum(u**2) / SPREAD**2

    def ours(u, y):
        return Relevance(X, C, level, y, lengthscales, noise)(u)[0]

    u, origin, nothing = np.array(u), np.zeros(3), np.zeros(20)
    assert ours(u, y) - ours(origin, nothing) == pytest.approx(dense(u, y) - dense(origin, nothing), abs=1e-9)


@pytest.mark.parametrize("noise", [0.3, 0.03, 0.001])
@pytest.mark.parametrize("u", [(0.0, 0.0, 0.0), (-0.6, 0.4, 2.0)])
def test_the_gradient_is_that_of_the_value(u, noise):
    relevance = Relevance(*data(30, 3, [0, 2], noise=noise))
    difference = finite_difference(lambda v: relevance(v)[0], np.array(u))
    np.testing.assert_allclose(relevance(np.array(u))[1], difference, rtol=1e-5, atol=1e-6)


def test_the_maximum_is_one():
    """No gradient is left inside the box, and the bounds hold where the gradient points out of it."""
    arguments = data(60, 3, [0])
    found = np.log(stretches(*arguments))
    gradient = Relevance(*arguments)(found)[1]
    inside = (found > np.log(LOW) + 1e-9) & (found < np.log(HIGH) - 1e-9)
    assert np.abs(gradient[inside]).max(initial=0) < 0.05
    assert np.all(gradient[~inside] * found[~inside] >= 0)


@pytest.mark.parametrize("relevant", [0, 1, 2])
def test_what_does_not_matter_gets_a_long_lengthscale(relevant):
    found = np.log(stretches(*data(60, 3, [relevant], seed=1)))
    assert found[relevant] < 0.5
    assert np.delete(found, relevant).min() > 1.0


def test_few_observations_leave_everything_as_it_was():
    assert np.abs(np.log(stretches(*data(4, 6, [0])))).max() < 0.4


def test_coordinates_may_change_places():
    X, C, level, y, lengthscales, noise = data(40, 4, [1, 2])
    lengthscales, order = lengthscales * [1.0, 2.0, 0.7, 1.5], [2, 0, 3, 1]
    found = stretches(X, C, level, y, lengthscales, noise)
    moved = stretches(X[:, order], C, level, y, lengthscales[order], noise)
    np.testing.assert_allclose(moved, found[order], rtol=1e-4)


def test_the_units_of_a_coordinate_do_not_matter():
    X, C, level, y, lengthscales, noise = data(40, 2, [0])
    found, units = stretches(X, C, level, y, lengthscales, noise), np.array([1000.0, 0.01])
    np.testing.assert_allclose(stretches(X * units + 5, C, level, y, lengthscales * units, noise), found, rtol=1e-4)


def test_a_start_elsewhere_finds_the_same():
    arguments = data(60, 2, [0])
    found = stretches(*arguments)
    for start in (found, np.array([2.0, 2.0]), np.array([0.1, 100.0])):  # the last is put into the box
        np.testing.assert_allclose(stretches(*arguments, start=start), found, rtol=0.02)


def test_a_coordinate_that_never_moved_stays():
    X, *rest = data(40, 2, [0])
    X[:, 1] = 0.4
    assert stretches(X, *rest, start=np.array([1.0, 4.0]))[1] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_learn_from_so_few(n):
    X, C, level, y, lengthscales, noise = data(4, 3, [0])
    assert stretches(X[:n], C[:n, :n], level, y[:n], lengthscales, noise).tolist() == [1, 1, 1]


NAN, INF = np.nan, np.inf
WRONG = {
    "constant rewards": {"y": np.full(12, 3.0)},
    "a reward that is no number": {"y": np.array([NAN] + [1.0] * 11)},
    "rewards too large to square": {"y": np.arange(12) * 1e200},
    "points that are no numbers": {"X": np.full((12, 2), NAN)},
    "points infinitely far": {"X": np.arange(24.0).reshape(12, 2) * 1e306},
    "lengthscales of nothing": {"lengthscales": np.zeros(2)},
    "lengthscales that are no numbers": {"lengthscales": np.array([NAN, 1.0])},
    "noise that is no number": {"noise": NAN},
    "infinite noise": {"noise": INF},
    "a level that is no number": {"level": NAN},
    "no kernel of time": {"C": -np.ones((12, 12))},
    "a start that is no number": {"start": np.array([NAN, 1.0])},
}


def call(**changes):
    names = ("X", "C", "level", "y", "lengthscales", "noise")
    return stretches(**dict(zip(names, data(12, 2, [0]), strict=True)) | changes)


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG.keys())
def test_it_says_nothing_rather_than_fail(changes):
    assert call(**changes).tolist() == [1, 1]


@pytest.mark.parametrize("noise", [0.0, 1e-14, 0.03])
def test_points_seen_twice(noise):
    X, C, level, y, lengthscales, _ = data(24, 2, [0])
    found = stretches(np.repeat(X[:12], 2, axis=0), np.ones_like(C), level, y, lengthscales, noise)
    assert np.all((found >= LOW - 1e-9) & (found <= HIGH + 1e-9))
