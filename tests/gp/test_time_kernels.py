"""Kernels of time: their two views agree with each other, and with kernels written elsewhere."""

import numpy as np
import pytest
from scipy.linalg import expm

from driftwise.environments.drift import Rotating
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Matern
from driftwise.gp.time_kernels import Forgetting, MaternInTime, SpaceTime, Wave
from driftwise.policies.ui_gp_ucb import Wiener
from oracles import finite_difference

ALL = [Forgetting(0.0), Forgetting(0.19), Wiener(0.03), MaternInTime(1.5, 7.0), MaternInTime(2.5, 7.0)]


@pytest.mark.parametrize("time", ALL, ids=str)
def test_state_space_gives_the_kernel(time):
    for s in (0.0, 3.0):
        for gap in (0.0, 0.3, 1.0, 25.0):
            Phi = time.transition(np.array(gap))
            assert (Phi @ time.covariance(s))[0, 0] == pytest.approx(
                time(np.array([s]), np.array([s + gap]))[0, 0], abs=1e-14
            )


@pytest.mark.parametrize("time", ALL, ids=str)
def test_two_gaps_are_one(time):
    split = time.transition(np.array(1.3)) @ time.transition(np.array(2.4))
    np.testing.assert_allclose(split, time.transition(np.array(3.7)), atol=1e-14)


@pytest.mark.parametrize("time", ALL, ids=str)
def test_what_a_gap_adds_is_a_covariance(time):
    """Q = P(s + Δ) − Φ P(s) Φᵀ ⪰ 0."""
    Phi = time.transition(np.array(0.7))
    Q = time.covariance(1.7) - Phi @ time.covariance(1.0) @ Phi.T
    assert np.linalg.eigvalsh(Q).min() > -1e-14


@pytest.mark.parametrize(("nu", "generator"), [(1.5, [[0, 1], [-1, -2]]), (2.5, [[0, 1, 0], [0, 0, 1], [-1, -3, -3]])])
def test_matern_transition_is_the_exponential_of_its_generator(nu, generator):
    """The companion matrix of (d/du + 1)^m, in the unit scale/√(2ν)."""
    time, gap = MaternInTime(nu, 7.0), 2.9
    expected = expm(np.array(generator, dtype=float) * gap * np.sqrt(2 * nu) / 7.0)
    np.testing.assert_allclose(time.transition(np.array(gap)), expected, atol=1e-14)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_matern_in_time_is_matern(nu):
    s, t = np.array([0.0, 1.0, 5.5]), np.array([0.2, 9.0])
    np.testing.assert_allclose(MaternInTime(nu, 3.0)(s, t), Matern(nu, 3.0)(s[:, None], t[:, None]), rtol=1e-14)


def test_forgetting_over_a_gap():
    """ε_Δ = 1 − (1 − ε)^Δ."""
    rho = Forgetting(0.03).transition(np.array(20.0))[0, 0]
    assert rho == pytest.approx(0.97**10, rel=1e-14)
    assert 1 - rho**2 == pytest.approx(1 - 0.97**20)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.03])
def test_a_wave_is_the_covariance_of_one_harmonic(share, epsilon):
    """√(1−v) g_0 + √v (cos(θ) g_1 + sin(θ) g_2) has ΦΦᵀ, and forgetting multiplies it: so it is a covariance."""
    t = np.random.default_rng(2).uniform(0, 300, size=40)
    theta = 2 * np.pi * t / 70
    Phi = np.column_stack(
        [np.full(40, np.sqrt(1 - share)), np.sqrt(share) * np.cos(theta), np.sqrt(share) * np.sin(theta)]
    )
    K = Wave(70.0, share, epsilon)(t, t)
    np.testing.assert_allclose(K, Phi @ Phi.T * Forgetting(epsilon)(t, t), atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    np.testing.assert_allclose(np.diagonal(K), Wave(70.0, share, epsilon).diagonal(t), rtol=1e-15)


def test_a_wave_of_share_one_is_the_rotation_of_the_zoo():
    s, t = np.arange(1.0, 9.0), np.arange(3.0, 90.0)
    np.testing.assert_allclose(
        Wave(50.0, 1.0, 0.0)(s, t), Rotating(50.0).covariance(s[:, None], t[None, :]), atol=1e-14
    )


@pytest.mark.parametrize("time", ALL, ids=str)
def test_space_time_is_a_product_with_the_gradient_of_space(time):
    rng = np.random.default_rng(1)
    X, Y = np.column_stack([rng.random((3, 2)), [1.0, 2.0, 3.0]]), np.column_stack([rng.random((4, 2)), rng.random(4)])
    kernel = SpaceTime(RBF(0.4), time)
    np.testing.assert_allclose(kernel(X, Y), RBF(0.4)(X[:, :2], Y[:, :2]) * time(X[:, 2], Y[:, 2]))
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X, X)))
    gradient = kernel.gradient(X, Y)
    assert gradient.shape == (3, 4, 3)
    assert not gradient[:, :, 2].any()
    for i in range(3):
        for j in range(4):
            slope = finite_difference(
                lambda x, i=i, j=j: kernel(np.append(x, X[i, 2])[None], Y[j : j + 1])[0, 0], X[i, :2]
            )
            np.testing.assert_allclose(gradient[i, j, :2], slope, atol=1e-8)


@pytest.mark.parametrize("time", ALL, ids=str)
@pytest.mark.parametrize("gap", [1e9, 1e300])
def test_any_gap_is_finite(time, gap):
    assert np.isfinite(time.transition(np.array(gap))).all()
    assert np.isfinite(time(np.array([0.0]), np.array([gap]))).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Forgetting(-0.1), "epsilon must be ≥ 0"),
        (lambda: Forgetting(1.0), "epsilon must be < 1"),
        (lambda: Forgetting(float("nan")), "epsilon must be finite"),
        (lambda: Wiener(-1), "rate must be ≥ 0"),
        (lambda: MaternInTime(0.5, 1.0), "nu in time must be 1.5 or 2.5"),
        (lambda: MaternInTime(1.5, 0.0), "scale must be > 0"),
        (lambda: Wave(0.0, 0.5, 0.0), "period must be > 0"),
        (lambda: Wave(24.0, -0.1, 0.0), "share must be ≥ 0"),
        (lambda: Wave(24.0, 1.1, 0.0), "share must be ≤ 1"),
        (lambda: Wave(24.0, 0.5, 1.0), "epsilon must be < 1"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()
