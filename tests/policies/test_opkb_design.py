"""The log-determinant program of OPKB: its optimality conditions, and cases worked by hand."""

import math

import numpy as np
import pytest

from driftwise import RBF
from driftwise.policies.opkb_design import TOLERANCE, Arms, d_optimal, greedy, tradeoff
from oracles import dense_posterior, finite_difference

CORRELATED = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])


def variance(arms, P):
    """v_P = diag M_P = ∇ log det S(P): (N,)."""
    return np.diagonal(arms.precision(P))


def gap(arms, P, gaps, beta):
    """ΣPg − min g with g = Δ − (2/β)v_P, the gradient: at least J(P) − min J, by convexity, and 0 at the minimum."""
    g = gaps - (2 / beta) * variance(arms, P)
    return float(P @ g - g.min())


def some_arms(n: int, dim: int, reg: float = 0.01) -> Arms:
    X = np.random.default_rng(n).random((n, dim))
    return Arms.of(RBF(0.3)(X, X), reg)


def some_gaps(n: int) -> np.ndarray:
    gaps = np.abs(np.random.default_rng(n + 1).standard_normal(n))
    return gaps - gaps.min()


def test_independent_arms_by_hand():
    """K = I: P_i = max(0, (2/β)/(Δ_i + ν) − c), with ν such that they sum to 1."""
    arms, gaps, beta = Arms.of(np.eye(3), 0.01), np.array([0, 0.2, 1.0]), 20.0
    P = tradeoff(arms, gaps, beta)
    np.testing.assert_allclose(P, [0.648899, 0.274278, 0.076823], atol=2e-6)
    constant = 3 * math.log(arms.reg)  # log det S counts it, log_det does not
    assert P @ gaps - (2 / beta) * (arms.log_det(P) + constant) == pytest.approx(0.543566, abs=2e-6)
    assert gap(arms, np.full(3, 1 / 3), gaps, beta) == pytest.approx(0.4, abs=1e-9)
    assert arms.gamma == pytest.approx(3 * math.log(1 + 1 / 0.03), abs=1e-6)
    np.testing.assert_allclose(arms.everywhere, 1 / 3, atol=1e-6)


def test_correlated_arms():
    arms = Arms.of(CORRELATED, 0.01)
    np.testing.assert_allclose(arms.everywhere, [0.3349, 0.3301, 0.3349], atol=5e-5)
    np.testing.assert_allclose(variance(arms, arms.everywhere), 2.8606, atol=5e-5)


@pytest.mark.parametrize(("n", "dim", "beta"), [(5, 1, 1.0), (40, 1, 30.0), (40, 3, 300.0), (120, 2, 50.0)])
def test_optimality_conditions(n, dim, beta):
    """Δ − (2/β)v + ν ≥ 0 everywhere, with equality where P > 0, and the gap no more than the tolerance."""
    arms, gaps = some_arms(n, dim), some_gaps(n)
    P = tradeoff(arms, gaps, beta)
    v = variance(arms, P)
    assert P.min() >= 0
    assert P.sum() == pytest.approx(1, abs=1e-12)
    assert 0 <= gap(arms, P, gaps, beta) <= 2 * (2 / beta) * TOLERANCE
    nu = (2 / beta) * (P @ v) - P @ gaps
    slack = gaps - (2 / beta) * v + nu
    assert nu >= 0
    assert slack.min() >= -1e-5
    assert np.abs(slack * P).max() <= 1e-5
    assert P @ v <= arms.gamma + 1e-6


@pytest.mark.parametrize("dim", [1, 3])
def test_design_on_a_support(dim):
    """v ≤ ΣPv on A, with equality where P > 0; nothing outside A."""
    arms = some_arms(30, dim)
    support = np.arange(30) % 3 == 0
    P = d_optimal(arms, support)
    v = variance(arms, P)
    assert not P[~support].any()
    assert (v[support] <= P @ v + 1e-5).all()
    assert np.abs((v - P @ v) * P).max() <= 1e-5


def test_no_other_distribution_is_better():
    arms, gaps, beta = some_arms(20, 2), some_gaps(20), 40.0

    def J(P):
        return P @ gaps - (2 / beta) * arms.log_det(P)

    P = tradeoff(arms, gaps, beta)
    rng = np.random.default_rng(0)
    others = [0.9 * P + 0.1 * rng.dirichlet(np.full(20, 0.3)) for _ in range(200)]
    assert min(map(J, others)) >= J(P) - 1e-7
    uniform = np.full(20, 0.05)
    assert J(uniform) - J(P) <= gap(arms, uniform, gaps, beta)  # the gap bounds the distance to the minimum


def test_precision_is_its_definition():
    """M = K(DK + cI)⁻¹; v is the gradient of log det S, and −M∘M its Hessian."""
    X = np.random.default_rng(3).random((8, 2))
    K, P = RBF(0.3)(X, X), np.random.default_rng(4).dirichlet(np.ones(8))
    arms = Arms.of(K, 0.01)
    M = arms.precision(P)
    np.testing.assert_allclose(M, K @ np.linalg.inv(np.diag(P) @ K + 0.01 * np.eye(8)), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(variance(arms, P), finite_difference(arms.log_det, P), rtol=1e-5)
    third = finite_difference(lambda p: variance(arms, p)[3], P)
    np.testing.assert_allclose(third, -(M[3] ** 2), rtol=1e-5, atol=1e-5)
    D = np.sqrt(np.outer(P, P))
    assert arms.log_det(P) == pytest.approx(np.linalg.slogdet(np.eye(8) + D * K / 0.01)[1], abs=1e-9)


def test_greedy_takes_the_largest_variance():
    """Also when there are many more picks than points."""
    X = np.random.default_rng(5).random((12, 2))
    kernel = RBF(0.3)
    picks = greedy(kernel(X, X), 60, 0.05)
    for n in range(1, 60):
        _, var = dense_posterior(kernel, 0.05, X[picks[:n]], np.zeros(n), X)
        assert var[picks[n]] == pytest.approx(var.max(), abs=1e-10)
    assert len(set(picks)) < 60
