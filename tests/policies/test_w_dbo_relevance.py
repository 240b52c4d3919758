"""The relevance of observations: against deletion one by one, quadrature, and the authors' own criterion."""

import numpy as np
import pytest
from scipy import integrate

from driftwise import RBF, Linear, Matern, Scaled
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import Forgetting, MaternInTime, SpaceTime
from driftwise.policies.ui_gp_ucb import Wiener
from driftwise.policies.w_dbo_relevance import over_space, over_time, overlaps, relevance
from oracles import dense_posterior

SPACES = [RBF(0.3), Matern(0.5, 0.3), Matern(1.5, 0.3), Matern(2.5, 0.3)]
TIMES = [Forgetting(0.6), MaternInTime(1.5, 0.7), MaternInTime(2.5, 0.7)]


def case(n=9, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), np.sort(rng.random(n)), rng.standard_normal(n)


def by_deletion(K, noise, y, C, variance):
    """The O(n⁴) definition: μ' and σ'² of D∖i as quadratic forms in k, differenced, and integrated by C."""
    n = len(y)
    whole = np.linalg.inv(K + noise * np.eye(n))
    answers = []
    for i in range(n):
        kept = np.arange(n) != i
        rest = np.zeros((n, n))
        rest[np.ix_(kept, kept)] = np.linalg.inv(K[np.ix_(kept, kept)] + noise * np.eye(n - 1))
        a = (whole - rest) @ y  # μ − μ' = aᵀk
        answers.append(variance**2 * (a @ C @ a + np.sum((whole - rest) * C)))
    full = variance**2 * ((whole @ y) @ C @ (whole @ y) + np.sum(whole * C))
    return np.sqrt(np.array(answers) / full)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("time", TIMES)
def test_leave_one_out_equals_deletion(space, time):
    X, at, y = case()
    C, K = overlaps(space, time, X, at, 1.2), 1.7 * space(X, X) * time(at, at)
    np.testing.assert_allclose(relevance(K, 0.05, y, C, 1.7), by_deletion(K, 0.05, y, C, 1.7), rtol=1e-8)


def test_relevance_is_an_integral_over_posteriors():
    """∫∫ (μ − μ')² + σ'² − σ² on a lattice of space and time, from posteriors with and without i."""
    X, at, y = case(n=4, d=1)
    space, time = Matern(2.5, 0.3), MaternInTime(1.5, 0.4)
    xs, ts = np.arange(-2.5, 3.5, 0.05), np.arange(1.2 + 0.005, 6, 0.01)  # midpoints in time
    lattice = np.stack(np.meshgrid(xs, ts, indexing="ij"), axis=-1).reshape(-1, 2)
    rows, kernel = np.column_stack([X, at]), SpaceTime(Scaled(space, 1.7), time)
    mean, var = dense_posterior(kernel, 0.05, rows, y, lattice)

    def distance(mean_, var_):
        return np.sqrt(np.sum((mean - mean_) ** 2 + np.abs(var - var_)))

    without = [dense_posterior(kernel, 0.05, np.delete(rows, i, 0), np.delete(y, i), lattice) for i in range(4)]
    expected = [distance(*w) / distance(0.0, 1.7) for w in without]
    C = overlaps(space, time, X, at, 1.2)
    np.testing.assert_allclose(relevance(kernel(rows, rows), 0.05, y, C, 1.7), expected, rtol=1e-3)


@pytest.mark.parametrize("space", SPACES)
def test_space_by_quadrature_on_a_line(space):
    A = over_space(space, np.array([[0.1], [0.1], [0.55]]))
    for i, j in [(0, 0), (0, 1), (0, 2)]:
        p = np.array([[0.1], [0.1], [0.55]])

        def product(x, a=p[[i]], b=p[[j]]):
            return float(space(np.array([[x]]), a)[0, 0] * space(np.array([[x]]), b)[0, 0])

        expected = integrate.quad(product, -12, 12, points=[0.1, 0.55], limit=400, epsabs=1e-12)[0]
        assert A[i, j] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("space", [RBF((0.2, 0.5)), Matern(2.5, (0.2, 0.5)), Matern(1.5, 0.3)])
def test_space_in_the_plane(space):
    """A fine lattice integrates these smooth, fast-decaying products to many digits."""
    X = np.array([[0.0, 0.0], [0.2, -0.1]])
    step = 0.02
    axis = np.arange(-6, 6, step)
    lattice = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    k = space(lattice, X)
    np.testing.assert_allclose(over_space(space, X), step**2 * k.T @ k, rtol=2e-5)


@pytest.mark.parametrize("time", TIMES)
def test_time_by_quadrature(time):
    ages = np.array([0.0, 0.3, 1.1])
    B = over_time(time, ages)
    for i in range(3):
        for j in range(3):

            def product(s, u=ages[i], v=ages[j]):
                now = np.array([s])
                return float(time(now, np.array([-u]))[0, 0] * time(now, np.array([-v]))[0, 0])

            assert B[i, j] == pytest.approx(integrate.quad(product, 0, 40, limit=200)[0], rel=1e-8)


def test_matern_three_halves_in_time_in_closed_form():
    """e^{−a(u+v)}(5 + 3a(u+v) + 2a²uv)/(4a)."""
    a, (u, v) = np.sqrt(3) / 0.7, (0.3, 1.1)
    expected = np.exp(-a * (u + v)) * (5 + 3 * a * (u + v) + 2 * a * a * u * v) / (4 * a)
    assert over_time(MaternInTime(1.5, 0.7), np.array([u, v]))[0, 1] == pytest.approx(expected, rel=1e-12)


def test_far_apart_the_squares_sum_to_one():
    """R_i² = w_i/Σw with w_i = (y_i² + λ + σ²)C_ii."""
    X, at, y = np.arange(6.0)[:, None] * 100, np.linspace(0, 1, 6), np.linspace(-1, 2, 6)
    space, time = Matern(2.5, 0.3), MaternInTime(1.5, 0.7)
    C, K = overlaps(space, time, X, at, 1.0), 1.3 * space(X, X) * time(at, at)
    R = relevance(K, 0.2, y, C, 1.3)
    w = (y**2 + 1.5) * np.diagonal(C)
    np.testing.assert_allclose(R**2, w / w.sum(), rtol=1e-9)
    assert np.sum(R**2) == pytest.approx(1)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_equals_the_authors_criterion(nu):
    """wdbo-criterion, where it is installed. It cuts overlaps of space off at 1, so lengthscales are short here."""
    peer = pytest.importorskip("wdbo_criterion")
    X, at, y = case(n=15)
    space, time = Matern(nu, 0.3), MaternInTime(1.5, 0.4)
    assert over_space(space, X).max() < 1
    C, K = overlaps(space, time, X, at, 1.1), 1.3 * space(X, X) * time(at, at)
    kernels = peer.MaternKernel(0.3, nu), peer.MaternKernel(0.4, 1.5)
    theirs = peer.wasserstein_criterion(X, y, at, 15, 2, 1.3, 0.05, *kernels, 1.1, 0, 1)
    np.testing.assert_allclose(relevance(K, 0.05, y, C, 1.3), theirs, rtol=1e-6)


def test_refuses_what_it_cannot_integrate():
    with pytest.raises(InvalidInput, match="RBF or Matern"):
        over_space(Linear(), np.zeros((1, 1)))
    for time in (Wiener(0.1), Forgetting(0.0)):
        with pytest.raises(InvalidInput, match="MaternInTime"):
            over_time(time, np.zeros(1))
