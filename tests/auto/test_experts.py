"""The bank of experts and their mixture: against dense normal densities, recursions by hand and other posteriors."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import multivariate_t, norm

from driftwise import RBF, Linear, Matern, Sum
from driftwise.auto.bank import PRIOR_STRENGTH, SHIFT, Bank
from driftwise.auto.data import Frame, Observations
from driftwise.auto.diagnosis import likeliest_cycle
from driftwise.auto.experts import Expert, MovingLevel
from driftwise.auto.forecasts import BURST, LOW, OUTLIER_PROBABILITY, OUTLIER_SD, STEADY
from driftwise.auto.mixture import Mixture
from driftwise.auto.stacked import SHORTEST, STABLE, break_even_width
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, Wave
from driftwise.records import Observation

KERNELS = (RBF(0.3), Matern(2.5, 0.6))
TIMES = (Forgetting(0.0), Forgetting(0.05), MaternInTime(1.5, 20.0))
BANK = Bank(KERNELS, TIMES, (0.01, 0.1))
SQUARE = Frame((1.0, 1.0))


def window(n, seed=0, value=lambda x, t: np.sin(4 * x[0] + t / 15)):
    rng = np.random.default_rng(seed)
    data = Observations.nothing(SQUARE)
    for i in range(1, n + 1):
        x = rng.random(2)
        y = float(value(x, i) + 0.1 * rng.standard_normal())
        data = data.observe(Observation(2 * i, 2.0 * i, tuple(x), y), keep=n)
    return data


def mixed(data, experts, now, **more):
    shares = np.arange(1, len(experts) + 1) / sum(range(1, len(experts) + 1))
    return Mixture(BANK, data, tuple(BANK.fits(experts, data)), shares, now, **more), shares


EXPERTS = (
    Expert(0, TIMES[1], 0.1),
    Expert(1, TIMES[0], 0.01),
    Expert(0, Cyclic(7.0, 1.0, 0.01), 0.1, earlier=((11, 0.01), (30, 0.1), (41, 0.01))),
    Expert(1, Wave(40.0, 0.75, 0.003), 0.01),
    Expert(1, TIMES[1], 0.01, level=MovingLevel(0.7, Forgetting(0.2))),
    Expert(0, TIMES[2], 0.01, since=21),
    Expert(1, TIMES[1], 0.1, stretch=(0.5, 4.0)),
)


def covariance(e, X, s, Y, t, *, level=True):
    """Of the function with its level, or without, at (X, s) and (Y, t)."""
    stretch = np.array(e.stretch or (1.0, 1.0))
    K = BANK.kernels[e.kernel](X / stretch, Y / stretch) * e.time(s, t)
    return K + e.level.variance * e.level.time(s, t) if level and e.level else K


def noise(e, numbers):
    """The noise of each observation, looked up one by one."""
    return np.array([next((x for until, x in e.earlier if n < until), e.noise) for n in numbers])


@pytest.mark.parametrize("expert", EXPERTS)
def test_forecasts_add_up_to_the_dense_density(expert):
    data = window(25)
    [fit] = BANK.fits([expert], data)
    rows = slice(fit.first, None)
    assert fit.first == (0 if not expert.since else 10)  # numbers are 2, 4, …, 50
    K = covariance(expert, data.X, data.clock, data.X, data.clock)
    A = K[rows, rows] + np.diag(noise(expert, data.numbers[rows]))
    dense = multivariate_t(shape=A, df=2 * PRIOR_STRENGTH).logpdf(data.targets[rows])  # s² integrated out
    assert fit.one_ahead.sum() - 0.5 * len(A) * np.log(2 * np.pi) == pytest.approx(dense, rel=1e-10)
    y = data.targets[rows]
    squares = y @ np.linalg.solve(A, y)
    assert fit.scale**2 == pytest.approx((2 * PRIOR_STRENGTH + squares) / (2 * PRIOR_STRENGTH + len(y)), rel=1e-10)


def test_a_shift_is_a_level_that_all_have_in_common_from_then_on():
    data, X = window(25), np.random.default_rng(1).random((7, 2))
    expert = Expert(1, TIMES[1], 0.1, shifts=(21, 40))
    since = [(data.numbers >= number).astype(float) for number in expert.shifts]
    K = covariance(expert, data.X, data.clock, data.X, data.clock) + SHIFT * sum(np.outer(b, b) for b in since)
    [fit] = BANK.fits([expert], data)
    dense = multivariate_t(shape=K + 0.1 * np.eye(25), df=2 * PRIOR_STRENGTH).logpdf(data.targets)
    assert fit.one_ahead.sum() - 12.5 * np.log(2 * np.pi) == pytest.approx(dense, rel=1e-10)
    solved = np.linalg.solve(K + 0.1 * np.eye(25), data.targets)
    for at, begun in ((data.at[-1], 2), (data.at[12], 1), (data.at[0], 0)):
        k = covariance(
            expert, X, np.full(7, data.clock_at(at) if begun == 2 else data.clock[data.at == at][0]), data.X, data.clock
        )
        mean = (k + SHIFT * sum(since[:begun], np.zeros(25))) @ solved
        got = Mixture(BANK, data, (fit,), np.ones(1), float(at)).predict(X)[0]
        np.testing.assert_allclose(got, mean, atol=1e-9)


def test_an_outlier_is_no_more_against_one_expert_than_its_own_density():
    data = window(20)
    [fit] = BANK.fits(EXPERTS[:1], data)
    y, p = fit.targets, np.exp(fit.one_ahead)
    by_hand = np.log(
        (1 - OUTLIER_PROBABILITY) * p + OUTLIER_PROBABILITY * np.exp(-0.5 * (y / OUTLIER_SD) ** 2) / OUTLIER_SD
    )
    np.testing.assert_allclose(fit.log_predictive, by_hand, rtol=1e-12)


def spoilt(data, places, by=9.0):
    y = data.y.copy()
    y[places] += by
    return Observations(data.numbers, data.at, data.X, y, data.frame)


def test_an_outlier_is_ignored_as_if_it_had_not_been_made():
    data, X = window(30), np.random.default_rng(1).random((7, 2))
    expert = Expert(1, TIMES[1], 0.01)
    fit = BANK.fits([expert], spoilt(data, [20]))[0]
    assert fit.ignored == (20,)
    rest = data.only(np.flatnonzero(np.arange(30) != 20))
    rest = Observations(rest.numbers, rest.at, rest.X, fit.targets[np.arange(30) != 20], Frame((1.0, 1.0), False))
    K = covariance(expert, rest.X, rest.clock, rest.X, rest.clock) + 0.01 * np.eye(29)
    mean = covariance(expert, X, np.zeros(7), rest.X, rest.clock) @ np.linalg.solve(K, rest.y)
    got = Mixture(BANK, spoilt(data, [20]), (fit,), np.ones(1), float(data.at[-1])).predict(X)[0]
    np.testing.assert_allclose(got, mean, atol=1e-3)
    a, b = PRIOR_STRENGTH + 29 / 2, PRIOR_STRENGTH + rest.y @ np.linalg.solve(K, rest.y) / 2
    assert fit.scale == pytest.approx(np.sqrt(b / a), rel=1e-3)
    outlying = np.log(OUTLIER_PROBABILITY) - 0.5 * (fit.targets[20] / OUTLIER_SD) ** 2 - np.log(OUTLIER_SD)
    assert fit.log_predictive[20] == pytest.approx(outlying)


@pytest.mark.parametrize("known", [12, 20, 28])
def test_the_same_outliers_are_ignored_whether_a_window_is_fitted_or_extended(known):
    data = spoilt(window(30), [8, 24])
    [whole] = BANK.fits([Expert(1, TIMES[0], 0.01)], data)
    assert whole.ignored == (8, 24)
    part = BANK.fits([Expert(1, TIMES[0], 0.01)], data.only(np.arange(known)))
    followed = data.only(np.arange(known)).followed_by(data.only(np.arange(known, 30)))
    [extended] = BANK.extended(part, followed, known=known)
    assert extended.ignored == whole.ignored


def test_a_bad_outlier_like_the_one_before_it_is_likely():
    """Its density, written out: N(0, OUTLIER_SD²) or, with probability BURST, about as far off as the one before."""
    data, expert = spoilt(window(30), [20, 21], by=-9.0), Expert(1, TIMES[1], 0.01)
    fit = BANK.fits([expert], data)[0]
    assert fit.ignored == (20, 21)
    assert fit.targets[20] < LOW
    rows = np.arange(20)
    K = covariance(expert, data.X[rows], data.clock[rows], data.X[rows], data.clock[rows]) + 0.01 * np.eye(20)
    k = covariance(expert, data.X[20:22], data.clock[20:22], data.X[rows], data.clock[rows])
    first, second = fit.targets[20:22] - k @ np.linalg.solve(K, fit.targets[rows])
    alone = OUTLIER_PROBABILITY * norm.pdf(fit.targets[21], scale=OUTLIER_SD)
    again = BURST * norm.pdf(second - first, scale=np.sqrt(STEADY**2 + 2 * expert.noise))
    assert fit.log_predictive[21] - 0.5 * np.log(2 * np.pi) == pytest.approx(np.log(alone + again), abs=0.01)
    good = BANK.fits([expert], spoilt(window(30), [20, 21], by=9.0))[0]
    assert good.ignored == (20, 21)
    alone = np.log(OUTLIER_PROBABILITY) + norm.logpdf(good.targets[21], scale=OUTLIER_SD)
    assert good.log_predictive[21] - 0.5 * np.log(2 * np.pi) == pytest.approx(alone)


def test_a_noise_that_grows_after_a_fit_is_as_if_it_had_been_assumed_from_the_start():
    data, still = window(30), Expert(1, TIMES[1], 0.01)
    before = data.only(np.arange(20))
    whole, number = before.followed_by(data.only(np.arange(20, 30))), int(data.numbers[23])
    louder = [fit.noisier(number, 0.1) for fit in BANK.fits([still], before)]
    [anew] = BANK.fits([Expert(1, TIMES[1], 0.1, earlier=((number, 0.01),))], whole)
    [grown] = BANK.extended(louder, whole, known=20)
    assert grown.expert == anew.expert
    np.testing.assert_allclose(grown.log_predictive, anew.log_predictive, atol=1e-9)
    np.testing.assert_allclose(grown.alpha, anew.alpha, atol=1e-9)


def test_what_is_seen_again_is_no_outlier():
    """A surprise at a place where nothing was seen before: alone it is ignored, and seen four times it is believed."""
    data, x = window(30), np.array([0.5, 0.5])
    data = data.only(np.flatnonzero(np.square(data.X - x).sum(axis=1) > 0.09))
    n, high = len(data), float(data.y.max() + 3.0)

    def ignored(looks):
        more = data
        for i in range(1, looks + 1):
            last = int(data.numbers[-1]) + i
            more = more.observe(Observation(last, float(last), tuple(x), high), keep=n + looks)
        return BANK.fits([Expert(1, TIMES[0], 0.01)], more)[0].ignored

    assert ignored(1) == (n,)
    assert ignored(4) == ()


def dense(expert, data, now, X, pending=(), *, level=True):
    """μ and σ at X by dense algebra, the expert's own signal variance among them; pending points tell their mean."""
    first, at = data.place(expert.since), np.array([data.clock_at(now)])
    x, t = data.X[first:], data.clock[first:]
    A = covariance(expert, x, t, x, t) + np.diag(noise(expert, data.numbers[first:]))
    y, here = data.targets[first:], np.repeat(at, len(X))
    mean = covariance(expert, X, here, x, t, level=level) @ np.linalg.solve(A, y)
    squares = y @ np.linalg.solve(A, y)
    scale = np.sqrt((2 * PRIOR_STRENGTH + squares) / (2 * PRIOR_STRENGTH + len(y)))
    told = np.vstack([x, *(np.array(p)[None] for p in pending)])
    when = np.concatenate([t, np.repeat(at, len(pending))])
    A = covariance(expert, told, when, told, when)
    A += np.diag(np.concatenate([noise(expert, data.numbers[first:]), np.full(len(pending), expert.noise)]))
    k = covariance(expert, X, here, told, when, level=level)
    prior = np.diagonal(covariance(expert, X, here, X, here, level=level))
    return mean, scale * np.sqrt(prior - np.einsum("mn,nm->m", k, np.linalg.solve(A, k.T)))


def optimistic(shares, each, beta, experts=EXPERTS):
    """Of a window of 30 observations, every second number."""
    bold = [bonus(e, 60 - max(e.since + 1, 2)) for e in experts]
    return sum(w * (m + beta * b * s) for w, b, (m, s) in zip(shares, bold, each, strict=True))


def bonus(e, age):
    ahead = range(1, max(age, 0 if e.since else STABLE) + 1)
    steps = max(sum(e.time(np.zeros(1), np.array([float(t)])).item() for t in ahead), SHORTEST)
    return brentq(lambda z: steps * norm.expect(lambda f: f - z, lb=z) - z, 0.1, 5.0)


@pytest.mark.parametrize("steps", [5.0, 60.0, 400.0, 3000.0])
def test_a_look_at_that_width_just_pays(steps):
    """A look costs z on average, and then there is the better of the two for so many steps: a million quantiles."""
    z = break_even_width(steps)
    f = norm.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)
    assert steps * np.maximum(f - z, 0).mean() == pytest.approx(z, rel=1e-3)


def test_the_mixture_is_that_of_posteriors():
    data, X, now = window(30), np.random.default_rng(1).random((7, 2)), 67.0
    mixture, shares = mixed(data, EXPERTS, now)
    each = [dense(e, data, now, X) for e in EXPERTS]
    mean = sum(w * m for w, (m, _) in zip(shares, each, strict=True))
    square = sum(w * (s * s + m * m) for w, (m, s) in zip(shares, each, strict=True))
    got = mixture.predict(X)
    np.testing.assert_allclose(got[0], mean, atol=1e-9)
    np.testing.assert_allclose(got[1], np.sqrt(square - mean**2), atol=1e-8)
    np.testing.assert_allclose(mixture.weights(X) @ data.targets, mean, atol=1e-9)
    rest = [dense(e, data, now, X, level=False) for e in EXPERTS]  # optimism: what settings differ in
    np.testing.assert_allclose(mixture.optimism(X, 2.0), optimistic(shares, rest, 2.0), atol=1e-5)
    heaviest = optimistic(shares[-1:], rest[-1:], 2.0, EXPERTS[-1:])
    np.testing.assert_allclose(mixture.optimism(X, 2.0, least=0.24), heaviest, atol=1e-5)


def test_points_asked_in_blocks_are_answered_as_all_at_once(monkeypatch):
    mixture, _ = mixed(window(30), EXPERTS, 67.0)
    X = np.random.default_rng(1).random((11, 2))
    at_once = (*mixture.predict_gradient(X), *mixture.optimism_gradient(X, 2.0), mixture.weights(X))
    monkeypatch.setattr("driftwise.auto.mixture.BLOCK", 4 * len(EXPERTS) * 30)
    in_blocks = (*mixture.predict_gradient(X), *mixture.optimism_gradient(X, 2.0), mixture.weights(X))
    for one, other in zip(at_once, in_blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_product_with_the_factors_leaves_its_argument_as_it_is():
    stacked = mixed(window(30), EXPERTS, 67.0)[0].heaviest(1.0)
    X = np.random.default_rng(1).random((len(EXPERTS), 4, 30))
    before = X.copy()
    product = stacked.times_factor(X)
    assert np.array_equal(X, before)
    for part, x, p in zip(product, X, stacked.predictors, strict=True):
        used = slice(30 - len(p.decay), None)
        np.testing.assert_allclose(part[:, used], x[:, used] @ p.fit.W.T, atol=1e-9)
        assert not part[:, : used.start].any()


@pytest.mark.parametrize(
    ("time", "since", "steps"), [(0, 0, 580), (0, 21, 560), (0, 561, 400), (1, 0, 580), (2, 301, 300)]
)
def test_the_longer_it_stood_the_bolder(time, since, steps):
    """Numbers from 20 to 600. After a restart it may last as long as there was anything before it, 400 at most."""
    few = window(30)
    data = Observations(10 * few.numbers, few.at, few.X, few.y, SQUARE)
    expert = Expert(0, TIMES[time], 0.1, since=since)
    [predictor] = mixed(data, [expert], 61.0)[0].predictors
    assert predictor.bonus == pytest.approx(bonus(expert, steps), abs=1e-4)


def test_imagined_points_are_posteriors_told_their_own_mean():
    data, X, now = window(30), np.random.default_rng(1).random((7, 2)), 61.0
    pending = [(0.2, 0.3), (0.9, 0.1)]
    mixture, shares = mixed(data, EXPERTS, now)
    imagined = mixture.imagine(pending)
    each = [dense(e, data, now, X, pending, level=False) for e in EXPERTS]
    np.testing.assert_allclose(imagined.optimism(X, 2.0), optimistic(shares, each, 2.0), atol=1e-5)
    np.testing.assert_allclose(imagined.predict(X)[0], mixture.predict(X)[0], atol=1e-9)


@pytest.mark.parametrize("known", [29, 20, 14])
def test_after_further_observations_it_is_as_if_all_had_been_there(known):
    """The factor is extended: what it says is what an expert says that begins with all of them."""
    data = window(30)
    data = Observations(data.numbers, data.at + 3.3 * np.maximum(np.arange(30) - 13, 0), data.X, data.y, SQUARE)
    before = data.only(np.arange(known))
    whole = before.followed_by(data.after(int(before.numbers[-1])))
    assert whole.gap == before.gap
    assert (abs(whole.gap - data.gap) < 0.1) == (known == 29)  # gaps become longer: all have another median
    for extended, anew in zip(
        BANK.extended(BANK.fits(EXPERTS, before), whole, known=known), BANK.fits(EXPERTS, whole), strict=True
    ):
        assert (extended.expert, extended.first) == (anew.expert, anew.first)
        np.testing.assert_allclose(extended.W, anew.W, atol=1e-9)
        np.testing.assert_allclose(extended.alpha, anew.alpha, atol=1e-9)
        np.testing.assert_allclose(extended.log_predictive, anew.log_predictive, atol=1e-9)
        np.testing.assert_allclose(extended.noises, anew.noises)


def test_times_that_are_not_whole_give_what_a_table_gives():
    """Kernels of time are tabulated where gaps are whole numbers, and computed where they are not."""
    data = window(25)
    late = Observations(data.numbers, data.at + np.where(np.arange(25) == 7, 1e-9, 0.0), data.X, data.y, SQUARE)
    for one, other in zip(BANK.fits(EXPERTS, data), BANK.fits(EXPERTS, late), strict=True):
        np.testing.assert_allclose(one.W, other.W, atol=1e-6)


@pytest.mark.parametrize("kernels", [KERNELS, (Sum(RBF(0.4), Linear()), Matern(1.5, 0.5))])
def test_gradients_are_differences(kernels):
    bank, data = Bank(kernels, TIMES, (0.01,)), window(20)
    shares = np.array([0.2, 0.2, 0.1, 0.2, 0.2, 0.1])
    mixture = Mixture(bank, data, tuple(bank.fits(EXPERTS, data)), shares, 41.0, ((0.5, 0.5),))
    X, h = 0.1 + 0.8 * np.random.default_rng(3).random((5, 2)), 1e-6
    _, _, dmean, dstd = mixture.predict_gradient(X)
    value, slope = mixture.optimism_gradient(X, 1.5)
    np.testing.assert_allclose(value, mixture.optimism(X, 1.5), atol=1e-12)
    for j, e in enumerate(h * np.eye(2)):
        (m1, s1), (m0, s0) = mixture.predict(X + e), mixture.predict(X - e)
        np.testing.assert_allclose(dmean[:, j], (m1 - m0) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(dstd[:, j], (s1 - s0) / (2 * h), atol=1e-6)
        up, down = mixture.optimism(X + e, 1.5), mixture.optimism(X - e, 1.5)
        np.testing.assert_allclose(slope[:, j], (up - down) / (2 * h), atol=1e-6)


def test_a_cycle_is_as_likely_as_all_periods_about_its_own():
    """Shares of 1 to 5 of 15: periods of 93, 100 and 107 count as one, and its heaviest is told."""
    turning = tuple(Expert(1, Wave(period, 0.75, 0.0), 0.01) for period in (93.0, 107.0, 100.0))
    others = Expert(0, TIMES[0], 0.1), Expert(1, Cyclic(24.0, 1.0, 0.0), 0.01)
    data = window(250)
    found = likeliest_cycle(mixed(data, (*turning, *others), 300.0)[0])
    assert found is not None
    assert found.period == pytest.approx(100 * data.gap)
    assert found.probability == pytest.approx(6 / 15)


def test_a_cycle_is_stated_only_if_the_log_covers_it_twice():
    data = window(50)
    longest = float(np.ptp(data.clock)) / 2
    for period, stated in ((1.01 * longest, False), (0.99 * longest, True)):
        mixture = mixed(data, (Expert(1, Wave(period, 0.75, 0.0), 0.01), Expert(0, TIMES[0], 0.1)), 60.0)[0]
        assert (likeliest_cycle(mixture) is not None) is stated
