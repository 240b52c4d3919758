"""The published worlds are what their papers say, as far as they say it."""

import numpy as np
import pytest

from driftwise.environments.catalogue import cheung, deng_abrupt, deng_slow, hong, iwazaki, mandl
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.rng import Stream, generator


def changes(world, horizon):
    X = world.space.points
    F = [world.value(t, X) for t in range(1, horizon + 1)]
    return [t for t in range(1, horizon) if (F[t] != F[t - 1]).any()]


def test_iwazaki():
    for nu, kernel in ((None, RBF(0.5)), (2.5, Matern(2.5, 0.5))):
        w = iwazaki(seed=4, nu=nu)
        assert (w.space.points.shape, w.horizon, w.kernel) == ((900, 2), 5000, kernel)
        assert w.drift.times == (1000, 2000)
        pieces = [w._playback.coefficients(t) for t in (1000, 1001, 2001)]
        assert [np.count_nonzero(c) for c in pieces] == [10, 10, 10]
        assert np.abs(pieces).max() <= 1
        centres = np.flatnonzero(pieces[0])
        f = kernel(w.space.points, w.space.points[centres]) @ pieces[0][centres]
        assert w.value(7, w.space.points) == pytest.approx(f)
        K = kernel(w.space.points[centres], w.space.points[centres])
        assert w.norm(7) == pytest.approx(np.sqrt(pieces[0][centres] @ K @ pieces[0][centres]))
    assert changes(iwazaki(horizon=50), 50) == [10, 20]


@pytest.mark.slow
def test_hong():
    w = hong(seed=2)
    X = w.space.points
    assert (X.shape, w.horizon, w.kernel, w.noise.R) == ((100, 10), 10_000, RBF(0.2), 0.1)
    assert np.linalg.norm(X, axis=1) == pytest.approx(np.ones(100))
    assert np.abs(w.value(1, X)).max() == pytest.approx(0.8)
    assert np.abs(w.value(9_999, X)).max() == pytest.approx(0.8)
    assert w.drift.times == (3000,)
    assert hong(changes=2).drift.times == (1500, 5000)
    assert changes(hong(changes=2, horizon=100), 100) == [15, 50]
    F, K = w.value(1, X), w.kernel(X, X)
    assert w.norm(1) == pytest.approx(np.sqrt(F @ np.linalg.solve(K, F)))
    assert (hong(seed=3).space.points == X).all()
    assert (hong(seed=3).value(1, X) != F).any()


def test_mandl():
    w = mandl(seed=1, epsilon=0.1)
    assert (w.space.points.shape, w.horizon, w.kernel) == ((400, 2), 10_000, RBF(0.1))
    assert (w.drift.epsilon, w.noise.variance) == (0.1, pytest.approx(0.01))
    F = np.array([w.value(t, w.space.points) for t in range(1, 400)])
    assert F.var() == pytest.approx(1, abs=0.15)
    steps = F[1:] - np.sqrt(0.9) * F[:-1]
    assert steps.var() == pytest.approx(0.1, rel=0.1)


def test_cheung():
    w = cheung(budget=2.0, horizon=1000)
    assert (w.space.points.tolist(), w.kernel, w.noise.R) == ([[1.0, 0.0], [0.0, 1.0]], Linear(), 0.1)
    t = np.arange(1, 1001)
    theta = 0.5 + 0.3 * np.sin(np.array([[0.0], [np.pi]]) + 10 * np.pi * t / 1000)
    for s in (1, 50, 999):
        assert w.value(s, w.space.points) == pytest.approx(theta[:, s - 1])
        assert w.best(s) == pytest.approx(theta[:, s - 1].max())
    assert w.variation(1000) == pytest.approx(np.linalg.norm(np.diff(theta), axis=0).sum())
    eta = 0.1 * generator(0, 5, Stream.NOISE).standard_normal()
    assert w.observe(5, np.array([1.0, 0.0])) == pytest.approx(theta[0, 4] + eta)


def test_deng_at_another_size_changes_at_the_same_parts_of_it():
    assert changes(deng_abrupt(horizon=50), 50) == [10, 20]
    assert deng_slow(horizon=50).drift.knots == (1, 25, 50)
    assert deng_slow().drift.knots == (1, 250, 500)
