"""Warps: slopes against differences, inverses, straight lines beyond what was seen, and robust units."""

from dataclasses import replace

import numpy as np
import pytest

from driftwise.auto.warps import Standard, robust, warps_of
from driftwise.auto.window import Readings
from worlds import observations

RNG = np.random.default_rng(0)
POSITIVE = np.exp(RNG.standard_normal(40)) + 0.1
BOTH = 3 * RNG.standard_normal(40) - 1
SIGNS = {"both": BOTH, "positive": POSITIVE, "negative": -POSITIVE}


def each(y):
    return warps_of(y, np.ones(len(y)))


EVERY = [pytest.param(warp, y, id=f"{sign} {warp.name}") for sign, y in SIGNS.items() for warp in each(y)]


def test_a_logarithm_needs_rewards_of_one_sign():
    assert [w.name for w in each(BOTH)] == ["identity", "arsinh"]
    assert [w.name for w in each(POSITIVE)] == [w.name for w in each(-POSITIVE)] == ["identity", "arsinh", "log"]
    assert [w.name for w in each(np.append(POSITIVE, 0.0))] == ["identity", "arsinh"]
    assert [w.name for w in warps_of(POSITIVE, np.ones(40), known=Standard(1.0, 2.0))] == ["identity"]
    assert [w.name for w in each(np.zeros(0))] == ["identity", "arsinh"]


@pytest.mark.parametrize(("warp", "y"), EVERY)
def test_slopes_are_those_of_the_targets(warp, y):
    step = 1e-6 * np.abs(y)
    rise = warp.targets(y + step)[0] - warp.targets(y - step)[0]
    np.testing.assert_allclose(warp.targets(y)[1], np.log(rise / (2 * step)), atol=1e-6)
    t = np.linspace(warp.low - 1, warp.high + 1, 31)
    rise = warp.value(t + 1e-6)[0] - warp.value(t - 1e-6)[0]
    np.testing.assert_allclose(warp.value(t)[1], rise / 2e-6, rtol=1e-5)


@pytest.mark.parametrize(("warp", "y"), EVERY)
def test_what_is_carried_there_and_back_is_the_same(warp, y):
    t, _ = warp.targets(y)
    v = warp.units.standard(y)
    np.testing.assert_allclose(warp.value(t)[0], v, atol=1e-12)
    np.testing.assert_allclose(warp.target(v), t, atol=1e-12)
    assert (np.argsort(t) == np.argsort(y)).all()


@pytest.mark.parametrize(("warp", "y"), EVERY)
def test_beyond_what_was_seen_it_is_a_straight_line(warp, y):
    for end, sign in ((warp.low, -1.0), (warp.high, 1.0)):
        (v,), (slope,) = warp.value(np.array([end]))
        away = sign * np.array([0.5, 2.0, 1e6])
        values, slopes = warp.value(end + away)
        np.testing.assert_allclose(values, v + slope * away, rtol=1e-9)
        np.testing.assert_allclose(slopes, slope)


@pytest.mark.parametrize(("warp", "y"), EVERY)
def test_targets_are_standardised(warp, y):
    assert np.median(warp.targets(y)[0]) == pytest.approx(0.0, abs=1e-9)
    assert robust(warp.targets(y)[0], np.ones(len(y))).scale == pytest.approx(1.0)


def test_a_logarithm_cannot_take_what_has_the_other_sign():
    [log] = [warp for warp in each(POSITIVE) if warp.name == "log"]
    targets, slopes = log.targets(np.array([0.0, -3.0]))
    assert np.isfinite(targets).all()
    assert (slopes < -500).all()  # no density, so that the warp has no weight from then on
    assert log.target(log.units.standard(np.array([-1.0]))) == -np.inf


def test_robust_units_are_a_weighted_median_and_median_deviation():
    y, weights = RNG.standard_normal(30), RNG.integers(1, 5, 30)
    repeated = np.repeat(y, weights)
    units = robust(y, weights.astype(float))
    assert units.location == pytest.approx(np.median(repeated))
    assert units.scale == pytest.approx(1.4826 * np.median(np.abs(repeated - np.median(repeated))))


@pytest.mark.parametrize("value", [0.0, 3.0, -1e300, 1e-300])
def test_equal_rewards_have_a_unit(value):
    assert robust(np.full(7, value), np.ones(7)) == Standard(value, 1.0)


@pytest.mark.parametrize("wild", [1e3, 1e15, 1e200])
def test_one_wild_reward_moves_no_unit(wild):
    calm, other = robust(BOTH, np.ones(40)), robust(np.append(BOTH, wild), np.ones(41))
    assert other.location == pytest.approx(calm.location, abs=0.3)
    assert other.scale == pytest.approx(calm.scale, rel=0.2)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_rewards_of_any_size_have_finite_warps(scale):
    for y in (scale * BOTH, scale * POSITIVE):
        for warp in each(y):
            t, slopes = warp.targets(y)
            v, dv = warp.value(np.linspace(-20, 20, 9))
            assert all(np.isfinite(found).all() for found in (t, slopes, v, dv))


def test_readings_beyond_those_of_the_search_are_carried_back_as_they_are():
    """A straight line there would misstate what was read itself, until the next search."""
    rng = np.random.default_rng(2)
    data = observations(30, lowest=0.5)
    later = replace(data.only(np.array([29])), y=np.array([40.0]))
    window = Readings.of(data.only(np.arange(29)), None)
    for warp, further in zip(window.warps, window.followed_by(later).warps, strict=True):
        y = np.array([40.0, float(rng.uniform(3.0, 39.0))])
        v, slope = further.value(further.targets(y)[0])
        np.testing.assert_allclose(v, window.units.standard(y), rtol=1e-9)
        assert (slope > 0).all()
        assert further.high >= warp.high
