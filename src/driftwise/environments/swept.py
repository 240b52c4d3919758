"""A test function whose last coordinate is time, as Bardou et al. (NeurIPS 2024) use them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from driftwise import checks
from driftwise.environments.functions import FUNCTIONS, Function
from driftwise.environments.moving import Moving
from driftwise.environments.noise import Gaussian
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.gp.kernels import Matern
from driftwise.records import Array
from driftwise.spaces import Box, Float
from driftwise.spaces.sobol import sobol

LENGTHSCALES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
NOISE = 0.05  # of the signal variance
POINTS = 256  # at which the kernel's lengthscale is judged, at each of three times


@dataclass(frozen=True)
class Swept:
    """f_t(x) = (F(x, τ_t) − mean)/std, where τ moves evenly through its range from t = 1 to t = `over`, then stays.

    The mean and std are those of F over all its coordinates, time included, so that the signal variance is 1. The x are
    in the unit cube. Nothing is random.

    >>> formula = Swept("hartmann3", over=5).drawn(seed=0)
    >>> formula.time(np.array([1.0, 3.0, 5.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    name: str
    over: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in FUNCTIONS:
            raise NotFoundError(f"no function is called {checks.shown(self.name)}; there are {', '.join(FUNCTIONS)}")
        checks.count("over", self.over, least=2)

    def drawn(self, seed: int) -> Swept:
        return self

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.name]

    @cached_property
    def anchors(self) -> Array | None:
        F = self.function
        return (np.array(F.anchors)[:, :-1] - F.low) / (F.high - F.low) if F.anchors else None

    def time(self, t: Array) -> Array:
        """τ."""
        return self.function.low + (self.function.high - self.function.low) * np.minimum((t - 1) / (self.over - 1), 1.0)

    def value(self, X: Array, t: Array) -> Array:
        mean, std = moments(self.name)
        return (self.function(self._joined(X, t)) - mean) / std

    def gradient(self, X: Array, t: Array) -> tuple[Array, Array]:
        mean, std = moments(self.name)
        value, slope = self.function.graded(self._joined(X, t))
        return (value - mean) / std, slope[:, :-1] * ((self.function.high - self.function.low) / std)

    def best_x(self, t: int) -> Array | None:
        F = self.function
        return (np.array(F.argmax[:-1]) - F.low) / (F.high - F.low) if F.separable else None

    def variation(self, horizon: int) -> float:
        """nan: these functions are given in no RKHS."""
        return math.nan

    def _joined(self, X: Array, t: Array) -> Array:
        F = self.function
        if X.shape[1] != F.dim - 1:
            raise InvalidInput(f"{self.name} needs a space of {F.dim - 1} dimensions, got {X.shape[1]}")
        return np.column_stack([F.low + (F.high - F.low) * X, self.time(t)])


def swept(name: str, *, seed: int = 0, horizon: int = 200, noise: float = NOISE) -> Moving:
    """One of the functions of `functions.py` on the box of all its coordinates but the last, which is time.

    Policies are given Matérn-5/2 with the most likely length scale of LENGTHSCALES, and the noise variance: `noise`
    of the signal variance.
    """
    path = Swept(name, over=max(checks.count("horizon", horizon), 2))
    box = Box.of({f"x{j}": Float(0, 1) for j in range(path.function.dim - 1)})
    return Moving(box, path, Matern(2.5, lengthscale(name)), Gaussian(math.sqrt(noise)), seed, horizon, f"wdbo-{name}")


@lru_cache(maxsize=16)
def moments(name: str) -> tuple[float, float]:
    """Mean and standard deviation of a function over its domain, from 2¹⁴ points of low discrepancy."""
    F = FUNCTIONS[name]
    values = F(F.low + (F.high - F.low) * sobol(F.dim, 2**14))
    return float(values.mean()), float(values.std())


@lru_cache(maxsize=16)
def lengthscale(name: str) -> float:
    """The most likely of LENGTHSCALES, by the marginal likelihood at the beginning, in the middle and at the end."""
    path = Swept(name, over=3)
    X = sobol(path.function.dim - 1, POINTS)
    Y = np.array([path.value(X, np.full(len(X), t)) for t in (1.0, 2.0, 3.0)])  # (3, n)
    return max(LENGTHSCALES, key=lambda scale: _evidence(Matern(2.5, scale), X, Y))


def _evidence(kernel: Matern, X: Array, Y: Array) -> float:
    """Σ ln N(y; 0, K + noise) without its constant, over the rows y of Y."""
    L = np.linalg.cholesky(kernel(X, X) + NOISE * np.eye(len(X)))
    Z = np.linalg.solve(L, Y.T)
    return float(-0.5 * (Z**2).sum() - len(Y) * np.log(np.diagonal(L)).sum())
