"""W-DBO: what it believes, what it drops and what that costs, and that it keeps bounded."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Int, Linear, Matern
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import MaternInTime, SpaceTime
from driftwise.log.codec import dumps, loads
from driftwise.policies import policy, replay
from driftwise.policies.w_dbo import GrowingWidth, WDbo
from driftwise.policies.w_dbo_relevance import overlaps, relevance
from driftwise.records import Ask, Observation
from oracles import dense_posterior

LINE = Candidates(np.linspace(0, 1, 15))
KERNEL = Matern(2.5, 0.3)


def play(made, f, horizon, seed=0):
    state, log = made.start(), []
    noise = 0.1 * np.random.default_rng(seed).standard_normal(horizon + 1)
    for t in range(1, horizon + 1):
        x = made.choose(state, Ask(t, float(t), seed=seed))
        log.append(Observation(t, float(t), tuple(x.tolist()), float(f(t, x[0]) + noise[t])))
        state = made.update(state, log[-1])
    return log, state


def drifting(t, x):
    return math.sin(3 * x + t / 15)


def fixed(**options) -> WDbo:
    return WDbo.of(LINE, **({"kernel": KERNEL, "scale": 20.0, "refit": 0, "standardise": False} | options))


def test_alpha_zero_keeps_everything_and_is_the_dense_gp():
    made = fixed(alpha=0.0)
    log, state = play(made, drifting, 60)
    rows, y = np.array([(*o.x, o.at) for o in log]), np.array([o.y for o in log])
    now = np.column_stack([LINE.points, np.full(15, 63.0)])
    mean, var = dense_posterior(SpaceTime(KERNEL, MaternInTime(1.5, 20.0)), 0.01, rows, y, now)
    ours, std = made.belief(state, Ask(63, 63.0)).predict(LINE.points)
    np.testing.assert_allclose(ours, mean, atol=1e-9)
    np.testing.assert_allclose(std**2, var, atol=1e-9)
    best = LINE.points[np.argmax(mean + math.sqrt(0.2 * math.log(120)) * np.sqrt(var))]
    np.testing.assert_array_equal(made.choose(state, Ask(63, 63.0)), best)


def test_what_is_dropped_and_paid():
    """Step by step against the loop written plainly: grow the budget, drop the least relevant while 1 + R < b."""
    made = fixed()
    log, _ = play(made, drifting, 70)
    state, kept, budget = made.start(), [], 1.0
    time = MaternInTime(1.5, 20.0)
    for seen in log:
        state = made.update(state, seen)
        kept.append(seen)
        budget *= 1.25 ** (0.0 if seen.number == 1 else 1 / 20)
        while len(kept) > 2:
            X, at = np.array([o.x for o in kept]), np.array([o.at for o in kept])
            K, C = KERNEL(X, X) * time(at, at), overlaps(KERNEL, time, X, at, seen.at)
            R = relevance(K, 0.01, np.array([o.y for o in kept]), C)
            if 1 + R.min() >= budget:
                break
            budget /= 1 + R.min()
            del kept[int(np.argmin(R))]
        assert state.belief.posterior.X[:, -1].tolist() == [o.at for o in kept]
        assert state.budget == pytest.approx(budget)
    assert len(kept) < 70


def test_the_old_goes_first():
    """At equal rewards, and places far apart, the older is the less relevant."""
    made = WDbo.of(Candidates(np.arange(10.0) * 100), kernel=KERNEL, alpha=0.0, refit=0, standardise=False)
    state = replay(made, [Observation(t, float(t), (100.0 * (t - 1),), 1.0) for t in range(1, 11)])
    assert (np.diff(made.relevances(state.belief, state.hyper)) > 0).all()


def test_it_stays_bounded_in_a_drifting_world():
    made = fixed()
    sizes = [len(play(made, drifting, n)[1].belief) for n in (100, 200)]
    assert max(sizes) < 90
    assert abs(sizes[1] - sizes[0]) < 30


def test_a_long_pause_forgets_but_not_for_ever():
    made = fixed()
    _, state = play(made, drifting, 40)
    late = 1e12
    state = made.update(state, Observation(41, late, (0.0,), 1.0))
    assert len(state.belief) == 2
    assert state.budget == 1.0
    for n in range(42, 60):
        state = made.update(state, Observation(n, late + n, (float(LINE.points[n % 15, 0]),), 1.0))
    assert len(state.belief) > 10
    assert np.isfinite(made.belief(state, Ask(60, late + 60)).predict(LINE.points)[0]).all()


def test_no_more_than_most():
    made = fixed(alpha=0.0, most=12)
    _, state = play(made, drifting, 40)
    assert len(state.belief) == 12


def test_refits_by_the_number():
    """At blocks of ten numbers, whichever of them are there; between them the hyper-parameters stay."""
    made = fixed(refit=10, standardise=True)
    log, _ = play(made, drifting, 45)
    log = [seen for seen in log if seen.number not in (20, 30, 31)]
    state, changed = made.start(), []
    for seen in log:
        after = made.update(state, seen)
        if after.hyper != state.hyper:
            changed.append(seen.number)
        state = after
    assert changed == [10, 21, 32, 40]


def test_the_fit_sees_how_fast_the_world_moves():
    def fitted(period):
        made = fixed(refit=20, standardise=True)
        return play(made, lambda t, x: math.sin(3 * x + 2 * math.pi * t / period), 119)[1].hyper.scale

    assert fitted(40) < 0.5 * fitted(400)


def test_the_first_choices_are_random_and_in_the_space():
    made = policy("w-dbo", {"x": Float(0, 1), "n": Int(1, 3)}, starts=5)
    state = made.start()
    first = {tuple(made.choose(state, Ask(t, float(t)))) for t in range(1, 6)}
    assert len(first) == 5
    for t in range(1, 25):
        x = made.choose(state, Ask(t, float(t)))
        assert made.space.to_unit(made.space.from_unit(tuple(x))) == pytest.approx(tuple(x))
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), float(x[0])))
    mean, std = made.belief(state, Ask(25, 25.0)).predict(x[None])
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@pytest.mark.parametrize("y", [0.0, 1e12])
def test_constant_and_huge_rewards(y):
    made = WDbo.of(LINE)
    state = replay(made, [Observation(t, float(t), (0.0,), y) for t in range(1, 40)])
    mean, std = made.belief(state, Ask(40, 40.0)).predict(LINE.points)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_the_width():
    made = fixed(alpha=0.0)
    _, state = play(made, drifting, 5)
    assert GrowingWidth(3)(state.belief, 6) == pytest.approx(math.sqrt(0.6 * math.log(10)))
    assert GrowingWidth(3)(made.start().belief, 1) == pytest.approx(math.sqrt(0.6 * math.log(2)))


def test_bad_options():
    with pytest.raises(InvalidInput, match="RBF or Matern"):
        WDbo.of(LINE, kernel=Linear())
    with pytest.raises(InvalidInput, match="scale must be > 0"):
        WDbo.of(LINE, scale=0)
    with pytest.raises(InvalidInput, match="nu in time"):
        WDbo.of(LINE, nu=0.5)


def test_written_down_and_read_back():
    made = WDbo.of(LINE, kernel=RBF(0.2), alpha=0.3)
    assert loads(dumps(made)) == made
