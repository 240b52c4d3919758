"""Test functions: published optima, gradients against differences, and the optimum over time against brute force."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from driftwise.environments.functions import FUNCTIONS
from driftwise.environments.swept import LENGTHSCALES, Swept, lengthscale, moments, swept
from driftwise.errors import InvalidInput, NotFoundError

# the published sizes, and minima as tables of test functions give them
PUBLISHED = {
    "rastrigin": (5, -4, 4, 0.0),
    "schwefel": (4, -500, 500, 0.0),
    "styblinski-tang": (4, -5, 5, -39.16617 * 4),
    "eggholder": (2, -512, 512, -959.6407),
    "ackley": (4, -32, 32, 0.0),
    "rosenbrock": (3, -1, 1.5, 0.0),
    "shekel": (4, 0, 10, -10.5364),
    "hartmann3": (3, 0, 1, -3.86278),
    "hartmann6": (6, 0, 1, -3.32237),
    "griewank": (6, -600, 600, 0.0),
    "powell": (4, -4, 5, 0.0),
}
MOVING = [name for name, F in FUNCTIONS.items() if not F.separable]
BY_BRUTE_FORCE = [pytest.param(name, marks=[pytest.mark.slow] * (name in ("eggholder", "griewank"))) for name in MOVING]


def test_they_are_the_eleven_published():
    assert {name: (F.dim, F.low, F.high) for name, F in FUNCTIONS.items()} == {n: p[:3] for n, p in PUBLISHED.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_known_optima(name):
    F = FUNCTIONS[name]
    top = F(np.array([F.argmax]))[0]
    assert top == pytest.approx(-PUBLISHED[name][3], abs=1e-4)
    assert top == pytest.approx(F.maximum, abs=1e-6)
    X = np.random.default_rng(0).uniform(F.low, F.high, (20_000, F.dim))
    around = np.clip(
        F.argmax + np.random.default_rng(1).normal(0, 1e-3 * (F.high - F.low), (5_000, F.dim)), F.low, F.high
    )
    assert max(F(X).max(), F(around).max()) <= top + 1e-5  # shekel's and hartmann's argmax have six digits


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_differences(name):
    F = FUNCTIONS[name]
    X = np.random.default_rng(0).uniform(F.low, F.high, (100, F.dim))
    h = 1e-6 * (F.high - F.low)
    slopes = np.stack([(F(X + h * e) - F(X - h * e)) / (2 * h) for e in np.eye(F.dim)], axis=1)
    assert F.gradient(X) == pytest.approx(slopes, rel=1e-5, abs=1e-5 * np.abs(slopes).max())


@pytest.mark.parametrize("name", [name for name, F in FUNCTIONS.items() if F.separable])
def test_what_is_called_separable_is_best_at_its_argmax_whatever_the_time(name):
    """And where they say so, the optimum over time is that one, to 1e-6."""
    w = swept(name)
    X = np.random.default_rng(0).random((4_000, w.space.dim))
    near = np.clip(w.best_x(1) + np.random.default_rng(1).normal(0, 1e-3, (4_000, w.space.dim)), 0, 1)
    for t in (1, 37, 100, 200):
        assert max(w.value(t, X).max(), w.value(t, near).max()) <= w.best(t) + 1e-9
        assert w.value(t, w.best_x(t)[None])[0] == w.best(t)


@pytest.mark.parametrize("name", BY_BRUTE_FORCE)
def test_the_optimum_over_time_is_known_to_1e_6(name):
    """Against a dense scan and SciPy's L-BFGS-B from its best points and from the function's own anchors."""
    w = swept(name)
    X = np.random.default_rng(0).random((10_000 if w.space.dim > 1 else 200_001, w.space.dim))
    anchors = w.path.anchors if w.path.anchors is not None else np.zeros((0, w.space.dim))
    for t in (1, 40, 90):
        starts = np.vstack([X[np.argsort(-w.value(t, X))[:12]], anchors])
        climbs = [
            minimize(
                lambda x, t=t: tuple(-v[0] for v in w.path.gradient(x[None], np.array([float(t)]))),
                x,
                jac=True,
                bounds=[(0, 1)] * w.space.dim,
                options={"ftol": 1e-15, "gtol": 1e-12},
            )
            for x in starts
        ]
        brute = max(-min(climb.fun for climb in climbs), w.value(t, X).max())
        assert brute - 1e-6 <= w.best(t) <= brute + 1e-6
        assert w.value(t, w.best_x(t)[None])[0] == pytest.approx(w.best(t), abs=1e-9)


def test_time_sweeps_the_last_coordinate_once_and_the_signal_has_variance_one():
    w = swept("eggholder", horizon=101)
    F, x = FUNCTIONS["eggholder"], np.array([[0.25]])
    mean, std = moments("eggholder")
    for t, tau in ((1, -512.0), (51, 0.0), (101, 512.0)):
        assert w.value(t, x)[0] == pytest.approx((F(np.array([[-256.0, tau]]))[0] - mean) / std)
    U = np.random.default_rng(0).random((200_000, 2)) * 1024 - 512
    assert (F(U).mean() - mean) / std == pytest.approx(0, abs=0.01)
    assert F(U).std() / std == pytest.approx(1, abs=0.01)
    assert w.noise.variance == pytest.approx(0.05)
    assert math.isnan(w.variation(50))


def test_policies_are_told_the_most_likely_lengthscale():
    """By SciPy's density of the same values."""
    from scipy.stats import multivariate_normal

    from driftwise.gp.kernels import Matern
    from driftwise.spaces.sobol import sobol

    path, X = Swept("rosenbrock", over=3), sobol(2, 2**8)
    K = {s: Matern(2.5, s)(X, X) + 0.05 * np.eye(len(X)) for s in LENGTHSCALES}
    Y = [path.value(X, np.full(len(X), t)) for t in (1.0, 2.0, 3.0)]
    density = {s: sum(multivariate_normal(cov=K[s]).logpdf(y) for y in Y) for s in LENGTHSCALES}
    assert lengthscale("rosenbrock") == max(density, key=density.get)


def test_bad_names_and_times_are_refused():
    with pytest.raises(NotFoundError, match="rastrigin"):
        swept("branin")
    with pytest.raises(InvalidInput, match="count from 1"):
        swept("ackley").best(0)
