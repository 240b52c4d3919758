"""R-PERP: its batches, its elimination, and that the optimum of a still function survives."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Matern
from driftwise.errors import InvalidInput
from driftwise.log.codec import dumps, loads
from driftwise.policies import policy, replay
from driftwise.policies.r_perp import RPerp, best_interval
from driftwise.records import Ask, Observation
from oracles import dense_posterior

POINTS = np.linspace(0, 1, 30)[:, None]
LINE = Candidates(POINTS)


def rkhs_function(seed: int) -> np.ndarray:
    """Values at POINTS of a function of norm 1."""
    rng = np.random.default_rng(seed)
    centres, a = rng.random((8, 1)), rng.standard_normal(8)
    kernel = RBF(0.2)
    return kernel(POINTS, centres) @ a / math.sqrt(a @ kernel(centres, centres) @ a)


def play(made, f, horizon, seed, noise=0.1):
    state, log = made.start(), []
    draws = noise * np.random.default_rng(seed + 1000).standard_normal(horizon)
    for t in range(1, horizon + 1):
        x = made.choose(state, Ask(t, float(t), seed=seed))
        i = int(np.argmin(np.abs(POINTS[:, 0] - x[0])))
        log.append(Observation(t, float(t), tuple(x.tolist()), float(f[i] + draws[t - 1])))
        state = made.update(state, log[-1])
    return log, state


@pytest.mark.parametrize(("length", "sizes"), [(100, (10, 32, 57, 1)), (16, (4, 8, 4)), (2, (2,))])
def test_batch_sizes(length, sizes):
    made = RPerp.of(LINE, interval=length)
    assert made.batches(0) == made.batches(7) == sizes


def test_the_horizon_cuts_the_last_interval():
    made = RPerp.of(LINE, interval=100, horizon=250)
    assert [sum(made.batches(i)) for i in range(5)] == [100, 100, 50, 100, 100]
    assert [made.first(i) for i in range(5)] == [1, 101, 201, 251, 351]
    for t in range(1, 500):
        assert made.first(made.block(t)) <= t < made.first(made.block(t) + 1)


def test_a_batch_is_the_greedy_one_in_random_order():
    made = RPerp.of(LINE, interval=100, kernel=RBF(0.2))
    state = made.start()
    asked = [made.choose(state, Ask(t, float(t), seed=5)) for t in range(1, 11)]
    picked = POINTS[list(state.points)]
    assert sorted(x[0] for x in asked) == sorted(picked[:, 0])
    other = [made.choose(state, Ask(t, float(t), seed=6)) for t in range(1, 11)]
    assert [x[0] for x in asked] != [x[0] for x in other]
    for n in range(1, 10):
        _, var = dense_posterior(RBF(0.2), 0.01, picked[:n], np.zeros(n), POINTS)
        assert var[state.points[n]] == pytest.approx(var.max(), abs=1e-9)


def test_the_order_is_uniform():
    """Each point of a batch of four comes first in a quarter of the seeds."""
    made = RPerp.of(Candidates(np.arange(4.0) * 10), interval=16)
    state = made.start()
    first = [made.choose(state, Ask(1, 1.0, seed=seed))[0] for seed in range(1000)]
    share = np.array([np.mean([x == point for x in first]) for point in (0.0, 10.0, 20.0, 30.0)])
    assert (np.abs(share - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 1000)).all()


def test_elimination_is_of_the_batch_alone():
    """After each batch: {μ + βσ ≥ max (μ − βσ)} of the survivors, fitted densely to that batch's data."""
    made, f = RPerp.of(LINE, interval=100, kernel=RBF(0.2), width=1.0), rkhs_function(3)
    log, _ = play(made, f, 99, seed=3)
    survivors, begun = np.ones(30, dtype=bool), 0
    for size in made.batches(0)[:3]:
        batch = log[begun : begun + size]
        mean, var = dense_posterior(
            RBF(0.2), 0.01, np.array([o.x for o in batch]), np.array([o.y for o in batch]), POINTS
        )
        std = np.sqrt(var)
        survivors &= mean + std >= (mean - std)[survivors].max()
        begun += size
        np.testing.assert_array_equal(replay(made, log[:begun]).survivors, survivors)
        assert survivors.any()
    assert survivors.sum() < 30


def test_the_optimum_survives_with_the_probability_promised():
    """Still functions of norm 1, noise of proxy 0.1, δ = 0.1: also with the width cut to where it matters."""
    Q = 1 + math.log2(math.log2(100))
    L = math.log(4 * 30 * Q / 0.1)
    theory = 1.0 + 0.1 * math.sqrt(2 * L / 0.01)  # the paper's √β = B + (R/√λ)√(2L) where nothing moves
    lost, kept = [], []
    for seed in range(60):
        made, f = RPerp.of(LINE, interval=100, kernel=RBF(0.2), width=theory), rkhs_function(seed)
        _, state = play(made, f, 99, seed)
        assert state.batch == 3  # three eliminations lie behind
        lost.append(not state.survivors[np.argmax(f)])
        kept.append(state.survivors.mean())
    assert np.mean(lost) <= 0.1
    assert np.mean(kept) < 0.8  # and it does eliminate


def test_the_interval():
    assert best_interval(RBF(0.2), 2, 5000, 1.0) == 5000  # the formula says more than T
    T, V = 10**6, 100.0
    assert best_interval(RBF(0.2), 1, T, V) == math.ceil((T / V) ** (2 / 3) * math.log(T))
    assert best_interval(Matern(1.5, 0.2), 1, T, V) == math.ceil((T / V) ** (4 / 5.5) * math.log(T) ** (7 / 11))
    assert RPerp.of(LINE, kernel=RBF(0.2), horizon=T, variation=V).interval == best_interval(RBF(0.2), 1, T, V)
    with pytest.raises(InvalidInput, match="give interval"):
        best_interval(Linear(), 1, 100, 1.0)


def test_memory_is_the_interval():
    """Folding the last `memory` observations gives the state of all, to the last bit, wherever the log ends."""
    made = RPerp.of(LINE, interval=25, kernel=RBF(0.2))
    log, _ = play(made, rkhs_function(0), 80, seed=0)
    for end in (20, 25, 26, 49, 50, 63, 80):
        whole, tail = replay(made, log[:end]), replay(made, log[:end][-made.memory :])
        assert (whole.interval, whole.batch, whole.points) == (tail.interval, tail.batch, tail.points)
        np.testing.assert_array_equal(whole.sums, tail.sums)
        np.testing.assert_array_equal(whole.survivors, tail.survivors)


def test_missing_rewards_eliminate_nothing():
    made = RPerp.of(LINE, interval=100)
    state = replay(made, [Observation(60, 60.0, (0.0,), 1.0)])
    assert (state.batch, state.begun) == (2, 43)
    assert state.survivors.all()


def test_finite_spaces_only():
    with pytest.raises(InvalidInput, match="finitely many"):
        policy("r-perp", {"x": Float(0, 1)})


def test_written_down_and_read_back():
    made = RPerp.of(LINE, interval=70, width=1.5)
    assert loads(dumps(made)) == made
