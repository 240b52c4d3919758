"""The observations that experts use: which of them, rewards centred and scaled, time in typical gaps."""

import numpy as np
import pytest
from scipy.stats import chi2

from driftwise.auto.data import CAUTION, NEAR, SPAN, Frame, Memory, Observations
from driftwise.records import Observation

# --- rewards and times as experts see them ------------------------------------------------------------------------


def rewards(y, at=None, x=None):
    """Rewards at so many places far from each other."""
    n = len(y)
    times = np.arange(1.0, n + 1) if at is None else np.asarray(at, dtype=float)
    places = np.arange(n, dtype=float) if x is None else np.asarray(x, dtype=float)
    return Observations(np.arange(1, n + 1), times, places[:, None], np.asarray(y, dtype=float), Frame((1.0,)))


def test_rewards_are_standardised_with_caution_and_outliers_cut_off():
    y = np.random.default_rng(0).standard_normal(100)
    spread = np.sqrt(((y - y.mean()) ** 2).sum() / chi2.ppf(CAUTION, 99))
    np.testing.assert_allclose(rewards(y).targets, (y - y.mean()) / spread, rtol=1e-12)  # nothing is cut from a normal
    wild = y.copy()
    wild[[30, 77]] = 100.0, -1e9
    assert 0.9 < rewards(wild).units[1] / rewards(y).units[1] < 1.1
    assert np.abs(rewards(wild).targets).max() < 10
    kept = np.delete(np.arange(100), [30, 77])
    np.testing.assert_allclose(rewards(wild).clipped[kept], y[kept])


def test_what_was_seen_at_one_place_counts_as_one():
    """Ninety looks at the top and ten elsewhere are eleven places: neither mean, spread nor outliers are the top's."""
    rng = np.random.default_rng(1)
    elsewhere, top = rng.standard_normal(10), 3 + 0.01 * rng.standard_normal(90)
    x = np.concatenate([np.arange(10.0), np.full(90, 20.0)])
    data = rewards(np.concatenate([elsewhere, top]), x=x)
    places = np.append(elsewhere, top.mean())
    assert data.place_weights.sum() == pytest.approx(11)
    assert data.units[0] == pytest.approx(places.mean())
    squares = 10 * elsewhere.var() + 10 * (elsewhere.mean() - places.mean()) ** 2 + ((top - places.mean()) ** 2).mean()
    assert data.units[1] == pytest.approx(np.sqrt(squares / chi2.ppf(CAUTION, 10)))
    assert data.clipped.tolist() == data.y.tolist()


def test_rewards_as_they_come_where_their_kernel_is_known():
    data = Observations(
        np.arange(1, 4), np.arange(3.0), np.zeros((3, 1)), np.array([5.0, 6.0, 9.0]), Frame((1.0,), False)
    )
    assert data.targets.tolist() == [5.0, 6.0, 9.0]


def test_rewards_that_are_nearly_all_equal_are_left_as_they_are():
    y = np.zeros(50)
    assert rewards(y).targets.tolist() == [0.0] * 50
    y[7] = 1.0
    assert rewards(y).clipped.tolist() == y.tolist()


def test_time_is_counted_in_typical_gaps():
    data = rewards(np.zeros(5), at=[10, 20, 30, 1000, 1010])
    assert data.gap == 10
    assert data.clock.tolist() == [-100, -99, -98, -1, 0]
    assert np.isfinite(rewards(np.zeros(4), at=[-1e308, 1e308, 1e-308, 2e-308]).clock).all()
    assert rewards([1.0], at=[5.0]).gap == 1.0
    assert rewards([1.0, 2.0], at=[5.0, 5.0]).gap == 1.0


# --- what is kept ---------------------------------------------------------------------------------------------------


def remembered(points, most):
    memory = Memory.nothing(Frame((2.0, 2.0)), most=most)
    for i, x in enumerate(points, 1):
        memory = memory.observe(Observation(i, float(i), tuple(x), float(i)))
    return memory


def test_those_with_the_fewest_newer_ones_nearby_are_kept():
    rng = np.random.default_rng(2)
    X = np.round(rng.random((150, 2)) * 6) / 3
    radius = 2.0 * NEAR * np.sqrt(2)
    newer = [sum(np.linalg.norm(X[j] - X[i]) <= radius for j in range(i + 1, 150)) for i in range(150)]
    order = sorted(range(150), key=lambda i: (newer[i], -i))[:40]
    memory = remembered(X, most=40)
    assert memory.newer.tolist() == newer
    assert memory.selected.numbers.tolist() == sorted(i + 1 for i in order)


def test_a_look_elsewhere_long_ago_is_kept_and_one_too_long_ago_is_not():
    stay = [(0.1, 0.1)] * (SPAN - 1)
    assert remembered([(1.9, 1.9), *stay], most=20).selected.numbers[:2].tolist() == [1, SPAN - 18]
    assert remembered([(1.9, 1.9), *stay, (0.1, 0.1)], most=20).selected.numbers[0] == SPAN - 18


def test_where_none_are_near_the_latest_are_kept():
    X = 2 * np.random.default_rng(3).permutation(36).reshape(-1, 1)
    assert remembered(np.hstack([X, X]), most=7).selected.numbers.tolist() == list(range(30, 37))
