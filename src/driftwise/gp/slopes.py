"""Weighted sums of a kernel's gradients, without the gradients one by one.

∂k(x, y)/∂x of a kernel of the distance is F(x, y)·(y − x)/ℓ², so that

    Σ_j C_ij ∂k(x_i, y_j)/∂x_i = ((C∘F)Y − x_i Σ_j (C∘F)_ij)/ℓ²

is one product of matrices in place of an array of all pairs and coordinates.
"""

from __future__ import annotations

import numpy as np

from driftwise.gp.distances import check_points
from driftwise.gp.kernels import Kernel, Level, Scaled, Stationary, Stretched, Sum
from driftwise.records import Array


def weighted_gradient(kernel: Kernel, X: Array, Y: Array, C: Array) -> Array:
    """Σ_j C_ij ∂k(x_i, y_j)/∂x_i for the rows of X and Y, and C of shape (n, m): (n, d)."""
    if isinstance(kernel, Sum):
        return weighted_gradient(kernel.first, X, Y, C) + weighted_gradient(kernel.second, X, Y, C)
    if isinstance(kernel, Scaled):
        return kernel.variance * weighted_gradient(kernel.kernel, X, Y, C)
    if isinstance(kernel, Stretched):
        return weighted_gradient(kernel.kernel, X / kernel.stretch, Y / kernel.stretch, C) / kernel.stretch
    if isinstance(kernel, Level):
        check_points(X, Y)
        return np.zeros(X.shape)
    if isinstance(kernel, Stationary):
        CF = C * kernel.with_factor(X, Y)[1]
        total: Array = (CF @ Y - CF.sum(axis=1)[:, None] * X) / np.square(np.asarray(kernel.lengthscale))
        return total
    return (C[:, None, :] @ kernel.gradient(X, Y))[:, 0]
