"""Far readings: one error among many good ones, a cliff in a corner, and the rates of both."""

import numpy as np
import pytest
from scipy.stats import t as student

from driftwise.auto.data import Frame, Observations
from driftwise.auto.far import BROAD, ERRORS, FEW, REGULAR, SEEDED, SHAPE, SUSPECT, Scale, place_rate
from driftwise.auto.warps import Standard
from oracles import finite_difference
from worlds import observations, row, sheaf_of


def cliff(*, seed=0, n=60, corner=0.3, drop=1e4):
    """Readings of a function that falls off in a corner."""
    data = observations(n, seed=seed)
    over = (corner > data.X).all(axis=1)
    return Observations(data.numbers, data.at, data.X, data.y - drop * over, Frame((1.0, 1.0))), over


def one_by_one(window, regular):
    """What `judge` says of one row and one warp, a reading at a time."""
    u, slope = window.far
    n, share, errors, out, seen = len(window), [], 0.0, [], []
    for i in range(n):
        near = window.around[i, :i]
        place = (SEEDED + sum(q * g for q, g in zip(share, near, strict=True))) / (1 + near.sum())
        broad = student.logpdf(u[i], 2 * SHAPE, scale=BROAD * np.sqrt((FEW + 1) / FEW)) + slope[i]
        r = (ERRORS + errors) / (ERRORS + REGULAR + i)
        share.append(0.0)
        if i == 0 or broad - regular[i] <= SUSPECT:
            out.append(regular[i] + np.log1p(-r - place))
            continue
        weight = sum(p for p, _ in seen)
        mean = sum(p * v for p, v in seen) / weight if weight else 0.0
        spread = sum(p * (v - mean) ** 2 for p, v in seen)
        k, a = FEW + weight, SHAPE + 0.5 * weight
        b = SHAPE * BROAD**2 + 0.5 * spread + 0.5 * FEW * weight / k * mean**2
        scale = np.sqrt(b / a * (k + 1) / k)
        far = student.logpdf(u[i], 2 * a, loc=weight * mean / k, scale=scale) + slope[i] + np.log(r + place)
        out.append(np.logaddexp(far, regular[i] + np.log1p(-r - place)))
        p = np.exp(far - out[-1])
        share[i], errors = p * place / (place + r), errors + p * r / (place + r)
        seen.append((p, u[i]))
    return np.array(out), np.array(share)


@pytest.mark.parametrize("far", [(), (20,), (8, 9, 30, 41)])
def test_it_is_what_one_says_reading_by_reading(far):
    data = observations(50, far=far)
    data = Observations(data.numbers, data.at, data.X, data.y, Frame((1.0, 1.0), standardise=False))
    sheaf = sheaf_of(data, [row()], known=Standard())
    density, share = one_by_one(sheaf.window, sheaf.regular[0, 0])
    np.testing.assert_allclose(sheaf.judged.log_density[0, 0], density, atol=1e-9)
    np.testing.assert_allclose(sheaf.judged.share[0], share, atol=1e-12)


def test_one_wrong_reading_among_many_good_ones_is_an_error():
    for seed in range(5):
        data = observations(60, seed=seed, far=(40,))
        sheaf = sheaf_of(data, [row()])
        assert np.flatnonzero(sheaf.labels[0]).tolist() == [40]
        assert sheaf.judged.share[0, 40] < 0.5
        rate, _ = place_rate(sheaf.window, sheaf.judged.share[0], data.X[40:41])
        assert rate < 0.1


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_three_far_readings_in_a_corner_are_a_cliff(seed):
    data, over = cliff(seed=seed)
    sheaf = sheaf_of(data, [row()])
    assert 3 <= over.sum() <= 5
    np.testing.assert_array_equal(sheaf.labels[0], over)
    assert (sheaf.judged.share[0, over][2:] > 0.8).all()
    rates, _ = place_rate(sheaf.window, sheaf.judged.share[0], np.array([[0.15, 0.15], [0.9, 0.9]]))
    assert rates[0] > 0.15
    assert rates[1] < 0.01


def test_rates_are_means_of_shares_by_distance():
    data = observations(12)
    sheaf = sheaf_of(data, [row()])
    q = np.random.default_rng(0).random(12)
    X = np.random.default_rng(1).random((5, 2))
    g = np.exp(-0.5 * ((X[:, None] - data.X[None]) ** 2).sum(axis=2) / data.frame.neighbourhood**2)
    rates, slopes = place_rate(sheaf.window, q, X)
    np.testing.assert_allclose(rates, (SEEDED + g @ q) / (1 + g.sum(axis=1)))
    for x, slope in zip(X, slopes, strict=True):
        numeric = finite_difference(lambda z: place_rate(sheaf.window, q, z[None])[0][0], x)
        np.testing.assert_allclose(slope, numeric, atol=1e-8)
    away, _ = place_rate(sheaf.window, q, np.array([[50.0, 50.0]]))
    assert away == pytest.approx(SEEDED)


def test_the_scale_of_far_readings_is_normal_inverse_gamma():
    u, weights = np.array([3.0, 5.5, -1.0]), np.array([1.0, 0.5, 0.25])
    scale = Scale.prior(1)
    for value, weight in zip(u, weights, strict=True):
        scale = scale.after(value, np.array([weight]))
    n, mean = weights.sum(), weights @ u / weights.sum()
    assert (scale.n[0], scale.mean[0]) == pytest.approx((n, mean))
    assert scale.squares[0] == pytest.approx(weights @ (u - mean) ** 2)
    df, location, width = (each[0] for each in scale.moments)
    grid = np.linspace(-400, 400, 400_001)
    assert np.trapezoid(np.exp(scale.log_density(grid)), grid) == pytest.approx(1.0, abs=1e-3)
    assert scale.log_density(4.0)[0] == pytest.approx(student.logpdf(4.0, df, location, width))
    np.testing.assert_allclose(scale.below(np.array([4.0]))[0], student.cdf(4.0, df, location, width))


def test_no_reading_is_no_news():
    scale = Scale.prior(2).after(7.0, np.zeros(2))
    assert all((each == 0).all() for each in (scale.n, scale.mean, scale.squares))
