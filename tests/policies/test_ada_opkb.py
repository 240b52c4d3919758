"""ADA-OPKB: its constants, its distribution, its schedule's law, its tests, and what it does in a world that turns."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Int
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Empirical
from driftwise.log.codec import dumps, loads
from driftwise.policies import policy, replay
from driftwise.policies.ada_opkb import AdaOpkb, least_scheduled, optimise
from driftwise.policies.opkb_design import Arms
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 12))


def independent(n: int, **options) -> AdaOpkb:
    """n arms that say nothing of each other: K = I."""
    kernel = Empirical(tuple(map(tuple, np.eye(n).tolist())))
    return AdaOpkb.of(Candidates(np.arange(float(n))), kernel=kernel, **options)


def play(made, truth, horizon, seed=0, noise=0.1):
    """The log of a run against truth(t) -> rewards of all candidates."""
    state, log = made.start(), []
    index = {tuple(x): i for i, x in enumerate(made.space.points.tolist())}
    draws = noise * np.random.default_rng(seed).standard_normal(horizon + 1)
    for t in range(1, horizon + 1):
        x = tuple(made.choose(state, Ask(t, float(t), seed=seed)).tolist())
        log.append(Observation(t, float(t), x, float(truth(t)[index[x]] + draws[t])))
        state = made.update(state, log[-1])
    return log, state


def test_the_constants_of_the_theorem():
    """c0·β_j·μ_j = 2γ; 20·μ_j·β_j ≤ γ; μ_j ≤ ½."""
    made = AdaOpkb.of(LINE, horizon=10_000, theory=True)
    for j in range(6):
        c0 = made.threshold(j, j) / (4 * made.mu(j))
        assert c0 * made.beta(j) * made.mu(j) == pytest.approx(2 * made.arms.gamma)
        assert 20 * made.mu(j) * made.beta(j) <= made.arms.gamma
        assert made.mu(j) <= 0.5


def test_the_published_setting():
    """100 points on the sphere of R^10, T = 10⁴: γ ≈ 69.3, α = 0.903, E = 39, and a threshold of 0.552."""
    X = np.random.default_rng(0).standard_normal((100, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    made = AdaOpkb.of(Candidates(X), kernel=RBF(0.2), horizon=10_000, c0=1.38)
    assert made.arms.gamma == pytest.approx(69.3, abs=0.05)
    assert made.alpha == pytest.approx(0.903, abs=5e-4)
    assert made.first == 39
    assert made.threshold(0, 0) == pytest.approx(0.552)
    theory = AdaOpkb.of(Candidates(X), kernel=RBF(0.2), horizon=10_000, theory=True)
    assert theory.first == pytest.approx(7_700, rel=0.01)
    assert theory.threshold(0, 0) > 80


def test_optimised_by_hand():
    """Three independent arms, β = 20, α = ½: P* and π({1, 2}), half each."""
    arms, gaps = Arms.of(np.eye(3), 0.01), np.array([0, 0.2, 1.0])
    Q = optimise(arms, gaps, alpha=0.5, beta=20.0)
    np.testing.assert_allclose(Q, [0.574449, 0.387139, 0.038412], atol=2e-6)
    np.testing.assert_allclose(np.diagonal(arms.precision(Q)), [1.711, 2.518, 20.656], atol=1e-3)
    assert Q @ gaps == pytest.approx(0.115839, abs=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_distribution_must_satisfy(seed):
    """ΣQΔ ≤ (1+α)γ/β; v_Q ≤ βΔ + 2γ; v_Q ≤ β²Δ²/(2αγ) + 2γ, at weights ½ and ½."""
    made = AdaOpkb.of(LINE, horizon=5_000, theory=True)
    gaps = np.abs(np.random.default_rng(seed).standard_normal(12))
    gaps -= gaps.min()
    gamma, alpha = made.arms.gamma, made.alpha
    for j in (1, 4):
        beta, Q = made.beta(j), made.optimise(gaps, j)
        v = np.diagonal(made.arms.precision(Q))
        assert Q @ gaps <= (1 + alpha) * gamma / beta + 1e-5
        assert (v <= beta * gaps + 2 * gamma + 1e-4).all()
        assert (v <= (beta * gaps) ** 2 / (2 * alpha * gamma) + 2 * gamma + 1e-4).all()


def test_the_law_of_the_schedule():
    """In block 2 the rounds play indices 0, 1, 2 with probabilities 0.5, 0.3536, 0.1464."""
    counts, seeds = np.zeros(3), 3000
    for seed in range(seeds):
        replays = AdaOpkb.of(LINE, seed=seed).schedule(50, 2)
        for slot in range(4):
            m = least_scheduled(replays, slot)
            counts[2 if m is None else m] += 1
    p = np.array([0.5, 0.5 * 2**-0.5, 0.5 * (1 - 2**-0.5)])
    np.testing.assert_allclose(p, [0.5, 0.3536, 0.1464], atol=1e-4)
    # a slot of index 1 covers two of the four, so that a seed counts for two draws at least
    assert (np.abs(counts / (4 * seeds) - p) < 4 * np.sqrt(p * (1 - p) / (2 * seeds))).all()


def test_the_restart_test_by_hand():
    new, old = np.array([0, 0.2, 1.0]), np.array([1.0, 0.2, 0])
    tuned, theory = independent(3, c0=1.38), independent(3, theory=True)
    assert tuned.changed(new, 0, (old,))
    assert not theory.changed(new, 0, (old,))
    assert not tuned.changed(new, 0, (new,))
    assert not tuned.changed(new, 0, ())
    assert not tuned.changed(None, 0, (old,))


def test_the_estimate_shrinks_as_it_should():
    """K = I under uniform play: E R̂ = r·P/(P + c)."""
    made, r = independent(4, horizon=100, adaptive=False), np.array([0.8, 0.1, -0.5, 0.3])
    state = made.start()
    total = sum(P * y * state.plays[0].M[:, i] for i, (P, y) in enumerate(zip(state.plays[0].P, r, strict=True)))
    np.testing.assert_allclose(total, r * 0.25 / 0.26, atol=1e-6)


def test_it_restarts_when_the_world_turns_and_not_before():
    """With blocks long enough for the estimates: at the tuned c0 and c3 their noise alone exceeds the threshold."""
    r = np.linspace(-0.8, 0.8, 4)
    made = independent(4, horizon=2000, c0=1.38, c3=0.5)
    _, still = play(made, lambda t: r, 1500, noise=0.0)
    assert (still.restarts, still.j) == (0, 3)
    turn = 7 * made.first  # as block 3 begins
    _, turned = play(made, lambda t: r if t <= turn else -r, 15 * made.first + 1, noise=0.0)
    assert turned.restarts >= 1
    plain = independent(4, horizon=2000, c3=0.5, adaptive=False)
    _, unaware = play(plain, lambda t: r if t <= turn else -r, 15 * made.first + 1, noise=0.0)
    assert (unaware.restarts, unaware.j) == (0, 4)


def test_opkb_finds_the_best_arm_of_a_still_world():
    r = np.array([-0.5, 0.0, 0.3, 0.8])
    made = independent(4, horizon=2000, adaptive=False)
    log, state = play(made, lambda t: r, 1500)
    assert np.mean([o.x[0] == 3.0 for o in log[-500:]]) > 0.8
    mean, _ = made.belief(state, Ask(1501, 1501.0)).predict(made.space.points)
    np.testing.assert_allclose(mean[3], 0.8, atol=0.05)


def test_rounds_may_be_missing():
    """The clock runs by the numbers; blocks begin when they begin, and estimates divide by what was seen."""
    made = independent(3, horizon=300)
    E = made.first
    state = replay(made, [Observation(1, 1.0, (0.0,), 0.5), Observation(8 * E, 1.0, (1.0,), 0.5)])
    assert (state.j, state.begun, state.clock, state.tally.count) == (3, 7 * E + 1, 8 * E + 1, 2)


def test_rewards_in_any_range():
    """The range is what maps them to [−1, 1]; recommendations come back in the user's units."""
    r = np.array([0.0, 0.5, -0.5])
    log, state = play(independent(3), lambda t: r, 200)
    wide = independent(3, low=900.0, high=1100.0)
    scaled = replay(wide, [Observation(o.number, o.at, o.x, 1000 + 100 * o.y) for o in log])
    np.testing.assert_allclose(scaled.tally.total, state.tally.total, atol=1e-8)
    assert wide.belief(scaled, Ask(201, 201.0)).units == (1000.0, 100.0)


def test_finite_spaces_only():
    with pytest.raises(InvalidInput, match="finitely many"):
        policy("ada-opkb", {"x": Float(0, 1)})
    assert len(policy("ada-opkb", {"x": Int(1, 5)}).arms) == 5


def test_written_down_and_read_back():
    made = AdaOpkb.of(LINE, horizon=70, theory=True, seed=3)
    assert loads(dumps(made)) == made
