"""What single policies make of the noise of an observation, beyond the belief that it rests on."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from driftwise import Candidates, Linear, Matern
from driftwise.gp.time_kernels import MaternInTime
from driftwise.policies import policy, replay
from driftwise.policies.base import weighs_noise
from driftwise.policies.pe_gp_ucb import PriorErrors
from driftwise.policies.ranges import Range
from driftwise.policies.w_dbo_fit import Hyper, MarginalLikelihood
from driftwise.policies.w_dbo_relevance import relevance
from driftwise.records import Ask, Observation

POINTS = np.random.default_rng(0).random((12, 2)) + 0.2
SPACE = Candidates(POINTS)


def log(n, *, seed=0, level=0.0, size=1.0):
    rng = np.random.default_rng(seed)
    made = []
    for t in range(1, n + 1):
        x = POINTS[rng.integers(12)]
        y = level + size * float(x @ [1.0, -0.5] + 0.1 * rng.standard_normal())
        std, repeats = (size * float(10 ** rng.uniform(-1.5, 1)), 1) if t % 3 == 0 else (None, 1 + t % 4)
        made.append(Observation(t, float(t), tuple(x.tolist()), y, std=std, repeats=repeats))
    return made


def predicted(made, seens):
    state = replay(made, seens)
    return made.belief(state, Ask(len(seens) + 1, len(seens) + 1.0)).predict(POINTS)


def assert_same(one, other, atol=1e-6):
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=atol)


@pytest.mark.parametrize("standardise", [False, True])
def test_the_sliding_linear_bandit_is_sw_gp_ucb_with_a_linear_kernel(standardise):
    seens = log(30, level=3.0, size=5.0)
    told = {"noise": 0.1, "window": 10, "standardise": standardise}
    assert_same(
        predicted(policy("sw-linucb", SPACE, **told), seens),
        predicted(policy("sw-gp-ucb", SPACE, kernel=Linear(), **told), seens),
    )


def test_the_restarted_linear_bandit_is_r_gp_ucb_with_a_linear_kernel():
    seens, told = log(30), {"noise": 0.1, "interval": 12}
    assert_same(
        predicted(policy("restart-linucb", SPACE, **told), seens),
        predicted(policy("r-gp-ucb", SPACE, kernel=Linear(), **told), seens),
    )


@pytest.mark.parametrize("norm", ["single", "double"])
def test_the_discounted_linear_bandit_is_wgp_ucb_with_a_linear_kernel(norm):
    seens = log(30)
    assert_same(
        predicted(policy("d-linucb", SPACE, discount=0.8, noise=0.1, norm=norm), seens),
        predicted(policy("wgp-ucb", SPACE, eta=0.8, noise=0.1, norm=norm, kernel=Linear()), seens),
        atol=1e-4,  # wgp-ucb drops what has faded
    )


@pytest.mark.parametrize("name", ["et-gp-ucb", "master-gp-ucb", "bob-gp-ucb"])
def test_a_range_scales_the_noise_with_the_rewards(name):
    """Ten times the rewards, with ten times their range and their noise, give the same belief."""
    options = {"bob-gp-ucb": {"horizon": 60, "block": 40}}.get(name, {})
    small, large = policy(name, SPACE, **options), policy(name, SPACE, low=-10, high=10, **options)
    assert_same(predicted(small, log(20)), predicted(large, log(20, size=10.0)), atol=1e-9)


def test_a_reward_outside_the_range_keeps_its_noise_relative_to_it():
    seen = Range(0, 10).scaled(Observation(1, 1.0, (0.0,), 7.5, std=2.0, repeats=3))
    assert (seen.y, seen.std, seen.repeats) == (0.5, 0.4, 3)


def test_a_surprise_of_known_large_noise_is_no_alarm():
    made = policy("et-gp-ucb", SPACE, noise=0.01)
    state = replay(made, [dataclasses.replace(s, std=None, repeats=1, y=0.2) for s in log(8)])
    far = Observation(9, 9.0, tuple(POINTS[0].tolist()), -0.9)
    near = dataclasses.replace(far, y=0.1, std=1e-6)
    assert made.update(state, far).restarts == state.restarts + 1
    assert made.update(state, dataclasses.replace(far, std=2.0)).restarts == state.restarts
    assert made.update(state, dataclasses.replace(near, std=None)).restarts == state.restarts


def test_errors_of_a_prior_count_by_their_noise():
    plain = PriorErrors().add(error=2.0, width=0.5)
    assert plain == PriorErrors(1, 2.0, 0.5)
    assert PriorErrors().add(error=2.0, width=0.5, noises=4.0) == PriorErrors(1, 1.0, 0.25)
    assert PriorErrors().add(error=2.0, width=0.5, noises=0.25) == PriorErrors(0.25, 2.0, 0.5)


def test_w_dbo_fits_its_noise_beside_the_known_ones():
    rng = np.random.default_rng(5)
    X, at, y = rng.random((20, 2)), np.arange(20.0), rng.standard_normal(20)
    own = np.array([(0.0, 1.0) if i % 2 else (0.5 + i / 10, 0.0) for i in range(20)])
    own[3] = (0.0, 0.25)
    likelihood = MarginalLikelihood(Matern(2.5, 0.4), 1.5, X, at, y, own, scale=2.0)
    hyper = Hyper(variance=1.4, stretch=0.8, scale=25.0, noise=0.1)
    value, gradient = likelihood(hyper.logs)
    K = 1.4 * Matern(2.5, 0.4 * 0.8)(X, X) * MaternInTime(1.5, 25.0)(at, at)
    noises = own[:, 0] / 4 + own[:, 1] * 0.1
    assert value == pytest.approx(multivariate_normal(cov=K + np.diag(noises)).logpdf(y))
    for i, h in enumerate(1e-6 * np.eye(4)):
        slope = (likelihood(hyper.logs + h)[0] - likelihood(hyper.logs - h)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_an_observation_of_huge_noise_is_the_least_relevant():
    rng = np.random.default_rng(6)
    X = rng.random((8, 1))
    K, noises = Matern(2.5, 0.3)(X, X), np.full(8, 0.1)
    noises[5] = 1e6
    assert int(np.argmin(relevance(K, noises, rng.standard_normal(8), K @ K))) == 5


def test_a_policy_around_another_weighs_noise_if_that_one_does():
    assert weighs_noise(policy("tgp-ucb", SPACE, inner="sw-gp-ucb"))
    assert not weighs_noise(policy("tgp-ucb", SPACE, inner="random"))
    assert not weighs_noise(policy("ldp", SPACE, inner="sw-gp-ucb"))
    assert not weighs_noise(object())
