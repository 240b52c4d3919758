"""The linear ancestors against their Gaussian-process twins, dense algebra and their papers' figures."""

import math

import numpy as np
import pytest

from driftwise import Candidates, Float, Linear, policy
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.policies.beliefs.ridge import Ridge
from driftwise.records import Ask, Observation
from driftwise.theory.widths import Ellipsoid, SlidingEllipsoid
from oracles import dense_information_gain

BALL = np.random.default_rng(5).standard_normal((50, 3))
BALL /= 1.01 * np.linalg.norm(BALL, axis=1).max()
SPACE = Candidates(BALL)


def reward(t, x):
    return float(x @ np.array([np.cos(t / 30), np.sin(t / 30), 0.2]) + 0.1 * np.random.default_rng(t).standard_normal())


def played(made, steps, pending=()):
    """The points it asks for, (steps, d)."""
    state, asked = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t), pending if t % 3 == 0 else ()))
        asked.append(x)
        if t % 11:  # some are never told
            state = made.update(state, Observation(t, float(t), tuple(x.tolist()), reward(t, x)))
    return np.array(asked)


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize(
    ("name", "twin", "told"),
    [("sw-linucb", "sw-gp-ucb", {"window": 25}), ("restart-linucb", "r-gp-ucb", {"interval": 25})],
)
@pytest.mark.parametrize("standardise", [False, True])
def test_choice_for_choice_the_gaussian_process_with_a_linear_kernel(name, twin, told, noise, standardise):
    told = told | {"noise": noise, "width": 1.5, "standardise": standardise}
    pending = (SPACE.coordinates[3], SPACE.coordinates[7])
    linear = played(policy(name, SPACE, **told), 600, pending)
    assert np.array_equal(linear, played(policy(twin, SPACE, kernel=Linear(), **told), 600, pending))
    assert len(np.unique(linear, axis=0)) > 5


@pytest.mark.parametrize(("name", "told"), [("sw-linucb", {"window": 20}), ("restart-linucb", {"interval": 20})])
def test_on_a_box_too(name, told):
    box = {"a": Float(0, 1), "b": Float(0, 1)}
    twin = {"sw-linucb": "sw-gp-ucb", "restart-linucb": "r-gp-ucb"}[name]
    made, kernel = policy(name, box, **told), policy(twin, box, kernel=Linear(), **told)
    log = [
        Observation(t, float(t), tuple(x.tolist()), reward(t, np.append(x, 0.5)))
        for t, x in enumerate(np.random.default_rng(0).random((50, 2)), 1)
    ]
    one, other = made.start(), kernel.start()
    X = np.random.default_rng(1).random((7, 2))
    for seen in log:
        one, other = made.update(one, seen), kernel.update(other, seen)
        ask = Ask(seen.number + 1, float(seen.number + 1))
        for a, b in zip(
            made.belief(one, ask).predict_gradient(X), kernel.belief(other, ask).predict_gradient(X), strict=True
        ):
            np.testing.assert_allclose(a, b, atol=1e-9)


# --- D-LinUCB ---------------------------------------------------------------------------------------------------------


def test_d_linucbs_sums_by_hand():
    """d = 1, x = 1, λ = 1, ρ = ½, y = (1, 0): V = 2.5, Ṽ = 2.25 (2.375 in the authors' code), θ̂ = 0.2."""
    made = policy("d-linucb", Candidates([[1.0]]), discount=0.5, noise=1.0)
    state = made.start()
    for t, y in enumerate([1.0, 0.0], 1):
        state = made.update(state, Observation(t, float(t), (1.0,), y))
    assert (state.V.item(), state.double.item()) == (2.5, 2.25)
    mean, std = made.belief(state, Ask(3, 3.0)).predict(np.array([[1.0]]))
    assert mean[0] == pytest.approx(0.2)
    assert std[0] ** 2 == pytest.approx(0.36)


def test_the_published_codes_fault_by_hand():
    """d = 1, x = 1, λ = 1, ρ = ½: V = 2, 2.5, and Ṽ = ρ²V + 1 + (1 − ρ²) = 2.25, 2.375, where 2.25 is right."""
    made = policy("d-linucb", Candidates([[1.0]]), discount=0.5, noise=1.0, norm="faulty")
    right = policy("d-linucb", Candidates([[1.0]]), discount=0.5, noise=1.0)
    one, other = made.start(), right.start()
    for t, (V, faulty) in enumerate([(2.0, 2.25), (2.5, 2.375), (2.75, 2.4375)], 1):
        seen = Observation(t, float(t), (1.0,), 0.0)
        one, other = made.update(one, seen), right.update(other, seen)
        assert (float(one.V[0, 0]), float(one.double[0, 0])) == pytest.approx((V, faulty))
        assert one.V == other.V
    std = made.belief(one, Ask(4, 4.0)).predict(made.space.points)[1]
    assert float(std[0]) == pytest.approx(math.sqrt(2.4375) / 2.75)
    with pytest.raises(InvalidInput, match="faulty"):
        policy("d-linucb", Candidates([[1.0]]), norm="faulty", width="ellipsoid", horizon=9)


def test_d_linucb_against_its_definition():
    """V = λI + Σ ρ^{t−1−s} xxᵀ, Ṽ the same with ρ², by number: missing steps age too."""
    rho, noise, rng = 0.9, 0.3, np.random.default_rng(2)
    made = policy("d-linucb", SPACE, discount=rho, noise=noise)
    numbers = [1, 2, 5, 6, 11, 12, 13, 20]
    which, y = rng.integers(50, size=8), rng.standard_normal(8)
    state = made.start()
    for s, i, r in zip(numbers, which, y, strict=True):
        state = made.update(state, Observation(s, float(s), SPACE.coordinates[i], float(r)))
    u = rho ** (23.0 - 1 - np.array(numbers))
    X = BALL[which]
    V, double = (noise * np.eye(3) + (X.T * w) @ X for w in (u, u**2))
    inverse = np.linalg.inv(V)
    mean, std = made.belief(state, Ask(23, 23.0)).predict(BALL)
    np.testing.assert_allclose(mean, BALL @ inverse @ (X.T @ (u * y)), atol=1e-12)
    norm = inverse @ double @ inverse
    np.testing.assert_allclose(std, np.sqrt(noise * np.einsum("ij,jk,ik->i", BALL, norm, BALL)), atol=1e-12)


@pytest.mark.parametrize("norm", ["double", "single"])
def test_without_discount_it_is_the_window_that_forgets_nothing(norm):
    told = {"noise": 0.1, "width": 1.5}
    still = played(policy("sw-linucb", SPACE, window=10_000, **told), 200)
    assert np.array_equal(played(policy("d-linucb", SPACE, discount=1.0, norm=norm, **told), 200), still)


# --- lengths, discounts and widths of the papers ----------------------------------------------------------------------


def test_lengths():
    plane = Candidates([[0.6, 0.8]])
    assert policy("restart-linucb", plane, horizon=50_000, budget=10.0).interval == 464
    assert policy("sw-linucb", plane, horizon=50_000, budget=10.0).window == 464
    assert policy("sw-linucb", plane, horizon=50_000).window == math.floor(100_000 ** (2 / 3)) == 2154
    assert policy("sw-linucb", plane, horizon=50, budget=0.0).window == 50
    assert policy("d-linucb", plane, horizon=50_000, budget=10.0).discount == pytest.approx(1 - 1e-4 ** (2 / 3))
    assert 0 < policy("d-linucb", plane, horizon=2, budget=1e9).discount < 1e-2


def test_one_epoch_is_oful():
    """H = T: the ellipsoid of Abbasi-Yadkori et al. (2011) over all samples, written plainly."""
    lam, S, R, delta = 0.5, 1.0, 0.1, 0.1
    told = {"noise": lam, "width": "ellipsoid", "S": S, "R": R, "delta": delta}
    made = policy("restart-linucb", SPACE, interval=120, horizon=120, **told)
    V, b, asked = lam * np.eye(3), np.zeros(3), played(made, 120)
    for t, x in enumerate(asked, 1):
        inverse = np.linalg.inv(V)
        n = sum(1 for s in range(1, t) if s % 11)
        beta = math.sqrt(lam) * S + R * math.sqrt(2 * math.log(1 / delta) + 3 * math.log(1 + n / (3 * lam)))
        ucb = BALL @ inverse @ b + beta * np.sqrt(np.einsum("ij,jk,ik->i", BALL, inverse, BALL))
        assert np.array_equal(x, BALL[np.argmax(ucb)])
        if t % 11:
            V, b = V + np.outer(x, x), b + reward(t, x) * x


def test_the_widths_formulas():
    empty = Ridge.prior(2, 0.25)
    seen = empty.plus(np.array([1.0, 0.0]), 1.0).plus(np.array([1.0, 0.0]), 1.0)
    d, S, R, L, delta, lam = 2, 1.5, 0.2, 3.0, 0.05, 0.25
    told = {"S": S, "R": R, "L": L, "delta": delta}
    sliding = math.sqrt(lam) * S + R * math.sqrt(d * math.log((1 + 7 * L**2 / lam) / delta))
    assert SlidingEllipsoid(d, 7, **told)(seen, 3) * math.sqrt(lam) == pytest.approx(sliding)
    rho = 0.5  # Russac et al.: t − 1 = 2
    grown = L**2 * (1 - rho**4) / (d * lam * (1 - rho**2))
    fading = math.sqrt(lam) * S + R * math.sqrt(2 * math.log(1 / delta) + d * math.log(1 + grown))
    assert Ellipsoid(d, discount=rho, **told)(seen, 3) * math.sqrt(lam) == pytest.approx(fading)


@pytest.mark.parametrize("name", ["sw-linucb", "d-linucb", "restart-linucb"])
def test_their_own_width_survives_json(name):
    made = policy(name, SPACE, width="ellipsoid", horizon=50)
    assert codec.loads(codec.dumps(made)) == made
    assert made.choose(made.start(), Ask(1, 1.0)).shape == (3,)


def test_the_schedule_that_is_proved():
    """d^¼(T/V)^½: 16 dimensions, (10,000/4)^½ = 50."""
    space = Candidates(np.eye(16))
    told = {"horizon": 10_000, "budget": 4.0, "schedule": "proved"}
    assert policy("sw-linucb", space, **told).window == 100
    assert policy("restart-linucb", space, **told).interval == 100
    assert policy("d-linucb", space, **told).discount == pytest.approx(0.99)
    with pytest.raises(InvalidInput, match="schedule must be"):
        policy("d-linucb", space, horizon=10, schedule="hoped")


def test_their_own_width_goes_over_every_event():
    """T windows, T sums that fade, ⌈T/H⌉ blocks."""
    told = {"width": "ellipsoid", "horizon": 100}
    assert policy("sw-linucb", SPACE, window=30, **told).width.unions == 100
    assert policy("d-linucb", SPACE, discount=0.9, **told).width.unions == 100
    assert policy("restart-linucb", SPACE, interval=30, **told).width.unions == 4
    with pytest.raises(InvalidInput, match="width='ellipsoid' holds over a horizon"):
        policy("d-linucb", SPACE, width="ellipsoid")
    with pytest.raises(InvalidInput, match=r"assumes ‖x‖ ≤ L, got L=0.5 and a point of norm"):
        policy("d-linucb", SPACE, L=0.5, **told)
    with pytest.raises(InvalidInput, match="width='ellipsoid' has no theorem here: B and R are in the rewards' own"):
        policy("sw-linucb", SPACE, standardise=True, **told)


# --- the linear posterior ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "tolerance"), [(1.0, 1e-12), (1e-2, 1e-10), (1e-4, 1e-8), (1e-6, 1e-6)])
def test_sliding_keeps_its_digits(noise, tolerance):
    """Against a dense solve, until just before everything is computed afresh."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((511, 5)), rng.standard_normal(511)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    made = policy("sw-linucb", Candidates(X), window=8, noise=noise)
    state = made.start()
    for t in range(511):
        state = made.update(state, Observation(t + 1, t + 1.0, tuple(X[t].tolist()), float(y[t])))
    V = X[-8:].T @ X[-8:] + noise * np.eye(5)
    mean, std = state.ridge.predict(X)
    np.testing.assert_allclose(mean, X @ np.linalg.solve(V, X[-8:].T @ y[-8:]), atol=tolerance)
    np.testing.assert_allclose(std**2, noise * np.einsum("ij,ij->i", X, np.linalg.solve(V, X.T).T), atol=tolerance)


def test_imagining_leaves_the_mean():
    ridge = Ridge.prior(3, 0.1).plus(BALL[0], 1.0).plus(BALL[1], -2.0)
    imagined = ridge.imagine([SPACE.coordinates[4], SPACE.coordinates[9]])
    np.testing.assert_allclose(imagined.predict(BALL)[0], ridge.predict(BALL)[0], atol=1e-12)
    exact = ridge.plus(BALL[4], 0.0).plus(BALL[9], 0.0)
    np.testing.assert_allclose(imagined.predict(BALL)[1], exact.predict(BALL)[1], atol=1e-12)


def test_information_gain_is_the_linear_kernels():
    ridge = Ridge.from_contents(BALL[:6], np.ones(6), 0.2)
    assert ridge.information_gain == pytest.approx(dense_information_gain(Linear(), 0.2, BALL[:6]))


@pytest.mark.parametrize(
    ("name", "told", "words"),
    [
        ("sw-linucb", {"window": 0}, "window must be ≥ 1"),
        ("sw-linucb", {"budget": 1.0}, "give horizon"),
        ("restart-linucb", {"interval": 1.5}, "interval must be a whole number"),
        ("d-linucb", {"discount": 1.2}, "at most 1"),
        ("d-linucb", {"discount": 0}, "discount must be > 0"),
        ("d-linucb", {"norm": "triple"}, "norm must be one of"),
        ("d-linucb", {"width": "lemma"}, "ellipsoid"),
        ("d-linucb", {"budget": 1.0}, "give horizon"),
    ],
)
def test_bad_input_is_refused(name, told, words):
    with pytest.raises(InvalidInput, match=words):
        policy(name, SPACE, **told)
