"""γ_n against brute force, the plain greedy search and closed forms."""

import itertools
import math

import numpy as np
import pytest

from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.theory import information
from driftwise.theory.information import (
    CERTIFICATE,
    MaximumGain,
    greedy_gain,
    linear_order,
    matern_order,
    matern_order_2009,
    rbf_order,
)


def gain(kernel, X, noise):
    """½ ln det(I + K/λ)."""
    return 0.5 * np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / noise)[1]


def plain_greedy(kernel, X, noise, n):
    """Every variance anew at every pick."""
    picks, curve = [], []
    for _ in range(n):
        A = kernel(X[picks], X[picks]) + noise * np.eye(len(picks)) if picks else np.zeros((0, 0))
        k = kernel(X, X[picks]) if picks else np.zeros((len(X), 0))
        var = kernel.diagonal(X) - np.einsum("ij,ji->i", k, np.linalg.solve(A, k.T)) if picks else kernel.diagonal(X)
        picks.append(int(np.argmax(var)))
        curve.append(gain(kernel, X[picks], noise))
    return np.array(curve)


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 0.3), Linear()])
def test_the_maximum_lies_between_the_greedy_value_and_its_certificate(kernel, noise):
    X = np.random.default_rng(1).random((6, 2))
    curve = greedy_gain(kernel, X, noise, 4)
    for n in (1, 2, 3, 4):
        best = max(gain(kernel, X[list(A)], noise) for A in itertools.combinations_with_replacement(range(6), n))
        assert curve.lower[n - 1] <= best + 1e-12
        assert best <= curve.upper[n - 1]
        assert curve.lower[n - 1] >= (1 - 1 / math.e) * best
        assert curve.lower[n - 1] == pytest.approx(gain(kernel, X[curve.picks[:n]], noise), abs=1e-10)


@pytest.mark.parametrize("noise", [1e-4, 0.01, 1.0])
@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(0.5, 0.2), Linear()])
def test_lazy_is_plain_greedy_beyond_every_epoch_and_the_number_of_points(kernel, noise):
    X = np.random.default_rng(2).random((90, 2))  # more than a batch, fewer than the picks
    assert greedy_gain(kernel, X, noise, 150).lower == pytest.approx(plain_greedy(kernel, X, noise, 150), rel=1e-9)


def test_ties_end():
    """More equal candidates than a batch holds: every look must make progress."""
    X = np.arange(200.0)[:, None] * 100
    curve = greedy_gain(RBF(0.2), X, 1.0, 400)
    assert curve.lower == pytest.approx(np.cumsum([0.5 * math.log(2)] * 200 + [0.5 * math.log(1.5)] * 200))
    assert np.bincount(curve.picks).tolist() == [2] * 200


@pytest.mark.parametrize("d", [1, 3])
def test_the_linear_kernel_on_a_basis_has_a_closed_form(d):
    """n = m·d picks spread evenly: γ = (d/2) ln(1 + m/λ), which no n points of the unit ball exceed."""
    curve = greedy_gain(Linear(), np.eye(d), 0.1, 20 * d)
    m = np.arange(1, 21)
    assert curve.lower[d * m - 1] == pytest.approx(d / 2 * np.log(1 + m / 0.1))
    ball = np.random.default_rng(0).standard_normal((100, d))
    ball /= np.maximum(np.linalg.norm(ball, axis=1), 1)[:, None]
    assert (greedy_gain(Linear(), ball, 0.1, 20 * d).lower[d * m - 1] <= d / 2 * np.log(1 + m / 0.1) + 1e-9).all()


def test_maximum_gain_is_the_curve_however_it_is_asked():
    X = np.random.default_rng(3).random((50, 1))
    curve = greedy_gain(RBF(0.2), X, 0.01, 100).lower
    one_by_one = MaximumGain(RBF(0.2), 0.01, X)
    assert [one_by_one(n) for n in range(1, 101)] == pytest.approx(curve, rel=1e-12)
    assert one_by_one(0) == 0.0
    assert one_by_one(100) <= one_by_one.upper(100) < 1.01 * one_by_one(100)
    assert MaximumGain(RBF(0.2), 0.01, X)(100) == pytest.approx(curve[-1], rel=1e-12)
    assert one_by_one == MaximumGain(RBF(0.2), 0.01, X)  # what was searched already is no part of the description


def test_a_long_horizon_is_the_search_repeated_and_lies_between_its_bounds(monkeypatch):
    X = np.random.default_rng(4).random((30, 1))
    exact = MaximumGain(RBF(0.2), 0.013, X)
    long = {n: exact(n) for n in (64, 65, 100, 128, 320)}
    monkeypatch.setattr(information, "PICKS", 64)
    information._search.cache_clear()
    short = MaximumGain(RBF(0.2), 0.013, X)
    picks = greedy_gain(RBF(0.2), X, 0.013, 64).picks
    assert short(64) == long[64]
    assert short(128) == pytest.approx(gain(RBF(0.2), X[np.tile(picks, 2)], 0.013), rel=1e-9)
    for n, best in long.items():
        assert 0.98 * best <= short(n) <= CERTIFICATE * best
        assert short(n) <= short.upper(n)
        assert best <= short.upper(n)
    curve = [short(n) for n in range(60, 260)]
    assert (np.diff(curve) > 0).all()
    assert (np.diff(curve, 2) < 1e-9).all()  # each sample adds less than the one before
    information._search.cache_clear()


def test_between_two_repetitions_it_is_less_than_the_maximum(monkeypatch):
    monkeypatch.setattr(information, "PICKS", 3)
    X = np.random.default_rng(1).random((6, 2))
    bounded = MaximumGain(RBF(0.3), 0.017, X)
    for n in (4, 5, 6):
        best = max(gain(RBF(0.3), X[list(A)], 0.017) for A in itertools.combinations_with_replacement(range(6), n))
        assert bounded(n) <= best + 1e-12
        assert best <= bounded.upper(n) + 1e-12
    information._search.cache_clear()


def test_any_horizon_on_a_basis_has_its_closed_form():
    d, noise = 4, 0.1
    gained = MaximumGain(Linear(), noise, np.eye(d))
    for n in (10**5, 10**6, 2**53):
        assert gained(n) == pytest.approx(d / 2 * math.log(1 + n / d / noise), rel=1e-4)
        assert gained(n) <= gained.upper(n) + 1e-9


def relaxed(kernel, X, noise, n, steps=3000):
    """max of ½ ln det(I + Σ w_x φφᵀ/λ) over weights that sum to n, by multiplicative updates: at least γ_n."""
    K, w = kernel(X, X), np.full(len(X), n / len(X))
    for _ in range(steps):
        root = np.sqrt(w)
        A = root[:, None] * K * root + noise * np.eye(len(X))
        var = kernel.diagonal(X) - np.einsum("ij,ij->j", root[:, None] * K, np.linalg.solve(A, root[:, None] * K))
        w = n * w * var / (w @ var)
    root = np.sqrt(w)
    return 0.5 * np.linalg.slogdet(np.eye(len(X)) + root[:, None] * K * root / noise)[1]


@pytest.mark.parametrize("n", [7, 60, 3000])
@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(2.5, 0.2), Linear()])
def test_the_tangent_is_above_the_best_weights_and_close(kernel, noise, n):
    """The weights' optimum is at least γ_n and no tangent of a concave function is below it."""
    X = np.random.default_rng(5).random((25, 1))
    found = MaximumGain(kernel, noise, X)
    best = relaxed(kernel, X, noise, n)
    assert found(n) <= best * (1 + 1e-9)
    constant, slope = found._search.tangent(n, n)
    assert best <= constant + slope * n + 1e-9
    if n >= 60:
        assert found.upper(n) <= 1.05 * found(n)


def test_one_tangent_bounds_every_gain():
    X = np.random.default_rng(6).random((40, 2))
    found = MaximumGain(RBF(0.3), 0.1, X)
    constant, slope = found._search.tangent(50, 50)
    assert all(found(n) <= constant + slope * n for n in range(1, 300))


def test_the_certificate_is_tight_where_it_was_loose():
    """e/(e − 1) gave 48.38 beside a greedy value of 30.58."""
    found = MaximumGain(RBF(0.2), 0.01, np.linspace(0, 1, 200)[:, None])
    assert found.upper(500) < 1.01 * found(500)
    curve = greedy_gain(RBF(0.2), np.linspace(0, 1, 200)[:, None], 0.01, 500)
    assert (curve.lower <= curve.upper).all()
    assert curve.upper[-1] < 1.01 * curve.lower[-1]


def test_growth_orders():
    assert rbf_order(8, 2) == pytest.approx(math.log(8) ** 3)
    assert linear_order(8, 3) == pytest.approx(3 * math.log(8))
    assert matern_order(1000, 2, 2.5) == pytest.approx(1000 ** (2 / 7) * math.log(1000) ** (5 / 7))
    assert matern_order_2009(1000, 2, 2.5) == pytest.approx(1000 ** (6 / 11) * math.log(1000))
    for nu, d in itertools.product((0.5, 1.5, 2.5), (1, 2, 6)):
        assert matern_order(10_000, d, nu) < matern_order_2009(10_000, d, nu)
    # the paper's γ^{7/8} T^{3/4} is sublinear for ν/d > 5/4 and not below
    T, more = 10**60, 10**90
    rate = [matern_order(t, 1, 1.3) ** (7 / 8) * t ** (3 / 4) / t for t in (T, more)]
    assert rate[1] < rate[0]
    rate = [matern_order(t, 1, 1.2) ** (7 / 8) * t ** (3 / 4) / t for t in (T, more)]
    assert rate[1] > rate[0]


def test_refusals():
    with pytest.raises(InvalidInput, match="noise must be > 0, got 0"):
        greedy_gain(RBF(0.2), [[0.0]], 0, 1)
    with pytest.raises(InvalidInput, match="n must be ≥ 1, got 0"):
        greedy_gain(RBF(0.2), [[0.0]], 1, 0)
    with pytest.raises(InvalidInput, match="points must be a finite table"):
        greedy_gain(RBF(0.2), [[math.nan]], 1, 1)
