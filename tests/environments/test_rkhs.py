"""Norms against dense algebra; gradients against differences; draws against the covariance they should have."""

import numpy as np
import pytest

from driftwise.environments import Expansion, Whitened
from driftwise.environments.catalogue import grid
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.spaces import Candidates

KERNELS = [RBF(0.2), Matern(2.5, 0.2), Matern(0.5, (0.3, 0.1))]


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_expansion_has_the_norm_of_its_quadratic_form(kernel):
    centres = grid(4, 2)
    basis = Expansion(kernel, centres)
    A = np.random.default_rng(0).uniform(-1, 1, (3, 16))
    K = kernel(centres.points, centres.points)
    squared = [sum(a[i] * a[j] * K[i, j] for i in range(16) for j in range(16)) for a in A]
    assert basis.norms(A) == pytest.approx(np.sqrt(squared))


def test_a_linear_function_has_the_norm_of_its_weights():
    basis = Expansion(Linear(), Candidates(np.eye(3)))
    theta = np.array([1.0, 2.0, 2.0])
    assert basis.norms(theta[None])[0] == pytest.approx(3.0)
    assert (basis.features(np.array([[1.0, 0.5, 0.0]])) @ theta)[0] == pytest.approx(2.0)


def test_draws_are_scaled_to_the_norm_asked_for_and_left_alone_otherwise():
    centres = grid(30, 1)
    raw = Expansion(RBF(0.2), centres).draw(np.random.default_rng(1))
    scaled = Expansion(RBF(0.2), centres, norm=0.7)
    a = scaled.draw(np.random.default_rng(1))
    assert np.abs(raw).max() <= 1
    assert scaled.norms(a[None])[0] == pytest.approx(0.7, rel=1e-12)
    assert a / raw == pytest.approx(np.full(30, a[0] / raw[0]))
    with pytest.raises(InvalidInput, match="norm must be > 0"):
        Expansion(RBF(0.2), centres, norm=0.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_whitened_features_reproduce_the_kernel(kernel):
    points = grid(9, 2)
    F = Whitened(kernel, points).features(points.points)
    assert np.abs(F @ F.T - kernel(points.points, points.points)).max() < 1e-9


def test_whitened_coordinates_have_the_norm_of_the_interpolant():
    """‖f‖² = fᵀK⁻¹f for the function of least norm through the values f; K is well conditioned here."""
    points, kernel = grid(5, 2), Matern(0.5, 0.3)
    basis = Whitened(kernel, points)
    z = basis.draw(np.random.default_rng(2))
    f = basis.features(points.points) @ z
    assert basis.norms(z[None])[0] ** 2 == pytest.approx(f @ np.linalg.solve(kernel(points.points, points.points), f))
    assert basis.coordinates(f[None])[0] == pytest.approx(z)


def test_a_whitened_function_keeps_its_norm_and_values_as_an_expansion_anywhere():
    points, kernel = grid(12, 2), RBF(0.3)
    basis = Whitened(kernel, points)
    z = basis.draw(np.random.default_rng(3))
    centres = Candidates(basis._centres)
    a = np.linalg.solve(basis._L.T, z)  # f = Σ a_i k(·, p_i)
    elsewhere = np.random.default_rng(4).random((20, 2))
    as_expansion = Expansion(kernel, centres)
    assert len(centres) < len(points)
    assert basis.features(elsewhere) @ z == pytest.approx(as_expansion.features(elsewhere) @ a, abs=1e-5)
    assert as_expansion.norms(a[None])[0] == pytest.approx(basis.norms(z[None])[0], rel=1e-5)


@pytest.mark.parametrize("make", [Expansion, Whitened])
def test_gradients_are_those_of_the_features(make):
    basis = make(Matern(2.5, 0.3), grid(4, 2))
    X, h = np.random.default_rng(5).random((6, 2)), 1e-6
    for j, step in enumerate(np.eye(2) * h):
        difference = (basis.features(X + step) - basis.features(X - step)) / (2 * h)
        assert basis.gradient(X)[:, :, j] == pytest.approx(difference, abs=1e-6)
