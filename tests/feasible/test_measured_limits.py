"""Limits on measures."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from driftwise.errors import InvalidInput
from driftwise.feasible.limits import Limit, as_limits, at_least, at_most, kept_back, probability
from driftwise.gp.kernels import RBF
from driftwise.gp.posterior import Posterior

X = np.linspace(0, 1, 9)[:, None]


def posterior(standardise=False):
    made = Posterior(RBF(0.3), 0.01, standardise)
    for x, y in [(0.1, 1.0), (0.5, 2.0), (0.6, 2.5)]:
        made = made.append([x], y)
    return made


@pytest.mark.parametrize("limit", [at_most(2.0), at_least(1.5), Limit(0.5, 2.2)])
def test_the_probability_is_that_of_a_gaussian(limit):
    mean, std = posterior().predict(X)
    low, high = limit.ends
    np.testing.assert_allclose(
        probability(posterior(), limit, X), norm.cdf((high - mean) / std) - norm.cdf((low - mean) / std), atol=1e-12
    )


def test_with_few_degrees_of_freedom_it_is_that_of_student():
    mean, std = posterior().predict(X)
    student = t.cdf((2.0 - mean) / std, df=3)
    np.testing.assert_allclose(probability(posterior(), at_most(2.0), X, freedom=3), student, atol=1e-12)


def test_units_of_the_measure_change_nothing():
    one, other = posterior(standardise=True), Posterior(RBF(0.3), 0.01, True)
    for x, y in zip(one.X, one.y, strict=True):
        other = other.append(x, 5 - 100 * y)
    np.testing.assert_allclose(probability(one, at_most(2.2), X), probability(other, at_least(5 - 220.0), X), rtol=1e-9)


def test_of_a_setting_far_from_all_that_were_tried_little_is_known_however_alike_those_were():
    alike = Posterior(RBF(0.05), 0.01, True).append([0.1], 150.0).append([0.12], 151.0)
    assert probability(alike, at_most(200), np.array([[0.9]]))[0] == pytest.approx(norm.cdf(1), abs=1e-3)
    assert probability(alike, at_most(200), np.array([[0.11]]))[0] > 0.99


def test_the_backoff_grows_with_violations_and_shrinks_slowly():
    assert kept_back([], at_most(1), 0.05) == kept_back([0.0] * 10, at_most(1), 0.05) == 0.0
    after = [kept_back([3.0] + [0.0] * n, at_most(1), 0.05) for n in (0, 5, 30)]
    np.testing.assert_allclose(after, [1.9, 1.4, 0.0], atol=1e-12)
    below = [kept_back([-3.0] + [0.0] * n, at_least(-1), 0.05) for n in (0, 5, 30)]
    np.testing.assert_allclose(below, after)
    lax, strict = (probability(posterior(), Limit(0.0, 3.0), X, backoff=q) for q in (0.0, 0.5))
    assert (strict < lax).all()
    np.testing.assert_allclose(strict, probability(posterior(), Limit(0.5, 2.5), X))
    assert (probability(posterior(), Limit(0.0, 3.0), X, backoff=2.0) == 0).all()


def test_while_there_is_a_backoff_violations_are_at_most_delta():
    """With violations of size 1, q_n = Σ (violated − δ) since it was last 0: the count follows from q."""
    rng, delta, start, seen = np.random.default_rng(0), 0.1, 0, 0
    values = np.where(rng.random(400) < 0.12, 2.0, 0.0)
    for n in range(1, 401):
        backoff = kept_back(values[:n], at_most(1), delta)
        if backoff == 0.0:
            start = n
            continue
        seen += 1
        assert (values[start:n] > 1).sum() == pytest.approx(delta * (n - start) + backoff)
    assert seen > 100


def test_limits_are_checked():
    assert as_limits("limits", {"ms": at_most(200), "ok": at_least(0.9)}) == (
        ("ms", Limit(None, 200.0)),
        ("ok", Limit(0.9, None)),
    )
    assert as_limits("limits", None) == ()
    for wrong in ({"ms": 200}, [("ms",)], {"": at_most(1)}, 5, "ms"):
        with pytest.raises(InvalidInput):
            as_limits("limits", wrong)
    for low, high in ((None, None), (2.0, 1.0), (math.nan, None), ("1", None)):
        with pytest.raises(InvalidInput):
            Limit(low, high)
