"""The drift-aware band: its formula, its coverage over simulated worlds that drift, and what it is without drift."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Matern, policy
from driftwise.errors import InvalidInput
from driftwise.policies import replay
from driftwise.records import Ask, Observation
from oracles import finite_difference

LINE = Candidates(np.linspace(0, 1, 30)[:, None])
BOX = {"a": Float(0, 1), "b": Float(0, 1)}
TWINS = {"window": ("sw-gp-ucb", "window"), "restart": ("r-gp-ucb", "interval")}


def log_on(points, numbers, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Observation(t, float(t), tuple(points[rng.integers(len(points))].tolist()), float(rng.standard_normal()))
        for t in numbers
    ]


@pytest.mark.parametrize("forget", TWINS)
@pytest.mark.parametrize("space", [LINE, BOX], ids=["candidates", "box"])
def test_without_drift_it_is_its_twin(forget, space):
    name, option = TWINS[forget]
    told = {"kernel": Matern(2.5, 0.3), "noise": 0.01, "width": 2.0}
    made = policy("drift-aware", space, drift=0.0, forget=forget, length=9, **told)
    twin = policy(name, space, **{option: 9}, **told)
    one, other, rng = made.start(), twin.start(), np.random.default_rng(0)
    for t in range(1, 31):
        ask = Ask(t, float(t), pending=(tuple([0.0] * made.space.dim),) if t % 4 == 0 else ())
        x = made.choose(one, ask)
        np.testing.assert_allclose(x, twin.choose(other, ask), atol=0 if space is LINE else 1e-6)
        if t % 7:
            seen = Observation(t, float(t), tuple(x.tolist()), float(np.sin(5 * x[0]) + 0.1 * rng.random()))
            one, other = made.update(one, seen), twin.update(other, seen)
        assert made.remembers(t - 4, newest=t, newer=4) == twin.remembers(t - 4, newest=t, newer=4)
    assert made.memory == twin.memory


@pytest.mark.parametrize("forget", TWINS)
@pytest.mark.parametrize("total", [None, 0.7])
def test_the_band_by_dense_algebra(forget, total):
    """β σ(x) + Σ_s V_s |α_s(x)| with V_s = drift · (t − s), or the total; ages by number."""
    numbers, noise, kernel = [1, 2, 4, 5, 8, 9, 11, 12, 13], 0.1, RBF(0.2)
    made = policy("drift-aware", LINE, drift=0.03, total=total, forget=forget, length=6, kernel=kernel, noise=noise)
    log = log_on(LINE.points, numbers)
    band = made.band(replay(made, log), Ask(15, 15.0))
    kept = log[-6:] if forget == "window" else [seen for seen in log if seen.number > 12]
    X, ages = np.array([seen.x for seen in kept]), np.array([15 - seen.number for seen in kept])
    alpha = np.linalg.solve(kernel(X, X) + noise * np.eye(len(X)), kernel(X, LINE.points))
    V = 0.03 * ages if total is None else np.full(len(kept), total)
    np.testing.assert_allclose(band.bias(LINE.points), V @ np.abs(alpha), atol=1e-10)
    mean, std = band.belief.predict(LINE.points)
    np.testing.assert_allclose(band(LINE.points), mean + 2 * std + V @ np.abs(alpha), atol=1e-10)


def test_no_wider_than_the_relaxed_band():
    """Σ V_s|α_s| ≤ V √(n/λ) σ(x), V the largest."""
    made = policy("drift-aware", LINE, drift=0.05, length=20, kernel=RBF(0.2), noise=0.1)
    band = made.band(replay(made, log_on(LINE.points, range(1, 40))), Ask(40, 40.0))
    _, std = band.belief.predict(LINE.points)
    assert (band.bias(LINE.points) <= 0.05 * 20 * math.sqrt(20 / 0.1) * std + 1e-12).all()


def test_gradient_on_a_box():
    made = policy("drift-aware", BOX, drift=0.05, length=8, kernel=Matern(2.5, 0.4), noise=0.05)
    log = log_on(np.random.default_rng(3).random((50, 2)), range(1, 20))
    band = made.band(replay(made, log), Ask(20, 20.0, pending=((0.3, 0.3),)))
    X = np.random.default_rng(4).random((6, 2))
    value, slope = band.gradient(X)
    np.testing.assert_allclose(value, band(X), atol=1e-12)
    for i, x in enumerate(X):
        np.testing.assert_allclose(slope[i], finite_difference(lambda z: band(z[None])[0], x), atol=1e-5)


def test_pending_points_have_not_aged():
    made = policy("drift-aware", LINE, drift=0.05, length=8, kernel=RBF(0.2))
    state = replay(made, log_on(LINE.points, range(1, 12)))
    assert made.band(state, Ask(12, 12.0, pending=((0.0,), (1.0,)))).drift[-2:].tolist() == [0.0, 0.0]


def test_drift_is_in_the_rewards_units():
    """Rewards a hundred times as large, with a hundred times the drift, ask for the same."""
    log = log_on(LINE.points, range(1, 30))
    large = [Observation(seen.number, seen.at, seen.x, 7 + 100 * seen.y) for seen in log]
    told = {"length": 10, "kernel": RBF(0.2), "standardise": True}
    one, other = policy("drift-aware", LINE, drift=0.02, **told), policy("drift-aware", LINE, drift=2.0, **told)
    ask = Ask(30, 30.0)
    np.testing.assert_allclose(
        other.band(replay(other, large), ask)(LINE.points), one.band(replay(one, log), ask)(LINE.points), atol=1e-9
    )


# --- coverage ---------------------------------------------------------------------------------------------------------

RUNS, T, DELTA, R = 400, 20, 0.1, 0.1


def world(rng):
    """f_t = cos(a_t) g + sin(a_t) h, g and h orthonormal in the RKHS, (T, n), and its largest move in a step."""
    kernel = RBF(0.2)
    centres = LINE.points[rng.choice(30, size=5, replace=False)]
    directions, _ = np.linalg.qr(rng.standard_normal((5, 2)))
    basis = np.linalg.solve(np.linalg.cholesky(kernel(centres, centres)).T, directions)
    g, h = (kernel(LINE.points, centres) @ basis).T
    angles = np.concatenate([[0.0], np.cumsum(0.5 * rng.random(T - 1))])
    f = np.outer(np.cos(angles), g) + np.outer(np.sin(angles), h)
    return f, float(np.abs(np.diff(f, axis=0)).max())


def misses(made, f, rng):
    """Whether f_t was ever outside μ ± (β σ + bias), at any candidate and any t; and outside μ ± β σ."""
    state, with_bias, without = made.start(), False, False
    for t in range(1, T + 1):
        ask = Ask(t, float(t))
        band = made.band(state, ask)
        mean, std = band.belief.predict(LINE.points)
        error = np.abs(f[t - 1] - mean)
        with_bias |= bool((error > band.beta * std + band.bias(LINE.points)).any())
        without |= bool((error > band.beta * std).any())
        i = int(np.flatnonzero((made.choose(state, ask) == LINE.points).all(axis=1))[0])
        y = float(f[t - 1, i] + R * rng.standard_normal())
        state = made.update(state, Observation(t, float(t), LINE.coordinates[i], y))
    return with_bias, without


@pytest.mark.slow
@pytest.mark.parametrize("forget", TWINS)
def test_the_band_covers_with_the_probability_it_says(forget):
    """‖f_t‖ = 1: B = 1. The band with the bias misses in a tenth of the runs at most; without it, in three."""
    rng, counts = np.random.default_rng(7), np.zeros(2)
    for _ in range(RUNS):
        f, drift = world(rng)
        made = policy(
            "drift-aware", LINE, drift=drift, forget=forget, length=8, kernel=RBF(0.2), noise=R**2,
            width="realised", B=1.0, R=R, delta=DELTA, horizon=T,
        )  # fmt: skip
        counts += misses(made, f, rng)
    assert counts[0] <= DELTA * RUNS
    assert counts[1] > 3 * DELTA * RUNS


def test_length_and_rate_from_the_budget():
    told = {"kernel": RBF(0.2), "noise": 0.1, "horizon": 500}
    gamma = policy("sw-gp-ucb", LINE, window=1, width="lemma", **told).width.gain(500)
    made = policy("drift-aware", LINE, budget=20.0, **told)
    assert made.length == round(gamma ** (1 / 3) * 25 ** (2 / 3))
    assert made.drift == 20 / 499  # of 499 steps


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drift": -0.1}, "drift must be ≥ 0"),
        ({"total": math.inf}, "total must be finite"),
        ({"forget": "never"}, "forget must be one of window, restart"),
        ({"length": 0}, "use gp-ucb to keep everything"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        policy("drift-aware", LINE, **options)


def test_jumps_that_are_known_in_advance():
    """A sample taken before step n of a jump is older than it; one at n is not; one to come does not count yet."""
    made = policy("drift-aware", LINE, drift=0.01, length=9, jumps={20: 0.5, 10: 1.0, 99: 7.0})
    assert made.jumps == ((10, 1.0), (20, 0.5), (99, 7.0))
    since = np.array([5.0, 9.0, 10.0, 19.0, 20.0, 29.0])
    brute = [0.01 * (30 - s) + sum(size for n, size in made.jumps if s < n <= 30) for s in since]
    np.testing.assert_allclose(made.moved(since, 30), brute)
    np.testing.assert_allclose(brute, [1.75, 1.71, 0.7, 0.61, 0.1, 0.01])
    np.testing.assert_allclose(made.moved(np.zeros(0), 30), [])


def test_where_nothing_jumped_nothing_changes():
    told = {"drift": 0.02, "length": 6}
    plain, jumping = policy("drift-aware", LINE, **told), policy("drift-aware", LINE, jumps=[(40, 1.0)], **told)
    log = log_on(LINE.points, range(1, 15))
    before, after = (made.band(replay(made, log), Ask(15, 15.0)).bias(LINE.points) for made in (plain, jumping))
    np.testing.assert_array_equal(before, after)
    ask = Ask(40, 40.0)
    before, after = (made.band(replay(made, log), ask).bias(LINE.points) for made in (plain, jumping))
    alpha = np.abs(plain.band(replay(plain, log), ask).belief.weights(LINE.points)).sum(axis=1)
    np.testing.assert_allclose(after - before, alpha, atol=1e-12)


def test_a_budget_that_may_come_at_once_is_the_total():
    told = {"horizon": 100, "budget": 2.0, "kernel": RBF(0.2)}
    even, uneven = policy("drift-aware", LINE, **told), policy("drift-aware", LINE, spread="any", **told)
    assert (even.drift, even.total) == (2 / 99, None)
    assert (uneven.total, uneven.length) == (2.0, even.length)
    for refused in ({}, {"horizon": 9}, told | {"drift": 0.1}):
        with pytest.raises(InvalidInput, match="budget"):
            policy("drift-aware", LINE, spread="any", **refused)


@pytest.mark.parametrize("jumps", ["100:0.5", [100], [(0, 1.0)], [(1, -1.0)], [(1, 2, 3)], ["ab"]])
def test_what_is_no_jump_is_refused(jumps):
    with pytest.raises(InvalidInput, match=r"jump"):
        policy("drift-aware", LINE, jumps=jumps)


def outside(jumps, *, runs=20):
    """Runs in which f leaves the band of width="realised" in a world that stands still but for a jump by 1 at 25."""
    told = {"length": 20, "drift": 0.0, "kernel": RBF(0.2), "noise": 0.01, "R": 0.1, "B": 1.0, "horizon": 40}
    made, failed = policy("drift-aware", LINE, width="realised", jumps=jumps, **told), 0
    for seed in range(runs):
        rng, state = np.random.default_rng(seed), made.start()
        f = RBF(0.2)(LINE.points, np.array([[0.5]]))[:, 0]
        left = False
        for t in range(1, 41):
            now, ask = f if t < 25 else np.zeros(30), Ask(t, float(t))  # ‖f‖ = 1, and sup |f − 0| = 1
            band = made.band(state, ask)
            mean, _ = band.belief.predict(LINE.points)
            left |= bool((np.abs(now - mean) > band(LINE.points) - mean + 1e-12).any())
            i = int(np.argmax((made.choose(state, ask) == LINE.points).all(axis=1)))
            state = made.update(state, Observation(t, float(t), LINE.coordinates[i], now[i] + 0.1 * rng.normal()))
        failed += left
    return failed


def test_the_band_holds_across_a_jump_that_it_is_told_of():
    assert outside(jumps=[(25, 1.0)]) <= 2  # δ = 0.1 of 20 runs
    assert outside(jumps=()) > 2
