"""The windowed space-time posterior: dense algebra at (x, now), and a function of its window alone."""

import math

import numpy as np
import pytest

from driftwise import Candidates, Float, limits
from driftwise.gp.belief import Model
from driftwise.gp.kernels import RBF
from driftwise.gp.posterior import Posterior
from driftwise.gp.time_kernels import Forgetting, MaternInTime, SpaceTime
from driftwise.policies.beliefs.grid_filter import GridFilter
from driftwise.policies.beliefs.space_time import SpaceTimePosterior, TimedModel
from driftwise.policies.ui_gp_ucb import Wiener
from driftwise.records import Observation
from driftwise.spaces import as_space
from oracles import dense_posterior, finite_difference

TIMES = [Forgetting(0.05), Wiener(0.03), MaternInTime(1.5, 20.0), MaternInTime(2.5, 20.0)]


def a_log(n: int, seed: int = 0) -> list[Observation]:
    rng = np.random.default_rng(seed)
    at = 50 + np.cumsum(rng.exponential(1.0, n))
    return [Observation(j + 1, float(at[j]), tuple(rng.random(2)), float(rng.standard_normal())) for j in range(n)]


def fold(belief: SpaceTimePosterior, log: list[Observation], keep: int | None = None) -> SpaceTimePosterior:
    for seen in log:
        belief = belief.observe(seen, keep=keep)
    return belief


def prior(time, standardise: bool = False) -> SpaceTimePosterior:
    return SpaceTimePosterior(Posterior(SpaceTime(RBF(0.3), time), 0.01, standardise))


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_equals_the_dense_space_time_gp(time):
    log = a_log(40)
    origin = 0.0 if time.stationary else log[0].at
    kept = log[-25:]
    X = np.random.default_rng(1).random((6, 2))
    now = log[-1].at + 3
    rows, at = np.array([(*o.x, o.at - origin) for o in kept]), np.column_stack([X, np.full(6, now - origin)])
    mean, var = dense_posterior(SpaceTime(RBF(0.3), time), 0.01, rows, np.array([o.y for o in kept]), at)
    belief = fold(prior(time), log, keep=25).at(now)
    np.testing.assert_allclose(belief.predict(X)[0], mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.predict(X)[1] ** 2, var, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.weights(X) @ [o.y for o in kept], mean, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(belief.observed, [o.x for o in kept])


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_gradients(time):
    belief = fold(prior(time), a_log(20)).at(75.0)
    X = np.random.default_rng(2).random((3, 2))
    mean, std, dmean, dstd = belief.predict_gradient(X)
    np.testing.assert_array_equal((mean, std), belief.predict(X))
    for i, x in enumerate(X):
        np.testing.assert_allclose(dmean[i], finite_difference(lambda z: belief.predict(z[None])[0][0], x), atol=1e-6)
        np.testing.assert_allclose(dstd[i], finite_difference(lambda z: belief.predict(z[None])[1][0], x), atol=1e-6)


@pytest.mark.parametrize("time", [t for t in TIMES if t.stationary], ids=str)
@pytest.mark.parametrize("standardise", [False, True])
def test_a_window_is_a_function_of_its_contents_to_the_bit(time, standardise):
    log = a_log(60)
    X = np.random.default_rng(3).random((5, 2))
    long, short = fold(prior(time, standardise), log, keep=20), fold(prior(time, standardise), log[-20:], keep=20)
    np.testing.assert_array_equal(long.at(130.0).predict(X), short.at(130.0).predict(X))
    assert long.units == short.units
    assert long.information_gain == short.information_gain


def test_imagining_keeps_the_mean_and_shrinks_the_variance_now():
    log = a_log(20)
    belief = fold(prior(Forgetting(0.05)), log).at(90.0)
    imagined = belief.imagine([(0.2, 0.3)])
    X = np.random.default_rng(4).random((5, 2))
    np.testing.assert_allclose(imagined.predict(X)[0], belief.predict(X)[0], atol=1e-12)
    told = belief.observe(Observation(21, 90.0, (0.2, 0.3), 1.0)).at(90.0)
    np.testing.assert_allclose(imagined.predict(X)[1], told.predict(X)[1], atol=1e-12)


def test_before_anything_is_seen_it_is_the_prior():
    X = np.random.default_rng(5).random((5, 2))
    for time in TIMES:
        mean, std = prior(time).at(1e9).predict(X)
        assert not mean.any()
        np.testing.assert_array_equal(std, 1.0)


def test_selected_observations_are_all_that_counts():
    log = a_log(12)
    belief = fold(prior(Forgetting(0.05)), log).select(np.array([2, 7, 11])).at(80.0)
    X = np.random.default_rng(6).random((5, 2))
    few = fold(prior(Forgetting(0.05)), [log[2], log[7], log[11]], keep=3).at(80.0)
    np.testing.assert_array_equal(belief.predict(X), few.predict(X))


def test_filters_on_candidates_and_windows_elsewhere():
    points = np.linspace(0, 1, 5)[:, None]
    drift = Forgetting(0.1)
    assert isinstance(TimedModel(Model(Candidates(points)), drift).prior(), GridFilter)
    assert isinstance(TimedModel(Model(as_space({"a": Float(0, 1)})), drift).prior(), SpaceTimePosterior)
    many = Model(Candidates(np.linspace(0, 1, math.isqrt(limits.LARGEST) // 2 + 1)[:, None]))
    assert TimedModel(many, drift).exact
    assert not TimedModel(many, drift, beliefs=5).exact
    assert not TimedModel(many, MaternInTime(1.5, 20.0)).exact
