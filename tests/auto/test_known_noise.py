"""auto with noise known per observation: rows against dense algebra, and what is all noise against nothing."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from driftwise import Candidates, Matern
from driftwise.auto.data import Frame, Memory, Observations
from driftwise.auto.follow import inverses
from driftwise.auto.mixture import Mixture
from driftwise.auto.pieces import made_at_once
from driftwise.auto.policy import NOISES, Auto
from driftwise.auto.rows import CERTAIN, Hypotheses, Row
from driftwise.auto.search import Search
from driftwise.auto.sheaf import fold
from driftwise.auto.warps import Standard
from driftwise.auto.window import Readings
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies import replay
from driftwise.records import Ask, Observation

KERNEL, NOISE = Matern(2.5, 0.3), 0.05
POINTS = np.random.default_rng(0).random((25, 2))
KNOWN = Hypotheses((KERNEL,), (Forgetting(0.02),), (NOISE,), strength=CERTAIN)
ROW, STILL = Row(0, Forgetting(0.02), NOISE), Row(0, Forgetting(0.0), NOISE)


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


def mixture(seens, table=KNOWN, row=ROW, *, standardise=False):
    window = Readings.of(data_of(seens, standardise=standardise), None if standardise else Standard())
    sheaf = made_at_once(fold(table, window, [row], np.zeros(len(seens), dtype=bool)))
    weights = np.full((1, len(window.warps)), 1 / len(window.warps))
    return Mixture(sheaf, inverses(sheaf)[0], weights, seens[-1].at)


def dense(seens):
    X, at = np.array([s.x for s in seens]), np.array([s.at for s in seens])
    noises = np.array([s.std**2 if s.std is not None else NOISE / s.repeats for s in seens])
    return KERNEL(X, X) * ROW.time(at, at) + np.diag(noises), noises, X, at


def test_a_row_equals_dense_algebra():
    seens = log()
    A, noises, X, at = dense(seens)
    y = np.array([s.y for s in seens])
    belief = mixture(seens)
    k = KERNEL(X, POINTS) * ROW.time(at, at[-1:])
    mean, std = belief.predict(POINTS)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(A, y), atol=1e-5)
    np.testing.assert_allclose(std**2, 1 - np.einsum("nm,nm->m", k, np.linalg.solve(A, k)), atol=1e-4)  # s² is not 1
    gain = 0.5 * np.linalg.slogdet(A)[1] - 0.5 * np.log(noises).sum()
    assert belief.information_gain == pytest.approx(gain)
    imagined = belief.imagine([tuple(POINTS[0].tolist())]).predict(POINTS)
    np.testing.assert_allclose(imagined[0], mean, atol=1e-9)
    assert imagined[1][0] < std[0]


def test_its_evidence_has_the_own_noise_of_each_observation():
    seens = log()
    A, *_ = dense(seens)
    expected = multivariate_normal(cov=A).logpdf([s.y for s in seens])
    assert mixture(seens).sheaf.regular.sum() == pytest.approx(expected, abs=1e-3)


def test_a_mean_of_readings_is_worth_those_readings():
    seens = log(std=False)
    single = [dataclasses.replace(s, number=10 * s.number + i, repeats=1) for s in seens for i in range(s.repeats)]
    one, other = mixture(seens, row=STILL), mixture(single, row=STILL)
    for ours, theirs in zip(one.predict(POINTS), other.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)  # s² is not 1 to the last digit


def test_what_is_all_noise_moves_neither_the_scale_of_the_signal_nor_that_of_rewards():
    """And it is no outlier: that it is far from what was forecast was to be expected."""
    seens = log(std=False, repeats=False)
    wild = [
        dataclasses.replace(s, number=100 + s.number, at=s.at + 0.5, y=(-1) ** s.number * 3e6, std=1e7)
        for s in seens[:8]
    ]
    table = dataclasses.replace(KNOWN, strength=5.0)
    exact = [dataclasses.replace(seens[0], std=1e-4), *seens[1:]]  # a known noise beforehand, too: one warp
    before, after = (mixture(some, table, STILL, standardise=True) for some in (exact, [*exact, *wild]))
    np.testing.assert_allclose(after.units, before.units, rtol=1e-6)
    np.testing.assert_allclose(after.predictors.scale[0], before.predictors.scale[0], rtol=1e-6)
    assert not after.sheaf.labels.any()
    for ours, theirs in zip(after.predict(POINTS), before.predict(POINTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("signal", [0.4, 2.0])
def test_a_known_noise_is_relative_to_the_signal_that_was_learned(signal):
    """It has a standard deviation of 0.3, whatever the scale of the signal is: this one is about the likeliest."""
    rng = np.random.default_rng(2)
    L = np.linalg.cholesky(KERNEL(POINTS, POINTS) + 1e-9 * np.eye(25))
    f = signal * (L @ rng.standard_normal(25))
    y = np.tile(f, 3) + 0.3 * rng.standard_normal(75)
    points = np.tile(POINTS, (3, 1)).tolist()
    seens = [Observation(t + 1, t + 1.0, tuple(points[t]), float(y[t]), std=0.3) for t in range(75)]
    [[scale]] = mixture(seens, dataclasses.replace(KNOWN, strength=0.1), STILL).predictors.scale
    K, grid = KERNEL(np.array(points), np.array(points)), np.geomspace(0.05, 10, 60)
    likely = [multivariate_normal(cov=s**2 * K + 0.09 * np.eye(75)).logpdf(y) for s in grid]
    best = grid[np.argmax(likely)]
    assert abs(np.log(scale / best)) < min(0.8 * abs(np.log(best)), np.log(2))  # it begins with 1


def test_rewards_that_are_nothing_but_known_noise_leave_a_faint_signal():
    rng = np.random.default_rng(3)
    seens = [dataclasses.replace(s, y=float(0.01 * rng.standard_normal()), std=5.0, repeats=1) for s in log(60)]
    belief = mixture(seens, dataclasses.replace(KNOWN, strength=1.0))
    assert 0.1 <= belief.predictors.scale[0, 0] <= 1
    assert np.isfinite(belief.sheaf.log_density).all()


def test_if_all_noises_are_known_the_table_has_one():
    policy = Auto.of(Candidates(POINTS))
    known = [dataclasses.replace(s, std=0.1, repeats=1) for s in log()]
    assert len(replay(policy, known).search.table.noises) == 1
    assert replay(policy, log()).search.table.noises == NOISES
    assert isinstance(replay(policy, known).search, Search)


def test_a_noisier_observation_does_not_supersede_an_exact_one():
    frame, x = Frame((1.0, 1.0)), (0.5, 0.5)
    exact = Observation(1, 1.0, x, 0.0, std=0.1)
    memory = Memory.nothing(frame, most=8).observe(exact)
    assert memory.observe(Observation(2, 2.0, x, 0.0, std=1.0)).newer.tolist() == pytest.approx([0.01, 0.0])
    assert memory.observe(Observation(2, 2.0, x, 0.0, std=0.01)).newer.tolist() == [1.0, 0.0]
    assert memory.observe(Observation(2, 2.0, x, 0.0)).newer.tolist() == [1.0, 0.0]


def test_exact_rewards_are_believed_and_noisy_ones_are_not():
    """A high reward where nothing was read, once known to be exact and once to be worthless."""
    policy, seens = Auto.of(Candidates(POINTS)), log(std=False, repeats=False)
    away = np.linalg.norm(POINTS[:, None] - np.array([s.x for s in seens])[None], axis=2).min(axis=1)
    where = int(np.argmax(away))
    before = policy.belief(replay(policy, seens), Ask(31, 31.0))
    location, scale = before.units
    expected, wide = (float(each[0]) for each in before.predict(POINTS[where : where + 1]))
    known, high, means = location + scale * expected, location + scale * (expected + 3 * wide), []
    for std in (1e-3, 30.0):
        seen = Observation(31, 31.0, tuple(POINTS[where].tolist()), high, std=std)
        belief = policy.belief(replay(policy, [*seens, seen]), Ask(32, 32.0))
        location, scale = belief.units
        means.append(location + scale * belief.predict(POINTS[where : where + 1])[0][0])
    assert means == pytest.approx([high, known], abs=0.1 * (high - known))
