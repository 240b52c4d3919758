"""Distances between points, taken pair by pair.

They are never computed by ‖x‖² + ‖y‖² − 2xᵀy, which cancels for close points. So an entry has the same bits in whatever
matrix it is computed, which is what makes a replay exact.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array

Lengthscale = float | tuple[float, ...]
MANY = 64  # coordinates beyond which those that do not differ are left out


def check_points(X: Array, *others: Array) -> None:
    """Rows of points, all of as many coordinates as X."""
    for Y in (X, *others):
        if not isinstance(Y, np.ndarray) or Y.ndim != 2 or Y.dtype.kind not in "iuf":
            raise InvalidInput(f"points must be an array of rows, (n, d), as np.array([[0.5]]), got {checks.shown(Y)}")
        if Y.shape[1] != X.shape[1]:
            raise InvalidInput(f"points must have the same number of coordinates, got {X.shape[1]} and {Y.shape[1]}")


def squared_distance(X: Array, Y: Array, lengthscale: Lengthscale) -> Array:
    check_points(X, Y)
    scale = np.asarray(lengthscale)
    if scale.ndim and len(scale) != X.shape[1]:
        raise InvalidInput(f"{len(scale)} lengthscales given for {X.shape[1]} dimensions; give one, or one for each")
    if X.shape[1] > MANY and len(X) and len(Y):
        differs = _differs(X, Y)
        X, Y, scale = X[:, differs], Y[:, differs], scale[differs] if scale.ndim else scale
    try:
        with np.errstate(over="raise"):
            return cdist(X / scale, Y / scale, "sqeuclidean")
    except FloatingPointError:
        raise too_far() from None


def _differs(X: Array, Y: Array) -> NDArray[np.bool_]:
    """The coordinates in which not all the points are the same, (d,): the others would add 0, which changes no bit.

    Of the coordinates that choices have, one for each value, few are ever used.
    """
    differs: NDArray[np.bool_] = np.not_equal(X, X[0]).any(axis=0) | np.not_equal(Y, X[0]).any(axis=0)
    return differs


def downhill(X: Array, Y: Array, lengthscale: Lengthscale, factor: Array) -> Array:
    """factor · (y − x)/ℓ²: (n, m, d)."""
    try:
        with np.errstate(over="raise"):
            difference: Array = Y[None, :, :] - X[:, None, :]
            difference *= factor[:, :, None]
            difference /= np.square(np.asarray(lengthscale))
            return difference
    except FloatingPointError:
        raise too_far() from None


def as_lengthscale(name: str, value: Any) -> Lengthscale:
    """A positive number, or one for each coordinate."""
    if isinstance(value, Real):
        return _one_lengthscale(name, value)
    scales = checks.each(name, value, _one_lengthscale, "0.2, or (0.1, 0.4), one for each dimension")
    if not scales:
        raise InvalidInput(f"{name} must be a number, or one for each dimension, got none")
    return scales


def _one_lengthscale(name: str, value: Any) -> float:
    scale = checks.positive(name, value)
    if scale < 1e-100:  # the square of its reciprocal must be a number too
        raise InvalidInput(f"{name} must be from 1e-100 to 1e100, got {checks.shown(value)}")
    return scale


def too_far() -> InvalidInput:
    return InvalidInput("points must be at most 1e100 from one another; take another unit")
