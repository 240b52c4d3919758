"""DAL: its statistic by brute force, its false alarms, its delay, and the inner policy wherever nothing is probed."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Matern, Study, policy
from driftwise.errors import InvalidInput
from driftwise.gp.posterior import Posterior
from driftwise.policies import replay
from driftwise.policies.beliefs.landmarks import landmarks
from driftwise.policies.glr import Samples, alarm_level
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 25)[:, None])


def observation(t, x, y, **noise):
    return Observation(t, float(t), tuple(np.atleast_1d(x).tolist()), float(y), **noise)


def statistic(y, variances):
    made = Samples()
    for each, variance in zip(y, variances, strict=True):
        made = made.plus(observation(1, 0.0, each, std=math.sqrt(variance)))
    return made.statistic(99.0)


def log_likelihood(y, v):
    """Of rewards with variances v around their own weighted mean, but for what does not depend on the mean."""
    return -0.5 * np.sum((y - np.average(y, weights=1 / v)) ** 2 / v)


@pytest.mark.parametrize("n", [2, 3, 9, 40])
def test_the_statistic_is_the_likelihood_ratio_of_two_means_to_one(n):
    rng = np.random.default_rng(n)
    y, v = rng.normal(size=n) + 3.0, rng.uniform(0.1, 2.0, size=n)
    brute = [log_likelihood(y[:s], v[:s]) + log_likelihood(y[s:], v[s:]) - log_likelihood(y, v) for s in range(1, n)]
    assert statistic(y, v) == pytest.approx(max(brute), rel=1e-9)
    assert statistic(y + 1e6, v) == pytest.approx(max(brute), rel=1e-6)


def test_of_a_single_one_there_is_no_change():
    assert Samples().statistic(1.0) == statistic([3.0], [1.0]) == 0.0
    assert alarm_level(1, 0.1) == math.inf


def test_the_level_spends_delta():
    """Σ_n 2(n − 1) e^{−level(n)} = δ Σ 1/(n(n − 1)) = δ (1 − 1/N)."""
    spent = sum(2 * (n - 1) * math.exp(-alarm_level(n, 0.3)) for n in range(2, 1001))
    assert spent == pytest.approx(0.3 * (1 - 1 / 1000))


def alarms(level_of, *, runs=400, n=60, delta=0.3):
    """In how many runs of n Gaussian rewards without a change the statistic exceeds a level, ever."""
    rng, count = np.random.default_rng(7), 0
    for _ in range(runs):
        y = rng.normal(size=n)
        k = np.arange(1, n + 1)
        means = np.cumsum(y) / k
        for m in range(2, n + 1):
            s = k[: m - 1]
            after = (m * means[m - 1] - s * means[: m - 1]) / (m - s)
            if (0.5 * (means[: m - 1] - after) ** 2 * s * (m - s) / m).max() > level_of(m, delta):
                count += 1
                break
    return count


def test_alarms_are_false_no_more_often_than_delta():
    assert alarms(alarm_level) <= 0.3 * 400
    assert alarms(lambda n, delta: math.log(2 / delta)) > 0.3 * 400  # a level without the union bound does not hold


@pytest.mark.parametrize("jump", [0.4, 0.8, 3.0])
def test_how_late_a_jump_is_found(jump):
    """Without noise, j observations after n₀ alike give Z = ½(Δ/R)² n₀j/(n₀ + j): the first above the level alarms."""
    made = policy("dal", LINE, probes=4, kernel=RBF(0.2), noise=0.01)
    x, before, R2 = made.probes[2], 30, 0.01
    later = range(1, 200)
    expected = next(
        j
        for j in later
        if 0.5 * jump**2 / R2 * before * j / (before + j) > math.log(2 * (before + j) * (before + j - 1) ** 2 * 4 / 0.1)
    )
    state = made.start()
    for t in range(1, before + expected):
        state = made.update(state, observation(t, x, 1.0 if t <= before else 1.0 - jump))
        assert state.restarts == 0
    state = made.update(state, observation(before + expected, x, 1.0 - jump))
    assert (state.restarts, state.begun) == (1, before + expected + 1)
    assert all(len(s) == 0 for s in state.samples)
    assert len(state.inner) == 0


def test_a_noise_of_its_own_counts_as_that():
    """With std=R nothing changes; with 10 R the same jump is no alarm."""
    made = policy("dal", LINE, probes=2, kernel=RBF(0.2), noise=0.01)
    log = [observation(t, made.probes[0], 0.0 if t < 9 else 1.0) for t in range(1, 10)]
    assert replay(made, log).restarts == 1
    same = [observation(o.number, o.x, o.y, std=0.1) for o in log]
    assert replay(made, same).restarts == 1
    noisy = [observation(o.number, o.x, o.y, std=1.0) for o in log]
    assert replay(made, noisy).restarts == 0


def played(made, world, steps):
    state, log = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t), seed=1))
        log.append(observation(t, x, world(t, x)))
        state = made.update(state, log[-1])
    return state, log


@pytest.mark.parametrize("space", [LINE, {"a": Float(0, 1)}], ids=["candidates", "box"])
def test_between_probes_it_is_the_inner_policy_told_all(space):
    told = {"kernel": RBF(0.2), "noise": 0.01}
    made, inner = policy("dal", space, probes=3, explore=0.25, **told), policy("gp-ucb", space, **told)
    state, log = played(made, lambda t, x: math.sin(6 * x[0]), 40)
    assert state.restarts == 0
    twin = inner.start()
    for seen in log:
        i = (seen.number - 1) % 12  # ⌈3/0.25⌉
        expected = made.probes[i] if i < 3 else tuple(inner.choose(twin, Ask(seen.number, 0.0, seed=1)).tolist())
        assert seen.x == expected
        twin = inner.update(twin, seen)


def test_after_an_alarm_it_is_as_new():
    made = policy("dal", LINE, kernel=RBF(0.2), noise=0.01, explore=0.3)
    state, log = played(made, lambda t, x: (1.0 if t <= 60 else -1.0) * math.sin(6 * x[0]), 150)
    assert state.restarts == 1
    assert 61 <= state.begun <= 61 + made.period(state)  # some probe shows it in its first round after the change
    since = [observation(o.number - state.begun + 1, o.x, o.y) for o in log if o.number >= state.begun]
    fresh = replay(made, since)
    ask, later = Ask(151 - state.begun + 1, 0.0), Ask(151, 0.0)
    np.testing.assert_array_equal(made.choose(fresh, ask), made.choose(state, later))
    one, other = made.belief(fresh, ask), made.belief(state, later)
    np.testing.assert_array_equal(one.predict(LINE.points), other.predict(LINE.points))


def test_the_published_share():
    """⌈m/α_k⌉ with α_k = √(k m ln T/T): era 1 and era 4 of T = 10,000 with 4 probes; never above a half."""
    made = policy("dal", LINE, probes=4, horizon=10_000, explore="published")
    alpha = math.sqrt(4 * math.log(10_000) / 10_000)
    assert made.period(made._era(1, 0)) == math.ceil(4 / alpha)
    assert made.period(made._era(1, 3)) == math.ceil(4 / (2 * alpha))
    assert made.period(made._era(1, 10**6)) == 8
    with pytest.raises(InvalidInput, match="horizon"):
        policy("dal", LINE, explore="published")
    with pytest.raises(InvalidInput, match="published"):
        policy("dal", LINE, explore="often")


@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(1.5, 0.3), Linear()])
def test_landmarks_are_those_of_largest_variance(kernel):
    X = np.random.default_rng(0).random((60, 2))
    taken = landmarks(kernel, X, most=12)
    posterior = Posterior(kernel, 1e-10)
    for i in taken[:8]:
        std = posterior.predict(X)[1]
        assert std[i] == pytest.approx(std.max(), rel=1e-3, abs=1e-3)
        posterior = posterior.append(X[i], 0.0)
    assert len(set(taken.tolist())) == len(taken)
    if kernel == Linear():
        assert len(taken) == 2  # which span the plane


def test_landmarks_end_where_the_tolerance_is_met():
    X = np.linspace(0, 1, 101)[:, None]
    taken = landmarks(RBF(0.2), X, most=50, tolerance=0.5)
    posterior = Posterior(RBF(0.2), 1e-12)
    for i in taken[:-1]:
        posterior = posterior.append(X[i], 0.0)
    assert posterior.predict(X)[1].max() > 0.5
    assert posterior.append(X[taken[-1]], 0.0).predict(X)[1].max() <= 0.5 + 1e-6


def test_r_is_in_the_units_of_the_rewards():
    def R(**options):
        return policy("dal", LINE, **options).R

    assert R(noise=0.04) == pytest.approx(0.2)
    assert R(inner="et-gp-ucb", noise=0.04, low=0, high=10) == pytest.approx(1.0)  # 0.2 of [−1, 1]
    assert R(inner="sw-linucb", window=9, noise=0.04, R=0.3) == 0.3
    with pytest.raises(InvalidInput, match="give R"):
        R(inner="random")
    assert R(inner="random", R=0.1) == 0.1


def test_a_width_by_name_has_the_horizon_s_share_of_delta():
    """An era may begin at any of T steps, and the inner policy's band is about one era."""
    made = policy("dal", LINE, width="realised", delta=0.2, horizon=50)
    assert (made.inner.width.delta, made.inner.width.unions, made.delta) == (0.2 / 50, 1, 0.2)
    assert policy("dal", LINE, inner="sw-gp-ucb", width="lemma", delta=0.2, horizon=50).inner.width.unions == 50
    with pytest.raises(InvalidInput, match="horizon"):
        policy("dal", LINE, width="realised")


def test_of_a_linear_policy_the_probes_span_the_space():
    assert policy("dal", LINE, inner="sw-linucb", window=9).probes == ((1.0,),)


def test_with_standardised_rewards_it_does_the_same_in_any_units():
    made = policy("dal", LINE, kernel=RBF(0.2), noise=0.01, explore=0.3, standardise=True)
    plain, _ = played(made, lambda t, x: (1.0 if t <= 60 else -1.0) * math.sin(6 * x[0]), 100)
    state, log = played(made, lambda t, x: 512.0 + (1024.0 if t <= 60 else -1024.0) * math.sin(6 * x[0]), 100)
    assert (plain.restarts, plain.begun) == (state.restarts, state.begun)
    assert plain.restarts > 0
    told = policy("dal", LINE, kernel=RBF(0.2), noise=0.01, explore=0.3, standardise=True, R=1e6)
    assert replay(told, log).restarts == 0  # with noise like that there is nothing to see


@pytest.mark.parametrize("inner", ["gp-ucb", "et-gp-ucb", "sw-linucb"])
def test_a_study_of_it_opens_again(tmp_path, inner):
    space = {"price": Float(5, 20)}
    study = Study("prices", space, path=tmp_path / "s.study", policy="dal", inner=inner, explore=0.3)
    for t in range(12):
        study.tell(study.ask(), math.sin(t))
    again = Study.open("prices", path=tmp_path / "s.study")
    assert again.policy == study.policy
    assert again.ask("next").params == study.ask("next").params
