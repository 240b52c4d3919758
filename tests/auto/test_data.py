"""The observations that rows use: which of them, rewards standardised robustly, time in typical gaps."""

import numpy as np
import pytest

from driftwise.auto.data import NEAR, SPAN, Frame, Memory, Observations
from driftwise.auto.warps import Standard
from driftwise.auto.window import Readings
from driftwise.records import Observation

# --- rewards and times as rows see them ------------------------------------------------------------------------


def rewards(y, at=None, x=None):
    """Rewards at so many places far from each other."""
    n = len(y)
    times = np.arange(1.0, n + 1) if at is None else np.asarray(at, dtype=float)
    places = np.arange(n, dtype=float) if x is None else np.asarray(x, dtype=float)
    return Observations(np.arange(1, n + 1), times, places[:, None], np.asarray(y, dtype=float), Frame((1.0,)))


def units_of(data):
    units = Readings.of(data, None).units
    return units.location, units.scale


def test_rewards_are_standardised_and_wild_ones_do_not_count():
    y = np.random.default_rng(0).standard_normal(101)
    middle = np.median(y)
    location, scale = units_of(rewards(y))
    assert location == middle
    assert scale == pytest.approx(1.4826 * np.median(np.abs(y - middle)))
    wild = y.copy()
    wild[[30, 77]] = 100.0, -1e9
    assert units_of(rewards(wild)) == pytest.approx((location, scale), rel=0.1, abs=0.1)


def test_what_was_seen_at_one_place_counts_as_one():
    """Ninety looks at the top and ten elsewhere are eleven places: neither location nor scale are the top's."""
    rng = np.random.default_rng(1)
    elsewhere, top = rng.standard_normal(10), 3 + 0.01 * rng.standard_normal(90)
    x = np.concatenate([np.arange(10.0), np.full(90, 20.0)])
    data = rewards(np.concatenate([elsewhere, top]), x=x)
    assert data.place_weights.sum() == pytest.approx(11)
    places = np.append(elsewhere, 3.0)
    location = np.median(places)
    assert units_of(data) == pytest.approx((location, 1.4826 * np.median(np.abs(places - location))), abs=0.03)


def test_rewards_as_they_come_where_their_kernel_is_known():
    data = Observations(
        np.arange(1, 4), np.arange(3.0), np.zeros((3, 1)), np.array([5.0, 6.0, 9.0]), Frame((1.0,), False)
    )
    window = Readings.of(data, Standard())
    assert window.targets.tolist() == [[5.0, 6.0, 9.0]]
    assert window.log_slopes.tolist() == [[0.0, 0.0, 0.0]]


def test_rewards_that_are_nearly_all_equal_have_the_scale_of_the_others():
    y = np.zeros(50)
    assert units_of(rewards(y)) == (0.0, 1.0)
    y[7] = 1.0
    location, scale = units_of(rewards(y))
    assert location == 0.0
    assert scale == pytest.approx(np.sqrt(1 / 50))
    assert units_of(rewards([])) == (0.0, 1.0)


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
