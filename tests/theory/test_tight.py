"""The best bounds, step by step of their proofs, against brute force and in simulation; and the lower bound."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Posterior, policy
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Empirical, Level, Linear, Matern
from driftwise.records import Ask, Observation
from driftwise.theory import (
    MaximumGain,
    Problem,
    best,
    drift_aware_bound,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    tight_restart_bound,
    tight_spread,
    tight_window_bound,
)
from driftwise.theory.bounds import spread
from driftwise.theory.lower import _wrong, lower_bound, lower_order, two_points
from driftwise.theory.tight import restart_drift, window_drift
from driftwise.theory.widths import MixtureBand

KERNEL, R = RBF(0.2), 0.1
SPACE = Candidates(np.linspace(0, 1, 25)[:, None])
X = SPACE.points


def problem(*, horizon=300, budget=2.0, noise=1.0, B=1.0, R=R, delta=0.1):
    gain = MaximumGain(KERNEL, noise, SPACE.coordinates)
    return Problem(gain.upper, horizon, budget, B=B, R=R, noise=noise, delta=delta)


# --- the sum of the deviations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [1e-3, 0.01, 0.3, 1.0, 5.0])
def test_no_deviations_sum_to_more(noise):
    """σ_t in (0, 1] at random, all equal, and all 0 or 1: Σσ ≤ n ĥ(Σg/n), and two of the weaker forms are weaker."""
    rng, n = np.random.default_rng(0), 12
    for _ in range(500):
        s = rng.choice([rng.random(n) ** rng.integers(1, 9), np.full(n, rng.random()), rng.random(n) < rng.random()])
        gain = 0.5 * float(np.log1p(s.astype(float) ** 2 / noise).sum())
        tight = tight_spread(n, noise, gain)
        chord = math.sqrt(2 * n * gain / math.log1p(1 / noise))
        assert s.sum() <= tight + 1e-9
        assert tight <= min(chord, n) + 1e-9
        assert chord <= spread(n, noise, gain) + 1e-9


@pytest.mark.parametrize("H", [1, 2, 10, 1000])
def test_the_range_of_correction_11(H):
    """√(4(H+2)γ_H) holds for n orthogonal features exactly if ln(1 + 1/λ) ≥ H/(2(H+2))."""
    edge = 1 / math.expm1(H / (2 * (H + 2)))
    for noise, holds in ((0.99 * edge, True), (1.01 * edge, False)):
        gain = H / 2 * math.log1p(1 / noise)  # every σ is 1
        assert (math.sqrt(4 * (H + 2) * gain) >= H) == holds
    assert edge == pytest.approx({1: 5.51, 1000: 1.55}.get(H, edge), abs=0.01)


def test_a_window_never_sums_to_more_than_its_last_points():
    """Correction 20, and the sum of a sliding window: V_{t−1} ⪰ the matrix of the points since t − w, or since t₀."""
    noise, w, points = 0.1, 6, np.random.default_rng(3).random((40, 1))
    for t0 in range(10, 30):
        sliding = sum(_std(points[t - w : t], points[t], noise) for t in range(t0, t0 + w))
        block = sum(_std(points[t0:t], points[t], noise) for t in range(t0, t0 + w))
        assert sliding <= block + 1e-12
        gained = 0.5 * np.linalg.slogdet(np.eye(w) + KERNEL(points[t0 : t0 + w], points[t0 : t0 + w]) / noise)[1]
        assert block <= tight_spread(w, noise, gained) + 1e-12


def _std(seen, x, noise):
    belief = Posterior(KERNEL, noise)
    for point in seen:
        belief = belief.append(point, 0.0)
    return float(belief.predict(x[None])[1][0])


# --- the drift term -----------------------------------------------------------------------------------------------


def test_drift_terms_by_brute_force():
    for n in range(2, 60):
        assert restart_drift(n) == pytest.approx(max(math.sqrt(j) * (n - j) for j in range(1, n)))
    assert restart_drift(1) == 0
    exact = float(np.sqrt(np.arange(1, 10_002)).sum())
    assert exact <= window_drift(10_001) <= exact + 0.3


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_what_one_change_does_to_the_means_of_a_block_and_of_windows(noise):
    """A change by 1 after step j, its signs as bad as can be at every x: no sum over the steps is above the term."""
    rng, H = np.random.default_rng(1), 12
    points = rng.random((3 * H, 1))
    for j in range(1, H):
        moved = sum(_worst(points[:t], j, noise) for t in range(j, H))
        assert moved <= restart_drift(H) / (2 * math.sqrt(noise)) + 1e-9
    moved = sum(_worst(points[t - H : t], max(H - a, 0), noise) for a, t in enumerate(range(H, 2 * H + 1)))
    assert moved <= window_drift(H) / (2 * math.sqrt(noise)) + 1e-9


def _worst(seen, changed, noise):
    """max_x Σ |α_s(x)| over the first `changed` observations."""
    if not len(seen) or not changed:
        return 0.0
    alpha = np.linalg.solve(KERNEL(seen, seen) + noise * np.eye(len(seen)), KERNEL(seen, X))
    return float(np.abs(alpha[:changed]).sum(axis=0).max())


# --- the bounds ---------------------------------------------------------------------------------------------------


def test_the_bound_by_hand():
    """T = 10, H = 4: blocks of 4, 4 and 2; λ = 1, so that Σσ = n √(e^{2γ/n} − 1)."""
    told = Problem(lambda n: n / 10, horizon=10, budget=3.0, B=2.0, R=0.5, noise=1.0, delta=0.1)
    bound = tight_restart_bound(told, 4)
    beta = math.sqrt(4 + 0.25 * (2 * 0.3 + 2 * math.log(100)))
    assert bound.estimation == pytest.approx(2 * beta * 10 * math.sqrt(math.expm1(0.2)))
    assert bound.drift == pytest.approx(3 * 3.0)  # √1 · 3 of the most
    windowed = tight_window_bound(told, 4)
    assert windowed.drift == pytest.approx(3 * sum(math.sqrt(i) for i in range(1, 5)))
    aware = drift_aware_bound(told, 4)
    assert aware.drift == pytest.approx(2 * 10 * math.sqrt(math.expm1(0.2)) * 3 / 9 * math.sqrt(1 + 4 + 9))
    told_blocks = drift_aware_bound(told, 4, even=False)
    assert told_blocks.drift == pytest.approx(2 * 4 * math.sqrt(math.expm1(0.2)) * math.sqrt(3) * 3)


@pytest.mark.parametrize("noise", [0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("budget", [0.0, 0.5, 20.0])
def test_each_is_at_most_the_one_before(noise, budget):
    told = problem(noise=noise, budget=budget)
    for n in (2, 5, 30, 150):
        assert tight_restart_bound(told, n).total <= sharp_restart_bound(told, n).total
        assert tight_window_bound(told, n).total <= sharp_window_bound(told, n).total
        if noise <= 1:
            assert sharp_restart_bound(told, n).total <= restart_bound(told, n).total


@pytest.mark.parametrize("bound", [len, lambda told, n: 0, 3])
def test_the_best_length_of_what_is_no_bound_is_refused(bound):
    with pytest.raises(InvalidInput, match="bound"):
        best(bound, problem(horizon=100))


def test_the_best_length_is_the_best_of_all():
    told = problem(horizon=60)
    n, found = best(tight_restart_bound, told)
    assert found.total == pytest.approx(min(tight_restart_bound(told, n).total for n in range(1, 61)), rel=0.01)
    assert found == tight_restart_bound(told, n)


def test_a_moving_world_with_a_bound_that_says_something():
    """P_T = 4 and T = 500 at λ = 1: Theorem 1 is at least 1.8 times 2BT whatever H is."""
    told = problem(horizon=500, budget=4.0)
    assert best(restart_bound, told)[1].vacuous
    assert best(sharp_restart_bound, told)[1].vacuous
    assert not best(tight_restart_bound, told)[1].vacuous
    assert best(tight_restart_bound, problem(horizon=10_000, budget=4.0))[1].total < 0.6 * 20_000


def simulate(made, *, budget, horizon, seed):
    """f_t = cos(a_t) g + sin(a_t) h, g and h orthonormal: the regret, with P_T = budget evenly spread."""
    rng = np.random.default_rng(seed)
    K = KERNEL(X[::5], X[::5])
    coefficients = np.linalg.solve(np.linalg.cholesky(K).T, np.linalg.qr(rng.standard_normal((5, 2)))[0])
    g, h = (KERNEL(X, X[::5]) @ coefficients).T
    angle = np.arange(horizon) * 2 * math.asin(budget / (2 * (horizon - 1)))
    f = np.outer(np.cos(angle), g) + np.outer(np.sin(angle), h)
    state, regret = made.start(), 0.0
    for t in range(1, horizon + 1):
        x = made.choose(state, Ask(number=t, at=float(t)))
        i = round(float(x[0]) * 24)
        regret += f[t - 1].max() - f[t - 1, i]
        seen = Observation(t, float(t), SPACE.coordinates[i], float(f[t - 1, i] + R * rng.standard_normal()))
        state = made.update(state, seen)
    return float(regret)


@pytest.mark.parametrize(
    ("name", "option", "bound"),
    [
        ("r-gp-ucb", "interval", tight_restart_bound),
        ("sw-gp-ucb", "window", tight_window_bound),
        ("drift-aware", "length", drift_aware_bound),
    ],
)
def test_regret_is_below_the_bound(name, option, bound):
    T, P = 150, 1.0
    told = problem(horizon=T, budget=P)
    n, found = best(bound, told)
    extra = {"forget": "restart", "drift": P / (T - 1)} if name == "drift-aware" else {}
    made = policy(name, SPACE, kernel=KERNEL, noise=1.0, width="mixture", R=R, horizon=T, **{option: n}, **extra)
    assert isinstance(made.width, MixtureBand)
    for seed in range(10):
        assert 0 < simulate(made, budget=P, horizon=T, seed=seed) <= found.total


# --- the lower bound ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loudness", [1e-9, 0.03, 0.5, 4.0, math.inf])
def test_the_integral_is_below_the_sum(loudness):
    for n in (0, 1, 7, 300):
        exact = sum(math.erfc(loudness * math.sqrt(i / 2)) if i else 1.0 for i in range(n))
        assert 0.6 * exact <= _wrong(n, loudness=loudness) <= exact + 1e-9


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("budget", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("sub_gaussian", [0.0, 0.1, 2.0])
def test_it_is_below_every_upper_bound(noise, budget, sub_gaussian):
    told = problem(noise=noise, budget=budget, R=sub_gaussian)
    C, G = two_points(KERNEL, X)
    lower = lower_bound(told, contrast=C, reach=G)
    assert 0 < lower.total <= min(told.B * 2 * 300, best(tight_restart_bound, told)[1].total)
    blocks = math.ceil(300 / lower.block)
    assert lower.size <= told.B
    assert 2 * lower.size * (blocks - 1) <= budget * (1 + 1e-12)


def test_no_policy_does_better_in_the_worlds_of_the_proof():
    """±ε g with signs drawn every h steps: even one that restarts with the blocks, and knows ‖f‖, loses more."""
    told = problem(horizon=200, budget=4.0, R=1.0)
    C, G = two_points(KERNEL, X)
    lower = lower_bound(told, contrast=C, reach=G)
    g = (KERNEL(X, X[:1]) - KERNEL(X, X[-1:]))[:, 0] / C
    assert np.abs(g).max() <= G + 1e-12
    made = policy("r-gp-ucb", SPACE, kernel=KERNEL, noise=(1.0 / lower.size) ** 2, interval=lower.block, width=0.3)
    regret = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        state, lost = made.start(), 0.0
        for t in range(1, 201):
            if (t - 1) % lower.block == 0:
                f = rng.choice([-1, 1]) * lower.size * g
            i = round(float(made.choose(state, Ask(number=t, at=float(t)))[0]) * 24)
            lost += f.max() - f[i]
            state = made.update(state, Observation(t, float(t), SPACE.coordinates[i], float(f[i] + rng.normal())))
        regret.append(lost)
    error = np.std(regret) / math.sqrt(len(regret))
    assert np.mean(regret) >= lower.total - 2 * error


@pytest.mark.parametrize("horizon", [20, 500])
def test_it_holds_for_kernels_with_negative_values(horizon):
    """k = cos π(x − y): g = cos πx is ±1 at both ends, and a policy that asks there knows the sign that much sooner."""
    angles = math.pi * np.linspace(0, 1, 5)
    kernel = Empirical(np.cos(angles[:, None] - angles).tolist())
    C, G = two_points(kernel, np.arange(5.0)[:, None])
    assert (pytest.approx(2), pytest.approx(1)) == (C, G)
    lower = lower_bound(problem(horizon=horizon, budget=0.0, R=1.0), contrast=C, reach=G)
    loud = lower.size  # the end whose rewards had the higher sum is the wrong one with probability erfc(…)/2
    regret = 2 * lower.size * sum(0.5 * math.erfc(loud * math.sqrt(n / 2)) for n in range(horizon))
    assert lower.total <= regret


@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(2.5, 0.1), 0.5 * Linear(), RBF(0.2) * Linear(), Level(0.3)])
def test_the_function_of_two_points_stays_within_its_reach(kernel):
    for points in (np.linspace(0, 1, 30)[:, None], np.linspace(-1, 1, 30)[:, None]):
        C, G = two_points(kernel, points)
        K = kernel(points, points)
        pairs = K[:, :, None] - K[:, None, :]  # k(·, x) − k(·, x′)
        distances = np.sqrt(np.maximum(np.diag(K)[:, None] + np.diag(K) - 2 * K, 0))
        furthest = distances >= distances.max() - 1e-12
        assert pytest.approx(distances.max()) == C
        assert np.abs(pairs).max(axis=0)[furthest].max() <= G * C + 1e-9


def test_orders():
    told = problem(horizon=1000, budget=8.0)
    assert lower_order(Linear(), 8, told) == {"rkhs": pytest.approx(4 * 200)}
    assert lower_order(RBF(0.2), 2, told) == {"rkhs": pytest.approx(200), "sup": pytest.approx(200)}
    rough = lower_order(Matern(0.5, 0.2), 1, told)
    assert rough == {"sup": pytest.approx(8 ** (1 / 5) * 1000 ** (4 / 5))}
    assert "rkhs" in lower_order(Matern(2.5, 0.2), 2, told)


def test_refusals():
    with pytest.raises(InvalidInput, match="interval must be ≥ 1, got 0"):
        tight_restart_bound(problem(), 0)
    with pytest.raises(InvalidInput, match="problem must be a Problem"):
        lower_bound(3)
    with pytest.raises(InvalidInput, match="bound must be a bound of a problem and a length"):
        best(0.5, problem())
    with pytest.raises(InvalidInput, match="forget must be"):
        drift_aware_bound(problem(), 3, forget="never")
