"""The bank of experts and their mixture: against dense normal densities, recursions by hand and other posteriors."""

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_t

from driftwise import RBF, Linear, Matern, Sum
from driftwise.bank import DOUBT, FAR, RARE, SHARE, SURE, Bank, Expert, Survey, shared
from driftwise.mixture import Mixture
from driftwise.posterior import Posterior
from driftwise.records import Observation
from driftwise.seen import CAUTION, NEAR, SPAN, Frame, Memory, Seen
from driftwise.space_time import SpaceTimePosterior
from driftwise.time_kernels import Forgetting, MaternInTime, SpaceTime

KERNELS = (RBF(0.3), Matern(2.5, 0.6))
TIMES = (Forgetting(0.0), Forgetting(0.05), MaternInTime(1.5, 20.0))
BANK = Bank(KERNELS, TIMES, (0.01, 0.1))
SQUARE = Frame((1.0, 1.0))


def window(n, seed=0, value=lambda x, t: np.sin(4 * x[0] + t / 15)):
    rng = np.random.default_rng(seed)
    seen = Seen.nothing(SQUARE)
    for i in range(1, n + 1):
        x = rng.random(2)
        y = float(value(x, i) + 0.1 * rng.standard_normal())
        seen = seen.observe(Observation(2 * i, 2.0 * i, tuple(x), y), keep=n)
    return seen


def mixed(seen, experts, now, **more):
    shares = np.arange(1, len(experts) + 1) / sum(range(1, len(experts) + 1))
    return Mixture(BANK, seen, tuple(BANK.fits(experts, seen)), shares, now, **more), shares


EXPERTS = (Expert(0, TIMES[1], 0.1), Expert(1, TIMES[0], 0.01), Expert(0, TIMES[2], 0.01, since=21))


@pytest.mark.parametrize("expert", EXPERTS)
def test_forecasts_add_up_to_the_dense_density(expert):
    seen = window(25)
    [fit] = BANK.fits([expert], seen)
    rows = slice(fit.first, None)
    assert fit.first == (0 if not expert.since else 10)  # numbers are 2, 4, …, 50
    K = BANK.kernels[expert.kernel](seen.X, seen.X) * expert.time(seen.clock, seen.clock)
    A = K[rows, rows] + expert.noise * np.eye(25 - fit.first)
    dense = multivariate_t(shape=A, df=2 * SURE).logpdf(seen.targets[rows])  # s² integrated out
    assert fit.one_ahead.sum() - 0.5 * len(A) * np.log(2 * np.pi) == pytest.approx(dense, rel=1e-10)
    y = seen.targets[rows]
    squares = y @ np.linalg.solve(A, y)
    assert fit.scale**2 == pytest.approx((2 * SURE + squares) / (2 * SURE + len(y)), rel=1e-10)


def test_an_outlier_is_no_more_against_one_expert_than_its_own_density():
    seen = window(20)
    [fit] = BANK.fits(EXPERTS[:1], seen)
    y, p = fit.targets, np.exp(fit.one_ahead)
    by_hand = np.log((1 - DOUBT) * p + DOUBT * np.exp(-0.5 * (y / FAR) ** 2) / FAR)
    np.testing.assert_allclose(fit.forecasts, by_hand, rtol=1e-12)


ONE = np.array([0, 0])  # both of one family


def test_weights_by_hand():
    p = np.array([[0.5, 0.1], [0.2, 0.4], [0.3, 0.3]])
    prior, w, family = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.6, 0.1]), np.array([0, 0, 1])
    found = shared(np.log(p), prior, w, np.array([-1, -1, -1]), family, hazard=0.3)
    for column in p.T:
        w = w * column / (w @ column)
        first = w[0] + w[1]
        stay = np.array([0.4 * first, 0.6 * first, w[2]])  # the family's weight, as the prior has it within
        w = (1 - SHARE - RARE) * w + SHARE * stay + RARE * prior
    np.testing.assert_allclose(found, w, rtol=1e-12)


def test_a_restart_gets_its_part_when_it_is_born():
    """One expert and its restart at the second observation: the weights are those of Bayes' rule by hand."""
    p = np.array([[0.5, 0.1, 0.2], [0.0, 0.6, 0.3]])
    w = np.array([0.9, 0.1])  # the first observation concerns the elder alone; then a tenth is the younger's
    for column in p.T[1:]:
        w = w * column / (w @ column)
        w = (1 - SHARE - RARE) * w + (SHARE + RARE) * np.array([1.0, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    found = shared(logs, np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([-1, 1]), ONE, hazard=0.1)
    np.testing.assert_allclose(found, w, rtol=1e-12)


def test_newborns_have_the_weight_of_their_families():
    nothing, family = np.zeros((4, 1)), np.array([0, 1, 0, 1])  # everybody predicts the same
    start = np.array([0.8, 0.2, 0.0, 0.0])
    found = shared(nothing, start, start, np.array([-1, -1, 0, 0]), family, hazard=0.1)
    assert found[2] / found[3] == pytest.approx(4.0)


def test_no_expert_ever_loses_its_weight_for_good():
    n = 100
    forecasts = np.stack([np.zeros(n), np.full(n, -50.0)])
    half, never = np.array([0.5, 0.5]), np.array([-1, -1])
    before = shared(forecasts, half, half, never, ONE, hazard=0.0)
    assert before[1] == pytest.approx((SHARE + RARE) / 2, rel=1e-9)
    strangers = shared(forecasts, half, half, never, np.array([0, 1]), hazard=0.0)
    assert strangers[1] == pytest.approx(RARE / 2, rel=1e-9)
    after = shared(forecasts[::-1, :3], half, before, never, ONE, hazard=0.0)
    assert after[1] > 0.9


def dense(expert, seen, now):
    """The expert as a posterior over space and time, on the targets themselves; its σ is of a signal of variance 1."""
    first = seen.place(expert.since)
    kernel = SpaceTime(BANK.kernels[expert.kernel], expert.time)
    X = np.column_stack([seen.X, seen.clock])[first:]
    posterior = Posterior(kernel, expert.noise, X=X, y=seen.targets[first:], K=kernel(X, X))
    return SpaceTimePosterior(posterior, now=float(seen.since_last(np.array([now]))[0]))


def scaled(each, mixture):
    return [(m, f.scale * s) for (m, s), f in zip(each, mixture.fits, strict=True)]


def test_the_mixture_is_that_of_posteriors():
    seen, X, now = window(30), np.random.default_rng(1).random((7, 2)), 67.0
    mixture, shares = mixed(seen, EXPERTS, now)
    each = scaled([dense(e, seen, now).predict(X) for e in EXPERTS], mixture)
    mean = sum(w * m for w, (m, _) in zip(shares, each, strict=True))
    square = sum(w * (s * s + m * m) for w, (m, s) in zip(shares, each, strict=True))
    got = mixture.predict(X)
    np.testing.assert_allclose(got[0], mean, atol=1e-10)
    np.testing.assert_allclose(got[1], np.sqrt(square - mean**2), atol=1e-9)
    np.testing.assert_allclose(mixture.weights(X) @ seen.targets, mean, atol=1e-10)
    optimism = sum(w * (m + 2 * s) for w, (m, s) in zip(shares, each, strict=True))
    np.testing.assert_allclose(mixture.optimism(X, 2.0), optimism, atol=1e-9)
    heaviest, (m, s) = shares[-1], each[-1]
    np.testing.assert_allclose(mixture.optimism(X, 2.0, least=0.4), heaviest * (m + 2 * s), atol=1e-9)


def test_imagined_points_are_posteriors_told_their_own_mean():
    seen, X, now = window(30), np.random.default_rng(1).random((7, 2)), 61.0
    pending = [(0.2, 0.3), (0.9, 0.1)]
    mixture, shares = mixed(seen, EXPERTS, now)
    imagined = mixture.imagine(pending)
    each = scaled([dense(e, seen, now).imagine(pending).predict(X) for e in EXPERTS], mixture)
    expected = sum(w * (m + 2 * s) for w, (m, s) in zip(shares, each, strict=True))
    np.testing.assert_allclose(imagined.optimism(X, 2.0), expected, atol=1e-9)
    np.testing.assert_allclose(imagined.predict(X)[0], mixture.predict(X)[0], atol=1e-10)


@pytest.mark.parametrize("kernels", [KERNELS, (Sum(RBF(0.4), Linear()), Matern(1.5, 0.5))])
def test_gradients_are_differences(kernels):
    bank, seen = Bank(kernels, TIMES, (0.01,)), window(20)
    mixture = Mixture(bank, seen, tuple(bank.fits(EXPERTS, seen)), np.array([0.5, 0.3, 0.2]), 41.0, ((0.5, 0.5),))
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


def test_a_survey_finds_the_expert_whose_world_it_is():
    """y drawn from one expert of the bank: the others are less likely by far."""
    rng, n, bank = np.random.default_rng(5), 150, Bank((RBF(0.1), Matern(2.5, 0.6)), TIMES, (0.01, 0.1))
    X, at = rng.random((n, 2)), np.arange(1.0, n + 1)
    for truth in (Expert(0, TIMES[0], 0.01), Expert(1, TIMES[1], 0.1)):
        K = bank.kernels[truth.kernel](X, X) * truth.time(at, at) + truth.noise * np.eye(n)
        y = np.linalg.cholesky(K) @ rng.standard_normal(n)
        survey = Survey(bank, Memory(Seen(np.arange(1, n + 1), at, X, y, SQUARE), np.zeros(n, dtype=int), n))
        experts, w = survey.live
        heaviest = experts[int(np.argmax(w))]
        assert (heaviest.kernel, heaviest.time, heaviest.since) == (truth.kernel, truth.time, 0)
        assert w.sum() == pytest.approx(1.0)


# --- rewards and times as experts see them ------------------------------------------------------------------------


def told(y, at=None, x=None):
    """Rewards at so many places far from each other."""
    n = len(y)
    times = np.arange(1.0, n + 1) if at is None else np.asarray(at, dtype=float)
    places = np.arange(n, dtype=float) if x is None else np.asarray(x, dtype=float)
    return Seen(np.arange(1, n + 1), times, places[:, None], np.asarray(y, dtype=float), Frame((1.0,)))


def test_rewards_are_standardised_with_caution_and_outliers_cut_off():
    y = np.random.default_rng(0).standard_normal(100)
    spread = np.sqrt(((y - y.mean()) ** 2).sum() / chi2.ppf(CAUTION, 99))
    np.testing.assert_allclose(told(y).targets, (y - y.mean()) / spread, rtol=1e-12)  # nothing is cut from a normal
    wild = y.copy()
    wild[[30, 77]] = 100.0, -1e9
    assert 0.9 < told(wild).units[1] / told(y).units[1] < 1.8
    assert np.abs(told(wild).targets).max() < 8
    kept = np.delete(np.arange(100), [30, 77])
    np.testing.assert_allclose(told(wild).cut[kept], y[kept])


def test_what_was_seen_at_one_place_counts_as_one():
    """Ninety looks at the top and ten elsewhere are eleven places: neither mean, spread nor outliers are the top's."""
    rng = np.random.default_rng(1)
    elsewhere, top = rng.standard_normal(10), 3 + 0.01 * rng.standard_normal(90)
    x = np.concatenate([np.arange(10.0), np.full(90, 20.0)])
    seen = told(np.concatenate([elsewhere, top]), x=x)
    places = np.append(elsewhere, top.mean())
    assert seen.standing.sum() == pytest.approx(11)
    assert seen.units[0] == pytest.approx(places.mean())
    squares = 10 * elsewhere.var() + 10 * (elsewhere.mean() - places.mean()) ** 2 + ((top - places.mean()) ** 2).mean()
    assert seen.units[1] == pytest.approx(np.sqrt(squares / chi2.ppf(CAUTION, 10)))
    assert seen.cut.tolist() == seen.y.tolist()


def test_rewards_as_they_come_where_their_kernel_is_known():
    seen = Seen(np.arange(1, 4), np.arange(3.0), np.zeros((3, 1)), np.array([5.0, 6.0, 9.0]), Frame((1.0,), False))
    assert seen.targets.tolist() == [5.0, 6.0, 9.0]


def test_rewards_that_are_nearly_all_equal_are_left_as_they_are():
    y = np.zeros(50)
    assert told(y).targets.tolist() == [0.0] * 50
    y[7] = 1.0
    assert told(y).cut.tolist() == y.tolist()


def test_time_is_counted_in_typical_gaps():
    seen = told(np.zeros(5), at=[10, 20, 30, 1000, 1010])
    assert seen.gap == 10
    assert seen.clock.tolist() == [-100, -99, -98, -1, 0]
    assert np.isfinite(told(np.zeros(4), at=[-1e308, 1e308, 1e-308, 2e-308]).clock).all()
    assert told([1.0], at=[5.0]).gap == 1.0
    assert told([1.0, 2.0], at=[5.0, 5.0]).gap == 1.0


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
    assert memory.kept.numbers.tolist() == sorted(i + 1 for i in order)


def test_a_look_elsewhere_long_ago_is_kept_and_one_too_long_ago_is_not():
    stay = [(0.1, 0.1)] * (SPAN - 1)
    assert remembered([(1.9, 1.9), *stay], most=20).kept.numbers[:2].tolist() == [1, SPAN - 18]
    assert remembered([(1.9, 1.9), *stay, (0.1, 0.1)], most=20).kept.numbers[0] == SPAN - 18


def test_where_none_are_near_the_latest_are_kept():
    X = 2 * np.random.default_rng(3).permutation(36).reshape(-1, 1)
    assert remembered(np.hstack([X, X]), most=7).kept.numbers.tolist() == list(range(30, 37))
