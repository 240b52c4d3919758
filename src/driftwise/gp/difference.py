"""The kernel of what a setting has more than the incumbent: what is common to all settings cancels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from driftwise import checks
from driftwise.gp.kernels import Combined, Kernel, as_kernel
from driftwise.records import Array


@dataclass(frozen=True)
class Difference(Combined):
    """k(x, y) − k(x, x₀) − k(x₀, y) + k(x₀, x₀): the covariance of f(x) − f(x₀), if that of f is k.

    With a level, `Difference(RBF(0.2), (0.5,)) + Level(1.0)`, a reading of the incumbent x₀ informs the level alone.

    Args:
        kernel: k.
        at: x₀, as the policy sees it: coordinates of the unit cube on a box.

    >>> from driftwise import RBF
    >>> X = np.array([[0.5], [0.9]])
    >>> Difference(RBF(0.2), (0.5,))(X, X).round(4)
    array([[0.    , 0.    ],
           [0.    , 1.7293]])
    """

    kernel: Kernel
    at: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.settle(self, kernel=as_kernel, at=partial(checks.each, rule=checks.real, fix="(0.5, 0.5)"))

    def __call__(self, X: Array, Y: Array) -> Array:
        k, at = self.kernel, np.array([self.at])
        return k(X, Y) - k(X, at) - k(at, Y) + k(at, at)

    def diagonal(self, X: Array) -> Array:
        at = np.array([self.at])
        # rounding can leave −1e−17
        return np.maximum(self.kernel.diagonal(X) - 2 * self.kernel(X, at)[:, 0] + self.kernel.diagonal(at), 0.0)

    def gradient(self, X: Array, Y: Array) -> Array:
        return self.kernel.gradient(X, Y) - self.kernel.gradient(X, np.array([self.at]))
