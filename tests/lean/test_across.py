"""What keys learn from each other: the prior of the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from driftwise import Candidates, policy
from driftwise.errors import InvalidInput
from driftwise.lean.across import pooled
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState, mixed, moments, observe
from driftwise.log import codec
from driftwise.records import Ask
from lean_bank import POINTS, bank, run

COMMON = np.sin(6 * POINTS[:, 0]) + POINTS[:, 1]


def told(made, functions, steps, seed=0):
    """The states of keys whose functions, (k, n), are looked at anywhere."""
    rng, keys = np.random.default_rng(seed), len(functions)
    state = LeanState.start(made, keys)
    for t in range(1, steps + 1):
        j = rng.integers(len(POINTS), size=keys)
        y = functions[np.arange(keys), j] + 0.05 * rng.standard_normal(keys)
        state = observe(made, state, j, y, np.full(keys, t))
    return state


def test_keys_that_are_alike_say_what_the_next_one_is_like():
    made, rng = bank(window=12), np.random.default_rng(1)
    prior = pooled(made, told(made, 7 + 2 * (COMMON + 0.1 * rng.standard_normal((20, 12))), 30))
    assert prior.location == pytest.approx(7 + 2 * COMMON.mean(), abs=0.5)
    assert np.corrcoef(prior.means, COMMON)[0, 1] > 0.95
    assert prior.scale < 0.5 * np.std(2 * COMMON)  # most of it is known
    assert prior.strength >= 4


def test_keys_with_nothing_in_common_but_the_drift_say_nothing_else():
    made, rng = bank(window=12), np.random.default_rng(2)
    functions = rng.normal(0, 50, (20, 1)) + np.exp(rng.uniform(-3, 3, (20, 1))) * rng.standard_normal((20, 12))
    state = told(made, functions, 30)
    prior = pooled(made, state)
    assert (prior.location, prior.scale, prior.strength, prior.means) == (0.0, 1.0, 0.0, ())
    expected = (state.weights.sum(axis=0) + made.shares) / 21
    np.testing.assert_allclose(prior.weights, expected.ravel())


def test_a_few_keys_or_observations_are_no_prior():
    made = bank(prior=Prior(location=3.0))
    assert pooled(made, told(made, np.tile(COMMON, (3, 1)), 30)) == made.prior
    assert pooled(made, told(made, np.tile(COMMON, (9, 1)), 5)) == made.prior


def test_known_means_are_those_of_rewards_without_them():
    """Rewards of which the means are taken away, and the means added to what is then expected."""
    means = tuple((3 * COMMON).tolist())
    with_means, without = bank(prior=Prior(means=means)), bank()
    *_, (state, number) = run(without, 20, keys=1)
    again = LeanState.start(with_means)
    for column in range(state.recent.number.shape[1] - 20, state.recent.number.shape[1]):
        j, y, seen = (each[:, column] for each in state.recent)
        again = observe(with_means, again, j, y + with_means.expected[j], seen)
    for one, other in zip(state.units, again.units, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    mean, std = mixed(state, moments(without, state, number))
    mean_again, std_again = mixed(again, moments(with_means, again, number))
    np.testing.assert_allclose(mean_again, mean + np.array(means) / state.units.scale[0], atol=1e-9)
    np.testing.assert_allclose(std_again, std, atol=1e-9)


def test_known_units_count_as_places_that_were_seen():
    made = bank(prior=Prior(location=5.0, scale=2.0, strength=6.0))
    first = observe(made, LeanState.start(made), np.array([0]), np.array([9.0]), np.array([1]))
    location = (6 * 5.0 + 9.0) / 7
    squares = (9.0 - location) ** 2 + 6 * (2.0**2 + (5.0 - location) ** 2)
    assert first.origin[0] + first.units.location[0] == pytest.approx(location)
    assert first.units.scale[0] == pytest.approx(np.sqrt(squares / chi2(6).ppf(0.1)))


def test_a_policy_takes_a_prior_and_is_stored_with_it():
    space = Candidates(POINTS)
    plain = policy("auto-lean", space)
    shares = np.arange(1.0, plain.bank.shares.size + 1)
    prior = Prior(tuple(shares.tolist()), 5.0, 2.0, 4.0, tuple(COMMON.tolist()))
    made = policy("auto-lean", space, prior=prior)
    assert codec.loads(codec.dumps(made)) == made
    np.testing.assert_allclose(made.start().weights.ravel(), shares / shares.sum())
    assert made.choose(made.start(), Ask(1, 1.0)).tolist() == POINTS[np.argmax(COMMON)].tolist()


@pytest.mark.parametrize("wrong", [{"weights": (0.5, 0.5)}, {"means": (1.0,)}, {"scale": 0.0}], ids=str)
def test_a_prior_for_another_bank_is_refused(wrong):
    with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} must be"):
        policy("auto-lean", Candidates(POINTS), prior=replace(Prior(), **wrong))
