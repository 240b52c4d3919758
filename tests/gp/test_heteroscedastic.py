"""Noises of the observations' own: every belief against dense algebra with A = K + diag(λ_i), and the limits."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from driftwise import Linear, Matern
from driftwise.gp.grid import Grid, GridPosterior
from driftwise.gp.noise import location_scale
from driftwise.gp.posterior import Posterior
from driftwise.gp.time_kernels import Forgetting, SpaceTime
from driftwise.policies.beliefs.faded import WeightedPosterior
from driftwise.policies.beliefs.grid_filter import GridFilter
from driftwise.policies.beliefs.repeated import pooled
from driftwise.policies.beliefs.ridge import HEAVIEST, Ridge, weight_of
from driftwise.policies.beliefs.space_time import SpaceTimePosterior
from driftwise.records import Observation

NOISE, N = 0.05, 24
KERNEL = Matern(2.5, 0.3)
POINTS = np.random.default_rng(0).random((30, 2))


def log(*, std=True, repeats=True, seed=1, n=N, points=POINTS) -> list[Observation]:
    """Of three kinds in turn: plain, with a known standard deviation, and the mean of several readings."""
    rng = np.random.default_rng(seed)
    made = []
    for t in range(n):
        seen = Observation(
            t + 1, float(t + 1), tuple(points[rng.integers(len(points))].tolist()), rng.standard_normal()
        )
        if std and t % 3 == 1:
            seen = dataclasses.replace(seen, std=float(10 ** rng.uniform(-2, 1)))
        if repeats and t % 3 == 2:
            seen = dataclasses.replace(seen, repeats=int(rng.integers(2, 9)))
        made.append(seen)
    return made


def fold(belief, seens, **kept):
    for seen in seens:
        belief = belief.observe(seen, **kept)
    return belief


def variances(seens, noise=NOISE, scale=1.0):
    return np.array([(s.std / scale) ** 2 if s.std is not None else noise / s.repeats for s in seens])


def dense(K, k, kxx, noises, y):
    """Mean, variance and information gain; k is (n, m)."""
    A = K + np.diag(noises)
    gain = 0.5 * np.linalg.slogdet(A)[1] - 0.5 * np.log(noises).sum()
    return k.T @ np.linalg.solve(A, y), kxx - np.einsum("nm,nm->m", k, np.linalg.solve(A, k)), gain


def dense_of(seens, noises, y=None, kernel=KERNEL):
    X = np.array([s.x for s in seens])
    y = np.array([s.y for s in seens]) if y is None else y
    return dense(kernel(X, X), kernel(X, POINTS), kernel.diagonal(POINTS), noises, y)


def assert_is(belief, expected, atol=1e-8):
    mean, var, gain = expected
    m, s = belief.predict(POINTS)
    np.testing.assert_allclose(m, mean, atol=atol)
    np.testing.assert_allclose(s**2, var, atol=atol)
    assert belief.information_gain == pytest.approx(gain, abs=1e-6)


def priors(*, standardise=False, noise=NOISE):
    return [
        Posterior(KERNEL, noise, standardise),
        GridPosterior.prior(Grid(POINTS, KERNEL, noise, standardise)),
        GridPosterior.prior(Grid(POINTS, KERNEL, noise, standardise)).weighing(),
    ]


each = pytest.mark.parametrize("which", [0, 1, 2], ids=["posterior", "grid", "grid with weights"])


@each
@pytest.mark.parametrize("keep", [None, 9])
def test_mean_variance_and_gain_equal_dense_algebra(which, keep):
    seens = log()
    belief = fold(priors()[which], seens, keep=keep)
    kept = seens if keep is None else seens[-keep:]
    assert_is(belief, dense_of(kept, variances(kept)))
    weights = belief.weights(POINTS)
    np.testing.assert_allclose(weights @ [s.y for s in kept], belief.predict(POINTS)[0], atol=1e-8)


@each
def test_with_standardised_rewards_the_known_noise_is_in_their_units(which):
    seens = [dataclasses.replace(s, y=50 + 20 * s.y, std=None if s.std is None else 20 * s.std) for s in log()]
    belief = fold(priors(standardise=True)[which], seens)
    location, scale = belief.units
    y = (np.array([s.y for s in seens]) - location) / scale
    assert_is(belief, dense_of(seens, variances(seens, scale=scale), y))
    imagined = belief.imagine([tuple(POINTS[3].tolist())])
    later = [*seens, Observation(99, 99.0, tuple(POINTS[3].tolist()), 0.0)]
    expected = dense_of(later, variances(later, scale=scale), np.append(y, belief.predict(POINTS)[0][3]))
    assert_is(imagined, expected)
    np.testing.assert_allclose(imagined.predict(POINTS)[0], belief.predict(POINTS)[0], atol=1e-8)


@each
def test_a_mean_of_readings_is_worth_those_readings(which):
    seens = log(std=False)
    single = [dataclasses.replace(s, number=10 * s.number + i, repeats=1) for s in seens for i in range(s.repeats)]
    one, other = fold(priors()[which], seens), fold(priors()[which], single)
    for ours, theirs in zip(one.predict(POINTS), other.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@each
def test_it_equals_scikit_learn(which):
    seens = log()
    X = np.array([s.x for s in seens])
    peer = GaussianProcessRegressor(sk.Matern(0.3, nu=2.5), alpha=variances(seens), optimizer=None)
    mean, std = peer.fit(X, [s.y for s in seens]).predict(POINTS, return_std=True)
    m, s = fold(priors()[which], seens).predict(POINTS)
    np.testing.assert_allclose(m, mean, atol=1e-8)
    np.testing.assert_allclose(s, std, atol=1e-7)


@each
@pytest.mark.parametrize("standardise", [False, True])
def test_an_observation_of_infinite_noise_is_as_none(which, standardise):
    seens = log(std=False)
    wild = Observation(99, 99.0, tuple(POINTS[4].tolist()), 3e8, std=1e9)
    belief = fold(priors(standardise=standardise)[which], seens)
    one = fold(priors(standardise=standardise)[which], [wild, *seens, wild]).predict(POINTS)
    for ours, theirs in zip(one, belief.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@each
def test_an_observation_without_noise_is_met_exactly(which):
    seen = Observation(99, 99.0, tuple(POINTS[4].tolist()), 2.5, std=1e-9)
    mean, std = fold(priors()[which], [*log(), seen]).predict(POINTS)
    assert mean[4] == pytest.approx(2.5, abs=1e-6)
    assert std[4] < 1e-4


@each
@pytest.mark.parametrize("standardise", [False, True])
def test_no_noise_of_its_own_leaves_the_bits_as_they_are(which, standardise):
    """After the last such observation has left the window, the posterior is that of its contents."""
    seens = log()
    plain = log(std=False, repeats=False, seed=5, n=9)
    start = priors(standardise=standardise)[which]
    belief, other = fold(start, [*seens, *plain], keep=9), fold(start, plain, keep=9)
    assert belief.own is None
    fresh = fold(start, [*log(std=False, repeats=False), *plain], keep=9)
    for ours, theirs in zip(belief.predict(POINTS), other.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    np.testing.assert_allclose(fresh.predict(POINTS)[0], belief.predict(POINTS)[0], atol=1e-9)


@pytest.mark.parametrize("space_time", [False, True], ids=["filter", "window"])
def test_space_and_time_equal_dense_algebra(space_time):
    seens, time = log(), Forgetting(0.05)
    if space_time:
        belief = fold(SpaceTimePosterior(Posterior(SpaceTime(KERNEL, time), NOISE)), seens)
    else:
        belief = fold(GridFilter.prior(Grid(POINTS, KERNEL, NOISE), time), seens)
    X, at = np.array([s.x for s in seens]), np.array([s.at for s in seens])
    K, k = KERNEL(X, X) * time(at, at), KERNEL(X, POINTS) * time(at, np.array([40.0]))
    expected = dense(K, k, np.ones(len(POINTS)), variances(seens), np.array([s.y for s in seens]))
    assert_is(belief.at(40.0), expected, atol=1e-7)


def test_a_filter_of_standardised_rewards_hardly_sees_what_is_all_noise():
    seens = log(std=False, n=60)
    wild = Observation(61, 61.0, tuple(POINTS[4].tolist()), 3e8, std=1e9)
    start = GridFilter.prior(Grid(POINTS, KERNEL, NOISE, True), Forgetting(0.05))
    one, other = fold(start, [*seens, wild]), fold(start, seens).at(61.0)
    for ours, theirs in zip(one.predict(POINTS), other.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("double", [False, True])
def test_faded_observations_have_their_own_noise_over_their_weight(double):
    seens = log()
    u = 0.9 ** np.arange(N)[::-1]
    noises = variances(seens)
    belief = WeightedPosterior.of(fold(Posterior(KERNEL, NOISE), seens), u, double=double)
    mean, var, _ = dense_of(seens, noises / u)
    a = belief.weights(POINTS)
    if double:
        var = var - (a**2) @ (noises * (1 / u - 1))
    gain = dense_of(seens, noises / u**2)[2]
    assert_is(belief, (mean, np.maximum(var, 0), gain), atol=1e-7)
    x = np.array([[0.3, 0.6]])
    _, _, dmean, dstd = belief.predict_gradient(x)
    for j in range(2):
        h = np.zeros((1, 2))
        h[0, j] = 1e-6
        up, down = belief.predict(x + h), belief.predict(x - h)
        np.testing.assert_allclose(dmean[0, j], (up[0] - down[0])[0] / 2e-6, atol=1e-4)
        np.testing.assert_allclose(dstd[0, j], (up[1] - down[1])[0] / 2e-6, atol=1e-4)


def test_pooled_rewards_of_known_noise_equal_the_posterior_of_them_all():
    seens = log(n=80)
    counts, sums, known = np.zeros(30), np.zeros(30), np.zeros((2, 30))
    rows = {tuple(x): i for i, x in enumerate(POINTS.tolist())}
    for s in seens:
        i = rows[s.x]
        if s.std is None:
            counts[i] += s.repeats
            sums[i] += s.repeats * s.y
        else:
            known[:, i] += np.array([1, s.y]) / s.std**2
    belief = pooled(KERNEL, NOISE, POINTS, counts, sums, known=known)
    for ours, theirs in zip(belief.predict(POINTS), fold(Posterior(KERNEL, NOISE), seens).predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_ridge_regression_with_weights_is_the_posterior_with_a_linear_kernel():
    seens = [dataclasses.replace(s, std=None if s.std is None else max(s.std, 0.1)) for s in log()]
    ridge = Ridge.prior(2, NOISE)
    for s in seens:
        ridge = ridge.plus(np.array(s.x), s.y, weight_of(s, NOISE))
    X, u = np.array([s.x for s in seens]), np.array([weight_of(s, NOISE) for s in seens])
    fresh = Ridge.from_contents(X, np.array([s.y for s in seens]), NOISE, u)
    posterior = fold(Posterior(Linear(), NOISE), seens)
    for belief in (ridge, fresh):
        for ours, theirs in zip(belief.predict(POINTS), posterior.predict(POINTS), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-7)
    assert weight_of(Observation(1, 1.0, (0.0,), 0.0, std=1e-9), NOISE) == HEAVIEST


@pytest.mark.parametrize("standardise", [False, True])
@each
def test_any_noise_leaves_the_belief_finite_and_below_the_prior(which, standardise):
    """Points repeated time and again, with standard deviations from 1e-9 to 1e9, and rewards that contradict them."""
    rng = np.random.default_rng(3)
    belief = priors(standardise=standardise)[which]
    for t in range(1, 61):
        std = None if t % 5 == 0 else float(10 ** rng.uniform(-9, 9))
        x = tuple(POINTS[rng.integers(4)].tolist())
        belief = belief.observe(Observation(t, float(t), x, float(rng.standard_normal()), std=std), keep=25)
        mean, deviation = belief.imagine([x]).predict(POINTS)
        assert np.isfinite(mean).all()
        assert np.abs(mean).max() < 1e3
        assert (deviation >= 0).all()
        assert (deviation <= 1).all()
        assert math.isfinite(belief.information_gain)
        assert belief.jitter <= 1e-9


# --- the scale of rewards --------------------------------------------------------------------------------------------


def pairs(*stds):
    return np.array([(0.0, 1.0) if s is None else (s**2, 0.0) for s in stds])


def test_rewards_of_equal_noise_are_standardised_as_plain_ones():
    y = np.random.default_rng(0).standard_normal(40) * 3 + 7
    np.testing.assert_allclose(location_scale(y, pairs(*[0.5] * 40)), location_scale(y), rtol=1e-9)
    np.testing.assert_allclose(location_scale(y, pairs(*[50.0] * 40)), location_scale(y), rtol=1e-9)


def test_the_scale_of_rewards_is_not_that_of_their_noise():
    """Half of the rewards have ten times the spread, which is noise and known to be."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal(400) + np.where(np.arange(400) % 2, 10, 0) * rng.standard_normal(400) + 3
    location, scale = location_scale(y, pairs(*[None, 10.0] * 200))
    assert location == pytest.approx(3.0, abs=0.2)
    assert 0.9 < scale < 1.6
    assert location_scale(y)[1] > 5
