"""Weighted sums of gradients are the sums of the gradients, kernel by kernel."""

from __future__ import annotations

import numpy as np
import pytest

from driftwise.gp.kernels import RBF, Level, Linear, Matern, Scaled, Stretched
from driftwise.gp.slopes import weighted_gradient

KERNELS = [
    RBF(0.3),
    RBF((0.1, 0.5, 2.0)),
    Matern(0.5, 0.3),
    Matern(1.5, (0.1, 0.5, 2.0)),
    Matern(2.5, 0.3),
    Matern(2.5, 0.2) + Level(0.3),
    Stretched(RBF(0.3) + Level(0.3), (1.0, 2.0, 0.5)),
    Scaled(RBF(0.3), 2.0),
    Linear(),
    RBF(0.3) * Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_the_sum_of_the_gradients(kernel):
    rng = np.random.default_rng(0)
    X, C = rng.random((5, 3)), rng.standard_normal((5, 12))
    Y = np.vstack([rng.random((7, 3)), X])  # points that coincide too
    expected = np.einsum("nm,nmd->nd", C, kernel.gradient(X, Y))
    np.testing.assert_allclose(weighted_gradient(kernel, X, Y, C), expected, rtol=1e-10, atol=1e-10)
