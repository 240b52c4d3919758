"""Features: their kernel, what they leave out, their gradients, and the Gaussian process that they are."""

import math

import numpy as np
import pytest

from driftwise import RBF, Linear, Matern
from driftwise.errors import InvalidInput
from driftwise.gp.posterior import Posterior
from driftwise.policies.beliefs.feature_ridge import FeatureRidge
from driftwise.policies.beliefs.features import Nystrom, Quadrature
from driftwise.policies.beliefs.landmarks import landmarks
from oracles import finite_difference

RNG = np.random.default_rng(0)
X = RNG.random((40, 2))


def nystrom(kernel, m):
    return Nystrom(kernel, tuple(map(tuple, X[landmarks(kernel, X, most=m)].tolist())))


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 0.4), Linear(), 2.0 * RBF((0.3, 0.6))])
def test_nystrom_is_the_projection_on_its_landmarks(kernel):
    """φᵀφ′ = k_Zᵀ K_ZZ⁻¹ k_Z, which is k itself at the landmarks; and f − its projection is at most Bρ."""
    features = nystrom(kernel, 12)
    Z = np.array(features.landmarks)
    K = kernel(Z, Z)
    expected = kernel(X, Z) @ np.linalg.lstsq(K, kernel(Z, X), rcond=None)[0]
    np.testing.assert_allclose(features(X) @ features(X).T, expected, atol=1e-6)
    np.testing.assert_allclose(features(Z) @ features(Z).T, K, atol=1e-6)
    rho2 = kernel.diagonal(X) - (features(X) ** 2).sum(axis=1)
    assert rho2.min() >= -1e-9
    a = RNG.standard_normal(len(X))
    f, norm = kernel(X, X) @ a, math.sqrt(a @ kernel(X, X) @ a)
    projected = kernel(X, Z) @ np.linalg.lstsq(K, kernel(Z, X) @ a, rcond=None)[0]
    assert (np.abs(f - projected) <= norm * np.sqrt(np.maximum(rho2, 0)) + 1e-5).all()


def test_quadrature_comes_to_the_kernel():
    errors = [
        np.abs((phi := Quadrature(RBF((0.3, 0.5)), 2, q)(X)) @ phi.T - RBF((0.3, 0.5))(X, X)).max() for q in (4, 8, 16)
    ]
    assert errors[2] < 1e-3 < errors[1] < errors[0]
    assert Quadrature(RBF(0.3), 2, 4)(X).shape == (40, Quadrature(RBF(0.3), 2, 4).rank) == (40, 32)
    with pytest.raises(InvalidInput, match="RBF"):
        Quadrature(Matern(2.5, 0.2), 1, 4)


@pytest.mark.parametrize("features", [nystrom(RBF(0.3), 9), nystrom(Linear(), 2), Quadrature(RBF(0.4), 2, 5)])
def test_gradients(features):
    x = np.array([0.3, 0.7])
    slope = np.array([finite_difference(lambda z, i=i: features(z[None])[0, i], x) for i in range(features.rank)])
    np.testing.assert_allclose(features.gradient(x[None])[0], slope, atol=1e-5)
    phi = features(X)
    ridge = FeatureRidge(features, 0.1, RNG.standard_normal(features.rank), phi.T @ phi + 0.1 * np.eye(phi.shape[1]), X)
    mean, std, dmean, dstd = ridge.predict_gradient(x[None])
    np.testing.assert_allclose((mean, std), ridge.predict(x[None]))
    np.testing.assert_allclose(dmean[0], finite_difference(lambda z: ridge.predict(z[None])[0][0], x), atol=1e-5)
    np.testing.assert_allclose(dstd[0], finite_difference(lambda z: ridge.predict(z[None])[1][0], x), atol=1e-5)


def test_with_all_features_the_ridge_regression_is_the_gaussian_process():
    kernel, noise, y = Matern(1.5, 0.4), 0.1, RNG.standard_normal(15)
    features = nystrom(kernel, 40)
    phi = features(X[:15])
    V = phi.T @ phi + noise * np.eye(features.rank)
    ridge = FeatureRidge(features, noise, np.linalg.solve(V, phi.T @ y), V, X[:15])
    posterior = Posterior(kernel, noise)
    for x, each in zip(X, y, strict=False):
        posterior = posterior.append(x, each)
    np.testing.assert_allclose(ridge.predict(X), posterior.predict(X), atol=1e-6)
    assert ridge.information_gain == pytest.approx(posterior.information_gain, abs=1e-6)
    K = kernel(X[:15], X[:15])
    assert ridge.effective == pytest.approx(np.trace(np.linalg.solve(K + noise * np.eye(15), K)), abs=1e-6)
    pending = [tuple(X[30].tolist())]
    np.testing.assert_allclose(ridge.imagine(pending).predict(X), posterior.imagine(pending).predict(X), atol=1e-6)


def test_few_features_say_that_they_know_little():
    """Far from its landmarks the deviation is the prior's: what the features leave out stays unknown."""
    ridge = FeatureRidge(Nystrom(RBF(0.1), ((0.0,),)), 0.01, np.zeros(1), np.array([[1e6]]), np.zeros((0, 1)))
    assert ridge.predict(np.array([[1.0]]))[1][0] == pytest.approx(1.0)
