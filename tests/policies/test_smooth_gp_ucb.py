"""Matérn in time against the dense space-time Gaussian process."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Matern
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import MaternInTime, SpaceTime
from driftwise.policies import policy
from driftwise.records import Ask, Observation
from oracles import dense_posterior


def dense(kernel, log, X, now):
    rows, y = np.array([(*o.x, o.at) for o in log]), np.array([o.y for o in log])
    return dense_posterior(kernel, 0.01, rows, y, np.column_stack([X, np.full(len(X), now)]))


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_chooses_by_the_dense_gp_at_irregular_times(nu):
    rng = np.random.default_rng(0)
    points = rng.random((25, 2))
    made = policy("smooth-gp-ucb", Candidates(points), nu=nu, scale=15, kernel=Matern(2.5, 0.4))
    kernel = SpaceTime(Matern(2.5, 0.4), MaternInTime(nu, 15))
    state, log, now = made.start(), [], 0.0
    for t in range(1, 200):
        now += float(rng.exponential())
        x = made.choose(state, Ask(t, now))
        if log:
            mean, var = dense(kernel, log, points, now)
            given, std = made.belief(state, Ask(t, now)).predict(made.space.points)
            np.testing.assert_allclose(given, mean, rtol=0, atol=1e-8)
            np.testing.assert_allclose(std**2, var, rtol=0, atol=1e-8)
            np.testing.assert_array_equal(x, points[np.argmax(mean + 2 * np.sqrt(var))])
        log.append(
            Observation(t, now, tuple(x.tolist()), float(np.sin(now / 9 + 3 * x[0]) + 0.1 * rng.standard_normal()))
        )
        state = made.update(state, log[-1])


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_on_a_box_it_is_the_dense_gp_of_its_window(nu):
    rng = np.random.default_rng(1)
    made = policy("smooth-gp-ucb", {"a": Float(0, 1)}, nu=nu, scale=15, kernel=RBF(0.3), window=20)
    assert made.memory == 20
    log = [Observation(t, 1.7 * t, (float(rng.random()),), float(rng.standard_normal())) for t in range(1, 50)]
    state = made.start()
    for seen in log:
        state = made.update(state, seen)
    X = np.linspace(0, 1, 9)[:, None]
    mean, var = dense(SpaceTime(RBF(0.3), MaternInTime(nu, 15)), log[-20:], X, 90.0)
    given, std = made.belief(state, Ask(50, 90.0)).predict(X)
    np.testing.assert_allclose(given, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, var, rtol=0, atol=1e-8)


def test_bad_input_is_refused():
    for options in ({"nu": 0.5}, {"scale": 0}, {"window": 0}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            policy("smooth-gp-ucb", Candidates([[0.0]]), **options)
