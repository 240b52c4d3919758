"""Local differential privacy: ε by the mechanism's likelihood ratio, its draws by their law, and the policy around."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from driftwise import RBF, Candidates, Study, policy
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.policies import replay
from driftwise.policies.ldp import Mechanism, privatise
from driftwise.policies.tgp_ucb import TgpUcb, TruncatedWidth, Truncation
from driftwise.records import Ask, Observation
from driftwise.rng import Stream, generator

LINE = Candidates(np.linspace(0, 1, 25)[:, None])


def log_of(rewards):
    return [Observation(t, float(t), LINE.coordinates[7 * t % 25], float(y)) for t, y in enumerate(rewards, 1)]


# --- the mechanism ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [Mechanism(1.0), Mechanism(0.3, bound=2.0), Mechanism(4.0, bound=0.5, centre=3.0)]
)
def test_no_report_is_more_than_e_to_the_epsilon_times_as_likely_under_any_other_reward(mechanism):
    """p(ȳ | y)/p(ȳ | y′) over a grid of all three, rewards out of bounds included; and e^ε is reached."""
    c, h, centre = mechanism.bound, mechanism.scale, mechanism.centre
    rewards = centre + np.array([-1e12, -5 * c, *np.linspace(-c, c, 41), 5 * c, 1e12])
    reports = centre + np.linspace(-c - 20 * h, c + 20 * h, 401)
    p = np.array([laplace.pdf(reports, loc=mechanism.clipped(y), scale=h) for y in rewards])
    ratio = (p.max(axis=0) / p.min(axis=0)).max()
    assert ratio == pytest.approx(math.exp(mechanism.epsilon), rel=1e-9)


def test_its_draws_are_laplacian():
    mechanism = Mechanism(epsilon=1.5, bound=2.0)
    reward = 0.7
    draws = np.array([mechanism(reward, generator(3, t, Stream.MECHANISM)) for t in range(1, 20_001)])
    assert kstest(draws, laplace(loc=reward, scale=mechanism.scale).cdf).pvalue > 0.01
    h = 2 * 2.0 / 1.5
    assert mechanism.scale == pytest.approx(h)
    # Var(ȳ − y) = 2h²; the fourth moment 24h⁴ gives its estimate a deviation of √20 h²/√n
    assert np.mean((draws - reward) ** 2) == pytest.approx(2 * h**2, abs=4 * math.sqrt(20 / 20_000) * h**2)


def test_the_second_moment():
    """E(ȳ − centre)² ≤ c²(1 + 8/ε²), reached where |y − centre| = c."""
    mechanism = Mechanism(epsilon=0.8, bound=1.5, centre=2.0)
    assert mechanism.moment == pytest.approx(1.5**2 * (1 + 8 / 0.8**2))
    draws = np.array([mechanism(9.0, generator(4, t)) for t in range(1, 20_001)]) - 2.0
    assert np.mean(draws**2) == pytest.approx(mechanism.moment, rel=0.05)


def test_privatise_draws_afresh_and_clips():
    assert len({privatise(0.5, epsilon=1.0) for _ in range(10)}) == 10
    assert privatise(50.0, epsilon=1e9, bound=2.0, centre=1.0) == pytest.approx(3.0, abs=1e-6)
    with pytest.raises(InvalidInput, match="reward must be finite"):
        privatise(math.inf, epsilon=1.0)


# --- the policy around ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "told"), [("sw-gp-ucb", {"window": 6}), ("tv-gp-ucb", {}), ("sw-linucb", {"window": 6})]
)
def test_it_is_the_inner_policy_told_reports(inner, told):
    made = policy("ldp", LINE, inner=inner, epsilon=2.0, bound=1.5, seed=11, **told)
    twin = policy(inner, LINE, noise=0.01 + 2 * 1.5**2, **told)
    assert made.inner == twin
    assert made.memory == twin.memory
    log = log_of(np.sin(np.arange(20)))
    reports = [
        Observation(s.number, s.at, s.x, made.mechanism(s.y, generator(11, s.number, Stream.MECHANISM))) for s in log
    ]
    ask = Ask(21, 21.0)
    one, other = made.belief(replay(made, log), ask), twin.belief(replay(twin, reports), ask)
    for ours, theirs in zip(one.predict(LINE.points), other.predict(LINE.points), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert made.remembers(3, newest=20, newer=17) == twin.remembers(3, newest=20, newer=17)


def test_the_state_knows_nothing_of_what_is_clipped():
    made = policy("ldp", LINE, epsilon=1.0, bound=1.0, window=8)
    ask = Ask(11, 11.0)
    far, near = (made.belief(replay(made, log_of([y] * 10)), ask).predict(LINE.points) for y in (1e6, 1.0))
    assert [a.tobytes() for a in far] == [a.tobytes() for a in near]


def test_seeds_differ_and_each_step_has_its_own_noise():
    reports = set()
    for seed in (0, 1):
        made = policy("ldp", LINE, seed=seed, inner="gp-ucb")
        reports |= {made.update(made.start(), seen).y[0] for seen in log_of([0.0, 0.0])}
    assert len(reports) == 4


def test_reports_are_not_blurred_again():
    made = policy("ldp", LINE, reported=True, window=8)
    twin = policy("sw-gp-ucb", LINE, window=8, noise=made.inner.model.noise)
    log, ask = log_of(np.linspace(-3, 3, 12)), Ask(13, 13.0)
    one, other = made.belief(replay(made, log), ask), twin.belief(replay(twin, log), ask)
    np.testing.assert_array_equal(one.predict(LINE.points), other.predict(LINE.points))


def test_the_noise_it_tells():
    assert policy("ldp", LINE, epsilon=0.5, bound=2.0, noise=0.1).inner.model.noise == pytest.approx(0.1 + 2 * 8.0**2)
    standardised = policy("ldp", LINE, epsilon=0.5, bound=2.0, noise=0.1, standardise=True)
    assert standardised.inner.model.noise == pytest.approx(0.1 + 128 / (128 + 4))
    assert policy("ldp", LINE, inner="random").inner == policy("random", LINE)
    assert Study("s", LINE, "ldp").policy.inner.model.standardise


def test_the_width_with_a_proof():
    """Truncated GP-UCB on ȳ, whose second moment is at most v: b_t = √v t^¼."""
    told = {"epsilon": 2.0, "bound": 1.0, "centre": 0.3, "B": 0.7, "delta": 0.05, "kernel": RBF(0.2), "horizon": 30}
    made = policy("ldp", LINE, width="private", **told)
    with pytest.raises(
        InvalidInput, match="width='realised' has no theorem here: Laplace noise is sub-Gaussian for no"
    ):
        policy("ldp", LINE, width="realised", **told)
    truncation = Truncation(moment=3.0)  # 1 + 8/4
    assert isinstance(made.inner, TgpUcb)
    assert (made.inner.truncation, made.inner.centre) == (truncation, 0.3)
    assert made.inner.inner.width == TruncatedWidth(truncation, B=0.7, delta=0.05, unions=30)
    assert truncation.level(16) == pytest.approx(math.sqrt(3.0) * 2)
    assert codec.loads(codec.dumps(made)) == made


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon must be > 0"),
        ({"bound": -1}, "bound must be > 0"),
        ({"seed": -1}, "seed must be ≥ 0"),
        ({"nonsense": 1}, "ldp has no option 'nonsense'"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        policy("ldp", LINE, **options)
