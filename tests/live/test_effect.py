"""The effect of a candidate: against dense sums, integrals, and the expectation over every way to assign the roles."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from driftwise import at_least, at_most
from driftwise.live.alarm import Alarm
from driftwise.live.betting import Bets, Capital, breach
from driftwise.live.effect import Comparison, Forecasts, Sums


def readings(n=40, seed=0):
    rng = np.random.default_rng(seed)
    share = rng.choice([0.1, 0.25, 0.5], n)
    return rng.random(n) < share, share, 3 * rng.standard_normal(n)


def summed(n=40, seed=0):
    sums = Sums()
    for role, share, residual in zip(*readings(n, seed), strict=True):
        sums = sums.after(float(role), share, residual)
    return sums


# --- the martingale ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_evidence_is_the_mixture_of_martingales(effect, side):
    role, p, d = readings()
    q = p * (1 - p)
    X = (role - p) * d - q * effect
    u = d + (1 - role - p) * effect
    own, others = (X[role] ** 2).sum() / role.sum(), (X[~role] ** 2).sum() / (~role).sum()
    V = max((X * X).sum() + 2 * (own + others), (X * X + 2 * q * u * u).sum() / 3)
    eta = 5.0

    def density(rate):
        prior = 2 * math.sqrt(eta / (2 * math.pi)) * math.exp(-eta * rate * rate / 2)
        return prior * math.exp(rate * side * X.sum() - rate * rate * V / 2)

    expected, _ = quad(density, 0, 5, epsabs=0, epsrel=1e-10, limit=200)
    assert summed().evidence(effect, eta, side=side) == pytest.approx(math.log(expected), abs=1e-8)


def test_the_exponential_is_no_more_than_one_on_average():
    """Delyon's inequality for a role drawn by chance: E exp(λX − λ²(X² + 2qu²)/6) ≤ 1."""
    p, u, rate = np.meshgrid(np.linspace(0.02, 0.98, 49), [0.1, 1.0, 10.0, -3.0], np.linspace(-4, 4, 81), indexing="ij")
    q = p * (1 - p)

    def value(X):
        return np.exp(rate * X - rate**2 * (X**2 + 2 * q * u**2) / 6)

    assert (p * value((1 - p) * u) + (1 - p) * value(-p * u)).max() <= 1 + 1e-12


def test_a_larger_effect_is_no_evidence_for_a_smaller_one():
    """The same where the candidate is better by `more` than is tested: exactly, at every reading."""
    sizes, rates = np.r_[-np.logspace(-2, 2, 13), 0, np.logspace(-2, 2, 13)], np.logspace(-3, 2, 40)
    p, y0, more, rate = np.meshgrid(np.linspace(0.02, 0.98, 25), sizes, np.logspace(-3, 3, 20), rates, indexing="ij")
    q, total = p * (1 - p), 0.0
    for role, weight in ((1, p), (0, 1 - p)):
        d = y0 + role * more
        X = (role - p) * d
        total = total + weight * np.exp(-rate * X - rate**2 * (X * X + 2 * q * d * d) / 6)
    assert total.max() <= 1 + 1e-12


def every_assignment(y0, effects, shares):
    """Trials of every way to assign the roles, and how probable each is."""
    roles = np.array(list(itertools.product([0.0, 1.0], repeat=len(y0))))
    trial = Comparison.of(np.zeros(len(roles)), 1.0)
    for role, y, effect, share in zip(roles.T, y0, effects, shares, strict=True):
        trial = trial.after(role, share, y + role * effect)
    return trial, np.where(roles == 1, shares, 1 - np.array(shares)).prod(axis=1)


WORLD = np.array([0.0, 5.0, -30.0, 2.0, 2.1, 900.0, 1.0, -4.0, 3.0, 0.5])  # with a reading that is far off
SHARES = [0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.25, 0.25, 0.5, 0.5]


def test_scores_are_unbiased_whatever_the_forecasts_and_the_effects():
    effects = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 0.0, -7.0, 1.0, 1.0, 2.0])
    trial, weight = every_assignment(WORLD, effects, SHARES)
    q = np.array(SHARES) * (1 - np.array(SHARES))
    assert weight @ trial.sums.product == pytest.approx(q @ effects, abs=1e-9)


@pytest.mark.parametrize("effect", [0.0, 1.5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_evidence_cannot_be_expected_against_the_truth(effect, side):
    trial, weight = every_assignment(WORLD, [effect] * 10, SHARES)
    assert weight @ np.exp(trial.evidence(effect, side=side)) <= 1 + 1e-9


def test_a_forecast_that_has_seen_the_reading_would_break_it():
    """The negative control: half of the readings is forecast from the role it had."""
    sums, weight = Sums(), 1 / 2**10
    for role in np.array(list(itertools.product([0.0, 1.0], repeat=10))).T:
        sums = sums.after(role, 0.5, np.where(role == 1, 1.0, 0.5))
    assert weight * np.exp(sums.evidence(0.0, 1.0, side=1.0)).sum() > 1.5


def test_the_interval_ends_where_the_evidence_begins():
    sums = summed(200)
    low, high = sums.interval(eta=10.0, alpha=0.05)
    assert low < sums.effect < high
    assert sums.evidence(low, 10.0, side=1.0) == pytest.approx(math.log(20), abs=1e-6)
    assert sums.evidence(high, 10.0, side=-1.0) == pytest.approx(math.log(20), abs=1e-6)


def test_the_interval_is_infinite_while_little_is_known():
    assert Sums().interval(1.0, 0.05) == (-math.inf, math.inf)
    assert summed(2).interval(1.0, 0.05) == (-math.inf, math.inf)


def test_numbers_and_arrays_agree():
    role, share, y = readings()
    many, one = Comparison.of(np.zeros(3), np.ones(3)), Comparison.of(0.0, 1.0)
    for a, p, each in zip(role, share, y, strict=True):
        many, one = many.after(np.full(3, float(a)), p, np.full(3, each)), one.after(float(a), p, each)
    assert many.evidence(0.1, side=1.0).tolist() == pytest.approx([float(one.evidence(0.1, side=1.0))] * 3, rel=1e-12)


# --- forecasts --------------------------------------------------------------------------------------------------------


def errors(level, noise=1.0, seed=0):
    rng, fold, found = np.random.default_rng(seed), Forecasts.of(0.0, noise), []
    for each in level + noise * rng.standard_normal(len(level)):
        found.append(each - float(fold.forecast))
        fold = fold.after(each)
    return np.array(found[200:])


@pytest.mark.parametrize(
    ("level", "most"),
    [
        (np.zeros(2000), 1.05),
        (np.cumsum(0.3 * np.random.default_rng(1).standard_normal(2000)), 1.2),  # the best filter has 1.16
        (3 * np.sin(np.arange(2000) / 30), 1.25),
    ],
)
def test_forecasts_follow_the_level(level, most):
    assert np.sqrt(np.mean(errors(level) ** 2)) < most


def test_a_wild_reading_does_not_spoil_the_scale():
    fold = Forecasts.of(0.0, 1.0)
    for each in np.random.default_rng(0).standard_normal(50):
        fold = fold.after(each)
    before = float(fold.variance)
    assert float(fold.after(1e9).variance) < 1.5 * before


# --- bets -------------------------------------------------------------------------------------------------------------


def test_bets_on_bounded_rewards_cannot_be_expected_to_pay():
    rng = np.random.default_rng(3)
    y0 = rng.choice([0.0, 0.2, 1.0], 10)
    roles = np.array(list(itertools.product([0.0, 1.0], repeat=10)))
    bets, weight, seen = Bets(), 1.0, Comparison.of(np.full(len(roles), 0.4), 0.3)
    for role, y, share in zip(roles.T, y0, SHARES, strict=True):
        bets = bets.after(role, share, np.full(len(roles), y), seen.forecast(share), bounds=(0.0, 1.0))
        seen = seen.after(role, share, np.full(len(roles), y))
        weight = weight * np.where(role == 1, share, 1 - share)
    for capital in (bets.above, bets.below):
        assert weight @ np.exp(capital.evidence) == pytest.approx(1.0, abs=1e-9)


def test_bets_find_the_worse_candidate():
    rng, bets = np.random.default_rng(0), Bets()
    for _ in range(400):
        role = float(rng.random() < 0.5)
        y = float(rng.random() < 0.6 - 0.3 * role)
        bets = bets.after(role, 0.5, y, 0.5, bounds=(0.0, 1.0), above=-0.02, below=-0.02)
    assert bets.below.evidence > math.log(20) > bets.above.evidence


@pytest.mark.parametrize("limit", [at_most(0.01), at_least(0.5)])
def test_a_measure_at_its_limit_does_not_pay(limit):
    at = limit.high or limit.low
    values, weights = (np.array([0.0, 1.0]), np.array([1 - at, at]))  # with the limit as its mean
    gains = breach(values, limit)
    assert weights @ gains == pytest.approx(0.0)
    assert gains.min() >= -1


def test_a_measure_beyond_its_limit_pays():
    rng, capital = np.random.default_rng(0), Capital()
    for _ in range(600):
        capital = capital.after(breach(float(rng.random() < 0.05), at_most(0.01)))
    assert capital.evidence > math.log(20)


# --- the alarm --------------------------------------------------------------------------------------------------------


def test_a_candidate_that_turns_bad_is_noticed_long_before_the_mean_says_so():
    rng, trial, alarm = np.random.default_rng(1), Comparison.of(0.0, 1.0), Alarm()
    for n in range(3000):
        role, share = float(rng.random() < 0.5), 0.5
        y = rng.standard_normal() + role * (0.5 if n < 1500 else -1.5)
        residual = y - trial.forecast(share)
        alarm = alarm.after(role, share, residual, scale=math.sqrt(trial.level.variance), margin=0.0)
        trial = trial.after(role, share, y)
        if alarm.rings:
            break
    assert 1500 < n < 1600
    assert trial.evidence(0.0, side=-1.0) < math.log(20)


def test_the_alarm_is_silent_at_the_margin():
    rng, runs = np.random.default_rng(2), 50
    trial, alarm, rung = Comparison.of(np.zeros(runs), 1.0), Alarm(), np.zeros(runs, bool)
    for _ in range(2000):
        role = (rng.random(runs) < 0.25) * 1.0
        y = rng.standard_normal(runs) - 0.1 * role
        residual = y - trial.forecast(0.25)
        alarm = alarm.after(role, 0.25, residual, scale=np.sqrt(trial.level.variance), margin=0.1)
        trial = trial.after(role, 0.25, y)
        rung |= alarm.rings
    assert not rung.any()
