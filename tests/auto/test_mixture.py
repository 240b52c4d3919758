"""The belief of all rows together: against dense algebra, finite differences and samples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from driftwise.auto.acquisition import HEARD, Acquisition
from driftwise.auto.far import place_rate
from driftwise.auto.follow import inverses
from driftwise.auto.mixture import CAUTION, Mixture
from driftwise.auto.rows import LEVELS, MovingLevel
from driftwise.auto.warps import Standard
from oracles import finite_difference
from worlds import KERNELS, TABLE, TIMES, observations, row, sheaf_of

ROWS = (
    row(),
    row(1, TIMES[0], 0.1),
    row(0, TIMES[2], 0.01, bends=(-1, 2)),
    row(1, level=MovingLevel(3.0, LEVELS[0])),
    row(0, since=9),
    row(1, TIMES[0], shift=15),
)
X = np.random.default_rng(5).random((6, 2))
PENDING = ((0.2, 0.3), (0.9, 0.1))


def mixture(rows=ROWS, *, known=None, now=34.0, pending=(), n=30, **world):
    sheaf = sheaf_of(observations(n, **world), rows, known=known)
    w = len(sheaf.window.warps)
    weights = np.random.default_rng(2).random((len(rows), w)) + 0.2
    weights = weights[np.argsort(-weights.sum(axis=1))]
    made = Mixture(sheaf, inverses(sheaf)[0], weights / weights.sum(), now)
    return made.imagine(pending) if pending else made


WORLDS = {
    "both signs": {},
    "positive": {"lowest": 0.5},
    "far": {"far": (11, 12, 20), "value": -30.0},
    "pending": {"pending": PENDING},
    "far and pending": {"far": (11, 20), "pending": PENDING, "lowest": 0.5},
}


@pytest.fixture(params=WORLDS)
def belief(request):
    made = mixture(**WORLDS[request.param])
    assert (made.far is not None) == ("far" in request.param)
    return made


def test_one_row_on_the_identity_is_a_gaussian_process_with_students_t():
    one = row(0, TIMES[1], 0.03)
    belief = mixture([one], known=Standard())
    data = belief.data
    now, clock = np.array([34.0]), data.at
    A = KERNELS[0](data.X, data.X) * one.time(clock, clock) + 0.03 * np.eye(30)
    k = KERNELS[0](data.X, X) * one.time(clock, now)
    mean, std = belief.predict(X)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(A, data.y), atol=1e-9)
    variance = 1.3 - np.einsum("nm,nm->m", k, np.linalg.solve(A, k))
    variance *= 1 + CAUTION / belief.window.places
    a, b = TABLE.strength + 15, belief.sheaf.scales[1][0, 0, -1]
    assert b == pytest.approx(belief.sheaf.scales[1][0, 0, 0] + 0.5 * data.y @ np.linalg.solve(A, data.y))
    np.testing.assert_allclose(std, np.sqrt(b / (a - 1) * variance), rtol=1e-9)
    t = student(2 * a, loc=mean, scale=np.sqrt(b / a * variance))
    less, more = belief.tails(X, mean + 0.3)
    np.testing.assert_allclose(less, t.cdf(mean + 0.3), rtol=1e-9)
    np.testing.assert_allclose(more, t.sf(mean + 0.3), rtol=1e-9)
    low, high = belief.interval(X, 0.9)
    np.testing.assert_allclose(low, t.ppf(0.05), atol=1e-9)
    np.testing.assert_allclose(high, t.ppf(0.95), atol=1e-9)
    C = KERNELS[0](X, X) - k.T @ np.linalg.solve(A, k)
    best, at = mean.max(), int(np.argmax(mean))
    left = np.maximum(np.diag(C) - C[at] ** 2 / C[at, at], 1e-12) * (1 + CAUTION / belief.window.places)
    sd = 0.7 * np.sqrt(b / a * left)  # if the function is known where it is best
    gain = (mean - best) * norm.cdf((mean - best) / sd) + sd * norm.pdf((mean - best) / sd)  # expected improvement
    worth = mean + belief.predictors.horizon[0] * gain
    np.testing.assert_allclose(Acquisition(belief, 0.7, X)(X), worth, atol=0.06 * worth.std())
    gain = 0.5 * np.linalg.slogdet(A / 0.03)[1]
    assert belief.information_gain == pytest.approx(gain)


def sampled(belief, x, count=200_000):
    """Values of the function at one setting, each of a row, a warp and a draw of its Student's t, or far."""
    rng, window = np.random.default_rng(9), belief.window
    seen, w = belief._at(x[None], belief.observed, belief.predictors), len(window.warps)
    which = rng.choice(len(belief.rows) * w, size=count, p=belief.weights.ravel())
    values = np.empty(count)
    for i, freedom in enumerate(belief.predictors.freedom.tolist()):
        for k, warp in enumerate(window.warps):
            some = which == i * w + k
            t = seen.mean[i, k, 0] + seen.std[i, k, 0] * rng.standard_t(freedom, some.sum())
            v = warp._back(warp.middle + warp.spread * t)[0]  # exactly, not as a straight line
            values[some] = v
    if belief.far is not None:
        (rate,), _ = place_rate(window, belief.far[0], x[None])
        df, location, scale = belief.sheaf.judged.scale.moments
        far = rng.random(count) < rate
        of = rng.choice(len(belief.rows), size=far.sum(), p=belief.shares)
        values[far] = np.sinh(location[of] + scale[of] * rng.standard_t(df[of]))
    return values


@pytest.mark.parametrize("world", [name for name in WORLDS if "pending" not in name])
def test_tails_and_intervals_are_those_of_samples(world):
    belief = mixture(**WORLDS[world])
    for x in X[:3]:
        values = sampled(belief, x)
        for probability in (0.05, 0.3, 0.5, 0.9):
            at = np.quantile(values, probability)
            less, more = belief.tails(x[None], np.array([at]))
            assert less[0] == pytest.approx(probability, abs=5e-3)
            assert less[0] + more[0] == pytest.approx(1.0)
            assert belief.tails(x[None], belief.quantile(x[None], probability))[0][0] == pytest.approx(probability)


@pytest.mark.parametrize("world", ["both signs", "positive"])
def test_mean_and_deviation_are_those_of_samples(world):
    """About: beyond the targets that were seen a warp goes on as a straight line."""
    belief = mixture(**WORLDS[world])
    mean, std = belief.predict(X[:3])
    for x, m, s in zip(X, mean, std, strict=False):
        values = sampled(belief, x)
        assert m == pytest.approx(values.mean(), abs=0.05 * values.std())
        assert s == pytest.approx(values.std(), rel=0.1)


def test_gradients_are_those_of_finite_differences(belief, monkeypatch):
    mean, std, dmean, dstd = belief.predict_gradient(X)
    np.testing.assert_allclose((mean, std), belief.predict(X), rtol=1e-9)
    monkeypatch.setattr("driftwise.auto.acquisition.CLIMBING", HEARD)
    score = Acquisition(belief, 0.8, X[:3])
    value, slope = score.gradient(X)
    np.testing.assert_allclose(value, score(X), rtol=1e-9)
    for i, x in enumerate(X):
        for found, numeric in (
            (dmean[i], finite_difference(lambda z: belief.predict(z[None])[0][0], x)),
            (dstd[i], finite_difference(lambda z: belief.predict(z[None])[1][0], x)),
            (slope[i], finite_difference(lambda z: score(z[None])[0], x)),
        ):
            np.testing.assert_allclose(found, numeric, atol=2e-5 * (1 + np.abs(numeric).max()))


def test_a_pending_setting_shrinks_the_deviation_and_leaves_the_mean():
    """As if it had been answered at each row's mean."""
    belief = mixture(known=Standard())
    imagined = belief.imagine(PENDING)
    np.testing.assert_allclose(imagined.predict(X)[0], belief.predict(X)[0], atol=1e-9)
    assert (imagined.predict(X)[1] <= belief.predict(X)[1] + 1e-12).all()
    there = np.array(PENDING)
    assert (imagined.predict(there)[1] < 0.9 * belief.predict(there)[1]).all()
    one_by_one = belief.imagine(PENDING[:1]).imagine(PENDING[1:])
    np.testing.assert_array_equal(one_by_one.predict(X), imagined.predict(X))


def test_a_pending_setting_counts_as_a_reading_without_value():
    """The deviation of one row, against dense algebra."""
    one = row(0, TIMES[1], 0.03)
    belief = mixture([one], known=Standard()).imagine(PENDING)
    data = belief.data
    Z, clock = np.vstack([data.X, PENDING]), np.append(data.at, [34.0, 34.0])
    A = KERNELS[0](Z, Z) * one.time(clock, clock) + 0.03 * np.eye(32)
    k = KERNELS[0](Z, X) * one.time(clock, np.array([34.0]))
    plain = np.sqrt(1.3 - np.einsum("nm,nm->m", k, np.linalg.solve(A, k)))
    seen = belief._at(X, belief._with_pending.X, belief.predictors)
    np.testing.assert_allclose(seen.plain[0], plain, rtol=1e-8)


def test_an_error_is_no_value_of_the_function():
    """After one wild reading the value of far readings is one that was read, and the mean hardly moves."""
    for value in (1e6, -1e6):
        calm, wild = (mixture([row(1, TIMES[0])], n=60, far=far, value=value) for far in ((), (59,)))
        regular = wild.units[0] + wild.units[1] * wild.far[1]
        y = np.delete(wild.data.y, 59)
        assert y.min() - 1e-9 <= regular <= y.max() + 1e-9
        before, after = (each.units[0] + each.units[1] * each.predict(X)[0] for each in (calm, wild))
        np.testing.assert_allclose(after, before, atol=0.15)
        assert wild.errors[59] > 0.5
        assert wild.errors[:59].max() == 0.0


def test_where_readings_were_far_it_is_avoided():
    data = observations(60)
    over = (data.X < 0.3).all(axis=1)
    y = data.y - 1e4 * over
    sheaf = sheaf_of(replace(data, y=y), [row(1, TIMES[0])])
    belief = Mixture(sheaf, inverses(sheaf)[0], np.full((1, 2), 0.5), 61.0)
    corner, away = Acquisition(belief, 0.8, data.X)(np.array([[0.15, 0.15], [0.6, 0.9]]))
    assert corner < away - 100


def test_large_blocks_of_settings_are_the_same_as_small_ones(monkeypatch):
    belief = mixture(far=(11,))
    many = np.random.default_rng(1).random((40, 2))
    score = Acquisition(belief, 0.8, many[:3])
    whole = belief.predict(many), score(many), belief.interval(many, 0.9)
    monkeypatch.setattr("driftwise.auto.mixture.BLOCK", 1000)
    again = belief.predict(many), score(many), belief.interval(many, 0.9)
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_nothing_read_is_the_prior():
    belief = mixture([row(), row(1)], n=0, now=1.0)
    mean, std = belief.predict(X)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    assert (std > 1).all()
    assert np.isfinite(Acquisition(belief, 0.8, X[:0]).gradient(X)[1]).all()
    assert belief.information_gain == 0.0
    assert belief.noise > 0


def test_at_a_later_time_what_drifts_is_less_certain():
    belief = mixture([row(0, TIMES[1])])
    deviations = [replace(belief, now=now).predict(X)[1] for now in (31.0, 60.0, 600.0)]
    assert (np.diff(deviations, axis=0) > 0).all()
