"""Both theorems' constants by hand, and regret below them in simulation."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Posterior, policy
from driftwise.errors import InvalidInput
from driftwise.records import Ask, Observation
from driftwise.theory import (
    Bound,
    Problem,
    drift_aware_band,
    drift_bias,
    paper_band,
    realised_bound,
    relaxed_drift_aware_band,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    sharp_xi,
    window_bound,
    xi,
)
from driftwise.theory.information import MaximumGain
from driftwise.theory.widths import Lemma

PROBLEM = Problem(gain=lambda n: n / 2, horizon=10, budget=3.0, B=2.0, R=0.5, noise=0.25, delta=0.1)


def test_theorem_1_by_hand():
    """H = 4, λ = ¼: γ = 2, ξ = 4 √(2·4·1.25·2) = 4√20, three blocks."""
    bound = restart_bound(PROBLEM, 4)
    assert bound.drift == pytest.approx(2 * 4 * 4 * math.sqrt(20) * 3)
    beta = 2 + 0.5 / 0.5 * math.sqrt(2 * 2 + 2 * math.log(3 / 0.1))
    assert bound.estimation == pytest.approx(2 * beta * 3 * math.sqrt(2 * 1.25 * 4 * 2))
    assert bound.trivial == 2 * 2.0 * 10
    assert bound.vacuous


def test_theorem_2_differs_in_its_union_bound_alone():
    one, two = restart_bound(PROBLEM, 4), window_bound(PROBLEM, 4)
    beta = 2 + math.sqrt(2 * 2 + 2 * math.log(10 / 0.1))
    assert two.drift == one.drift
    assert two.estimation == pytest.approx(2 * beta * 3 * math.sqrt(20))


def test_the_sharper_drift_term():
    bound = sharp_restart_bound(PROBLEM, 4)
    assert bound.drift == pytest.approx(2 * 4 * 0.5 * math.sqrt(4 / 0.25) * 3)
    assert bound.estimation == restart_bound(PROBLEM, 4).estimation
    assert sharp_window_bound(PROBLEM, 4).drift == bound.drift


@pytest.mark.parametrize("noise", [1e-4, 0.01, 1.0, 4.0])
def test_the_sharper_term_is_the_smaller(noise):
    """½√(n/λ) ≤ ξ_n where λ/4 ≤ 2(1+λ)γ_n, and 2(1+λ)γ_n ≥ (1+λ) ln(1 + 1/λ) ≥ 1: for every λ ≤ 4."""
    gain = MaximumGain(RBF(0.2), noise, tuple((x,) for x in np.linspace(0, 1, 20)))
    assert all(sharp_xi(n, noise) <= xi(n, noise, gain(n)) for n in (1, 2, 10, 100))


def test_a_length_beyond_the_horizon_is_the_horizon():
    assert restart_bound(PROBLEM, 99) == restart_bound(PROBLEM, 10)
    assert window_bound(PROBLEM, 99) == window_bound(PROBLEM, 10)


def test_a_long_still_linear_world_has_a_bound_that_says_something():
    problem = Problem(gain=lambda n: 0.5 * math.log(1 + n), horizon=10**6, budget=0.0, noise=1.0)
    bound = restart_bound(problem, 10**6)
    assert bound.drift == 0
    assert not bound.vacuous
    assert Bound(1.0, 2.0, 3.0).vacuous
    assert not Bound(1.0, 1.9, 3.0).vacuous


def test_refusals():
    with pytest.raises(InvalidInput, match="interval must be ≥ 1, got 0"):
        restart_bound(PROBLEM, 0)
    with pytest.raises(InvalidInput, match="budget must be ≥ 0, got -1"):
        Problem(gain=lambda n: 1.0, horizon=10, budget=-1)


# --- in simulation ---------------------------------------------------------------------------------------------------

T, R, NOISE, KERNEL = 80, 0.1, 0.1, RBF(0.2)
SPACE = Candidates(np.linspace(0, 1, 25)[:, None])


def simulate(made, seed):
    """f_t = cos(a_t) k(·, .2) + sin(a_t) k(·, .8), which are nearly orthogonal: the log, the regret, the exact P_T."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.2], [0.8]])
    angle = np.cumsum(rng.exponential(0.01, size=T))
    a = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    K = KERNEL(centres, centres)
    a /= np.sqrt(np.einsum("ti,ij,tj->t", a, K, a))[:, None]  # ‖f_t‖ = 1
    f = a @ KERNEL(centres, SPACE.points)
    moved = a[1:] - a[:-1]
    budget = np.sqrt(np.einsum("ti,ij,tj->t", moved, K, moved)).sum()
    state, log, regret = made.start(), [], 0.0
    for t in range(1, T + 1):
        x = made.choose(state, Ask(number=t, at=float(t)))
        i = int(np.flatnonzero(SPACE.points[:, 0] == x[0])[0])
        regret += f[t - 1].max() - f[t - 1, i]
        log.append(Observation(t, float(t), SPACE.coordinates[i], float(f[t - 1, i] + R * rng.standard_normal())))
        state = made.update(state, log[-1])
    return log, regret, float(budget)


@pytest.mark.parametrize("bounds", [(restart_bound, window_bound), (sharp_restart_bound, sharp_window_bound)])
@pytest.mark.parametrize(("name", "length"), [("r-gp-ucb", "interval"), ("sw-gp-ucb", "window")])
def test_regret_is_below_the_realised_bound_and_that_below_the_theorem(name, length, bounds):
    told = {length: 20, "horizon": T, "R": R, "noise": NOISE, "kernel": KERNEL}
    made = policy(name, SPACE, width="lemma", **told)
    for seed in range(10):
        log, regret, budget = simulate(made, seed)
        problem = Problem(made.width.gain.upper, horizon=T, budget=budget, R=R, noise=NOISE)
        bound = bounds[name == "sw-gp-ucb"](problem, 20)
        realised = realised_bound(made, log, drift=bound.drift)
        assert 0 < regret <= realised <= bound.total


def test_the_realised_bound_by_hand():
    made = policy("gp-ucb", SPACE, kernel=KERNEL, noise=1.0, width=3.0)
    log = [Observation(1, 1.0, (0.0,), 1.0), Observation(2, 2.0, (0.0,), 1.0)]
    assert realised_bound(made, log, drift=5.0) == pytest.approx(5 + 2 * 3 * (1 + math.sqrt(0.5)))


# --- bands -----------------------------------------------------------------------------------------------------------


def some_belief(n=15, noise=0.05):
    rng = np.random.default_rng(4)
    belief = Posterior(KERNEL, noise)
    for _ in range(n):
        belief = belief.append(rng.random(1), rng.standard_normal())
    return belief


def test_the_weights_are_small_where_the_variance_is():
    """‖α‖₂² ≤ σ²/λ and ‖α‖₁ ≤ √(n/λ) σ, the two steps of the proof."""
    belief, X = some_belief(), np.linspace(-0.2, 1.2, 200)[:, None]
    _, std = belief.predict(X)
    alpha = np.linalg.solve(KERNEL(belief.X, belief.X) + 0.05 * np.eye(15), KERNEL(belief.X, X)).T
    assert (np.sum(alpha**2, axis=1) <= std**2 / 0.05 + 1e-12).all()
    assert drift_bias(belief, X, drift=0.3) == pytest.approx(0.3 * np.abs(alpha).sum(axis=1))
    assert (drift_bias(belief, X, drift=0.3) <= 0.3 * math.sqrt(15 / 0.05) * std + 1e-12).all()


def test_no_weights_exceed_the_sharper_term():
    """‖α(x)‖₁ ≤ ½ √(n/λ) everywhere; with one point at λ = 1 it is attained."""
    X = np.linspace(-0.2, 1.2, 200)[:, None]
    for noise in (1e-3, 0.05, 1.0, 10.0):
        assert np.abs(some_belief(noise=noise).weights(X)).sum(axis=1).max() <= sharp_xi(15, noise)
    one = Posterior(KERNEL, 1.0).append([0.5], 1.0)
    assert one.weights(np.array([[0.5]]))[0, 0] == pytest.approx(sharp_xi(1, 1.0))


def test_the_bias_is_attained():
    """A world that moved by ±V against the signs of α is off by exactly V ‖α(x)‖₁: the term cannot be improved."""
    belief, x = some_belief(), np.array([[0.4]])
    signs = np.sign(belief.weights(x)[0])
    moved = Posterior(KERNEL, 0.05)
    for point, y, sign in zip(belief.X, belief.y, signs, strict=True):
        moved = moved.append(point, y + 0.3 * sign)
    assert moved.predict(x)[0] - belief.predict(x)[0] == pytest.approx(drift_bias(belief, x, drift=0.3))


def test_bands_by_their_parts():
    belief, X = some_belief(), np.linspace(0, 1, 50)[:, None]
    _, std = belief.predict(X)
    assert paper_band(belief, X, beta=2.0, drift=0.1, xi=7.0) == pytest.approx(2 * std + 0.7)
    assert drift_aware_band(belief, X, beta=2.0, drift=0.1) == pytest.approx(2 * std + drift_bias(belief, X, drift=0.1))
    gain = MaximumGain(KERNEL, 0.05, tuple(map(tuple, X.tolist())))
    beta = Lemma(gain)(belief, 16)
    widened = beta + 0.1 * np.sqrt(len(belief) / 0.05)
    assert relaxed_drift_aware_band(belief, X, beta=beta, drift=0.1) == pytest.approx(widened * std)
    nothing = Posterior(KERNEL, 0.05)
    assert drift_aware_band(nothing, X, beta=2.0, drift=0.1) == pytest.approx(np.full(50, 2.0))
