"""auto with noise known per observation: experts against dense algebra, and what is all noise against nothing."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from driftwise import Candidates, Matern
from driftwise.auto.bank import Bank
from driftwise.auto.data import Frame, Memory, Observations
from driftwise.auto.experts import Expert
from driftwise.auto.mixture import Mixture
from driftwise.auto.policy import CERTAIN, NOISES, Auto
from driftwise.auto.search import Search
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies import replay
from driftwise.records import Ask, Observation

KERNEL, NOISE = Matern(2.5, 0.3), 0.05
POINTS = np.random.default_rng(0).random((25, 2))
KNOWN = Bank((KERNEL,), (Forgetting(0.02),), (NOISE,), prior_strength=CERTAIN)
EXPERT = Expert(0, Forgetting(0.02), NOISE)


def log(n=30, *, seed=1, std=True, repeats=True):
    rng = np.random.default_rng(seed)
    made = []
    for t in range(n):
        x = tuple(POINTS[rng.integers(len(POINTS))].tolist())
        seen = Observation(t + 1, float(t + 1), x, float(np.sin(6 * x[0]) + 0.1 * rng.standard_normal()))
        if std and t % 3 == 1:
            seen = dataclasses.replace(seen, std=float(10 ** rng.uniform(-2, 1)))
        if repeats and t % 3 == 2:
            seen = dataclasses.replace(seen, repeats=4)
        made.append(seen)
    return made


def data_of(seens, *, standardise=False):
    data = Observations.nothing(Frame((1.0, 1.0), standardise=standardise))
    for seen in seens:
        data = data.observe(seen, keep=100)
    return data


def mixture(seens, bank=KNOWN, expert=EXPERT, **frame):
    data = data_of(seens, **frame)
    return Mixture(bank, data, tuple(bank.fits([expert], data)), np.ones(1), seens[-1].at)


def dense(seens):
    X, at = np.array([s.x for s in seens]), np.array([s.at for s in seens])
    noises = np.array([s.std**2 if s.std is not None else NOISE / s.repeats for s in seens])
    return KERNEL(X, X) * EXPERT.time(at, at) + np.diag(noises), noises, X, at


def test_an_expert_equals_dense_algebra():
    seens = log()
    A, noises, X, at = dense(seens)
    y = np.array([s.y for s in seens])
    belief = mixture(seens)
    k = KERNEL(X, POINTS) * EXPERT.time(at, at[-1:])
    mean, std = belief.predict(POINTS)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(A, y), atol=1e-5)
    np.testing.assert_allclose(std**2, 1 - np.einsum("nm,nm->m", k, np.linalg.solve(A, k)), atol=1e-4)  # s² is not 1
    gain = 0.5 * np.linalg.slogdet(A)[1] - 0.5 * np.log(noises).sum()
    assert belief.information_gain == pytest.approx(gain)
    imagined = belief.imagine([tuple(POINTS[0].tolist())]).predict(POINTS)
    np.testing.assert_allclose(imagined[0], mean, atol=1e-9)
    assert imagined[1][0] < std[0]
    np.testing.assert_allclose(belief.weights(POINTS) @ y, mean, atol=1e-8)


def test_its_evidence_has_the_own_noise_of_each_observation():
    seens = log()
    A, *_ = dense(seens)
    [forecast] = KNOWN.fits([EXPERT], data_of(seens))
    expected = multivariate_normal(cov=A).logpdf([s.y for s in seens])
    assert forecast.one_ahead.sum() - 0.5 * len(seens) * np.log(2 * np.pi) == pytest.approx(expected, abs=1e-3)


def test_a_mean_of_readings_is_worth_those_readings():
    still = Expert(0, Forgetting(0.0), NOISE)
    bank = dataclasses.replace(KNOWN, times=(Forgetting(0.0),))
    seens = log(std=False)
    single = [dataclasses.replace(s, number=10 * s.number + i, repeats=1) for s in seens for i in range(s.repeats)]
    one, other = mixture(seens, bank, still), mixture(single, bank, still)
    for ours, theirs in zip(one.predict(POINTS), other.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)  # s² is not 1 to the last digit


def test_what_is_all_noise_moves_neither_the_scale_of_the_signal_nor_that_of_rewards():
    """And it is no outlier: that it is far from what was forecast was to be expected."""
    seens = log(std=False, repeats=False)
    wild = [
        dataclasses.replace(s, number=100 + s.number, at=s.at + 0.5, y=(-1) ** s.number * 3e6, std=1e7)
        for s in seens[:8]
    ]
    bank = dataclasses.replace(KNOWN, prior_strength=5.0)
    still = Expert(0, Forgetting(0.0), NOISE)
    before, after = (mixture(some, bank, still, standardise=True) for some in (seens, [*seens, *wild]))
    np.testing.assert_allclose(after.units, before.units, rtol=1e-6)
    assert after.fits[0].scale == pytest.approx(before.fits[0].scale, rel=1e-6)
    assert after.fits[0].ignored == before.fits[0].ignored
    for ours, theirs in zip(after.predict(POINTS), before.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("signal", [0.4, 2.0])
def test_a_known_noise_is_relative_to_the_signal_that_was_learned(signal):
    """The noise of standard deviation 0.3 that the expert assumes, in the units of rewards, is about that."""
    rng = np.random.default_rng(2)
    L = np.linalg.cholesky(KERNEL(POINTS, POINTS) + 1e-9 * np.eye(25))
    f = signal * (L @ rng.standard_normal(25))
    y = np.tile(f, 3) + 0.3 * rng.standard_normal(75)
    points = np.tile(POINTS, (3, 1)).tolist()
    seens = [Observation(t + 1, t + 1.0, tuple(points[t]), float(y[t]), std=0.3) for t in range(75)]
    bank = dataclasses.replace(KNOWN, prior_strength=0.1)
    [fit] = bank.fits([Expert(0, Forgetting(0.0), NOISE)], data_of(seens))
    K, grid = KERNEL(np.array(points), np.array(points)), np.geomspace(0.05, 10, 60)
    likely = [multivariate_normal(cov=s**2 * K + 0.09 * np.eye(75)).logpdf(y) for s in grid]
    best = grid[np.argmax(likely)]
    assert abs(np.log(fit.scale / best)) < min(0.8 * abs(np.log(best)), np.log(2))  # it begins with 1
    assert 0.6 * 0.09 < fit.noises[0] * fit.scale**2 < 1.7 * 0.09


def test_rewards_that_are_nothing_but_known_noise_leave_a_faint_signal():
    rng = np.random.default_rng(3)
    seens = [dataclasses.replace(s, y=float(0.01 * rng.standard_normal()), std=5.0, repeats=1) for s in log(60)]
    [fit] = dataclasses.replace(KNOWN, prior_strength=1.0).fits([EXPERT], data_of(seens))
    assert 0.1 <= fit.scale <= 1
    assert np.isfinite(fit.log_predictive).all()


def test_if_all_noises_are_known_the_bank_has_one():
    policy = Auto.of(Candidates(POINTS))
    known = [dataclasses.replace(s, std=0.1, repeats=1) for s in log()]
    assert len(replay(policy, known).search.bank.noises) == 1
    assert replay(policy, log()).search.bank.noises == NOISES
    assert isinstance(replay(policy, known).search, Search)


def test_a_noisier_observation_does_not_supersede_an_exact_one():
    frame, x = Frame((1.0, 1.0)), (0.5, 0.5)
    exact = Observation(1, 1.0, x, 0.0, std=0.1)
    memory = Memory.nothing(frame, most=8).observe(exact)
    assert memory.observe(Observation(2, 2.0, x, 0.0, std=1.0)).newer.tolist() == pytest.approx([0.01, 0.0])
    assert memory.observe(Observation(2, 2.0, x, 0.0, std=0.01)).newer.tolist() == [1.0, 0.0]
    assert memory.observe(Observation(2, 2.0, x, 0.0)).newer.tolist() == [1.0, 0.0]


def test_exact_rewards_are_believed_and_noisy_ones_are_not():
    """The same rewards, once with the high one known to be exact and once with it known to be worthless."""
    policy, seens = Auto.of(Candidates(POINTS)), log(std=False, repeats=False)
    where = tuple(POINTS[7].tolist())
    means = []
    for std in (1e-3, 30.0):
        high = Observation(31, 31.0, where, 4.0, std=std)
        belief = policy.belief(replay(policy, [*seens, high]), Ask(32, 32.0))
        location, scale = belief.units
        means.append(location + scale * belief.predict(POINTS[7:8])[0][0])
    assert means[0] > means[1] + 0.5
