"""Eleven test functions of optimisation, with the sign flipped for maximisation, and their known optima.

Each docstring has the formula as published, for minimisation. The code returns minus that, and its gradient.
X has rows in the function's own coordinates: (n, d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from driftwise.records import Array

ValueAndGradient = Callable[[Array], tuple[Array, Array]]  # (n, d) ↦ (n,), (n, d)


@dataclass(frozen=True)
class Function:
    """A function on [low, high]^dim, to be maximised. A call returns its values."""

    name: str
    dim: int
    low: float
    high: float
    graded: ValueAndGradient
    argmax: tuple[float, ...]  # where it is largest
    maximum: float
    separable: bool = False  # largest at argmax in each coordinate, whatever the others are
    anchors: tuple[tuple[float, ...], ...] = ()  # near these it may have a maximum

    def __call__(self, X: Array) -> Array:
        return self.graded(np.asarray(X, dtype=float))[0]

    def gradient(self, X: Array) -> Array:
        """(n, d)."""
        return self.graded(np.asarray(X, dtype=float))[1]


def rastrigin(X: Array) -> tuple[Array, Array]:
    """10d + Σ (x_i² − 10 cos 2πx_i)."""
    value = 10 * X.shape[1] + (X**2 - 10 * np.cos(2 * math.pi * X)).sum(axis=1)
    return -value, -(2 * X + 20 * math.pi * np.sin(2 * math.pi * X))


def schwefel(X: Array) -> tuple[Array, Array]:
    """418.9828872724338 d − Σ x_i sin √|x_i|."""
    root = np.sqrt(np.abs(X))
    value = 418.9828872724338 * X.shape[1] - (X * np.sin(root)).sum(axis=1)
    return -value, np.sin(root) + root / 2 * np.cos(root)


def styblinski_tang(X: Array) -> tuple[Array, Array]:
    """½ Σ (x_i⁴ − 16x_i² + 5x_i)."""
    return -0.5 * (X**4 - 16 * X**2 + 5 * X).sum(axis=1), -0.5 * (4 * X**3 - 32 * X + 5)


def eggholder(X: Array) -> tuple[Array, Array]:
    """−u sin √|x/2 + u| − x sin √|x − u|, u = y + 47."""
    x, u = X[:, 0], X[:, 1] + 47
    p, q = np.sqrt(np.abs(x / 2 + u)), np.sqrt(np.abs(x - u))
    # ∂√|z|/∂z = sign(z)/2√|z|; at the kink z = 0 it has none, and 0 is taken
    dp = np.sign(x / 2 + u) / (2 * np.where(p > 0, p, np.inf))
    dq = np.sign(x - u) / (2 * np.where(q > 0, q, np.inf))
    by_x = u * np.cos(p) * dp / 2 + np.sin(q) + x * np.cos(q) * dq
    by_y = np.sin(p) + u * np.cos(p) * dp - x * np.cos(q) * dq
    return u * np.sin(p) + x * np.sin(q), np.column_stack([by_x, by_y])


def ackley(X: Array) -> tuple[Array, Array]:
    """−20 exp(−0.2 r) − exp(mean cos 2πx_i) + 20 + e, r = √(mean x_i²)."""
    d = X.shape[1]
    r = np.sqrt((X**2).mean(axis=1, keepdims=True))
    well, ripple = 20 * np.exp(-0.2 * r), np.exp(np.cos(2 * math.pi * X).mean(axis=1, keepdims=True))
    slope = -0.2 * well * X / (d * np.where(r > 0, r, np.inf)) - ripple * 2 * math.pi * np.sin(2 * math.pi * X) / d
    return (well + ripple)[:, 0] - 20 - math.e, slope


def rosenbrock(X: Array) -> tuple[Array, Array]:
    """Σ_{i<d} 100 (x_{i+1} − x_i²)² + (1 − x_i)²."""
    a, b = X[:, :-1], X[:, 1:]
    bend = b - a**2
    slope = np.zeros_like(X)
    slope[:, :-1] += 400 * a * bend + 2 * (1 - a)
    slope[:, 1:] -= 200 * bend
    return -(100 * bend**2 + (1 - a) ** 2).sum(axis=1), slope


def powell(X: Array) -> tuple[Array, Array]:
    """(x_1 + 10x_2)² + 5(x_3 − x_4)² + (x_2 − 2x_3)⁴ + 10(x_1 − x_4)⁴, in four dimensions."""
    a, b, c, d = X.T
    p, q, r, s = a + 10 * b, c - d, b - 2 * c, a - d
    r2, s2 = r * r, s * s  # r**4 would be ten times as slow
    slope = [2 * p + 40 * s * s2, 20 * p + 4 * r * r2, 10 * q - 8 * r * r2, -10 * q - 40 * s * s2]
    return -(p * p + 5 * q * q + r2 * r2 + 10 * s2 * s2), -np.column_stack(slope)


def griewank(X: Array) -> tuple[Array, Array]:
    """1 + Σ x_i²/4000 − Π cos(x_i/√i)."""
    root = np.sqrt(np.arange(1.0, X.shape[1] + 1))
    waves = np.cos(X / root)
    others = np.column_stack([np.delete(waves, i, axis=1).prod(axis=1) for i in range(X.shape[1])])
    slope = X / 2000 + np.sin(X / root) / root * others
    return -(1 + (X**2).sum(axis=1) / 4000 - waves.prod(axis=1)), -slope


SHEKEL_BETA = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
SHEKEL_C = np.array(
    [[4, 1, 8, 6, 3, 2, 5, 8, 6, 7.0], [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6]] * 2
).T  # (10, 4): the third coordinate is the first again, the fourth the second


def shekel(X: Array) -> tuple[Array, Array]:
    """−Σ_j 1/(‖x − C_j‖² + β_j), ten wells in four dimensions."""
    depth = 1 / (cdist(X, SHEKEL_C, "sqeuclidean") + SHEKEL_BETA)  # (n, 10)
    weight = depth**2
    return depth.sum(axis=1), -2 * (weight.sum(axis=1)[:, None] * X - weight @ SHEKEL_C)


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN3_A = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
HARTMANN3_P = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 1e4
HARTMANN6_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN6_P = (
    np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    / 1e4
)


def hartmann3(X: Array) -> tuple[Array, Array]:
    """−Σ_j α_j exp(−Σ_i A_ji (x_i − P_ji)²), four wells in three dimensions."""
    return _hartmann(X, HARTMANN3_A, HARTMANN3_P)


def hartmann6(X: Array) -> tuple[Array, Array]:
    """The same in six dimensions."""
    return _hartmann(X, HARTMANN6_A, HARTMANN6_P)


def _hartmann(X: Array, A: Array, P: Array) -> tuple[Array, Array]:
    value, slope = np.zeros(len(X)), np.zeros_like(X)
    for height, scale, centre in zip(HARTMANN_ALPHA, A, P, strict=True):
        away = X - centre
        depth = height * np.exp(-(away**2) @ scale)
        value += depth
        slope -= 2 * depth[:, None] * scale * away
    return value, slope


def _rows(table: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, table.tolist()))


FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        Function("rastrigin", 5, -4, 4, rastrigin, (0.0,) * 5, 0.0, separable=True),
        Function("schwefel", 4, -500, 500, schwefel, (420.9687463599820,) * 4, 0.0, separable=True),
        Function("styblinski-tang", 4, -5, 5, styblinski_tang, (-2.903534027771177,) * 4, 156.664663, separable=True),
        Function("eggholder", 2, -512, 512, eggholder, (512.0, 404.231805), 959.640663),
        # r and the mean of the cosines are both best at 0 in a coordinate, whatever the others are
        Function("ackley", 4, -32, 32, ackley, (0.0,) * 4, 0.0, separable=True),
        Function("rosenbrock", 3, -1, 1.5, rosenbrock, (1.0,) * 3, 0.0),
        Function(
            "shekel", 4, 0, 10, shekel, (4.000747, 3.999509, 4.000747, 3.999509), 10.536443, False, _rows(SHEKEL_C)
        ),
        Function("hartmann3", 3, 0, 1, hartmann3, (0.114614, 0.555649, 0.852547), 3.862780, False, _rows(HARTMANN3_P)),
        Function(
            "hartmann6",
            6,
            0,
            1,
            hartmann6,
            (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573),
            3.322368,
            False,
            _rows(HARTMANN6_P),
        ),
        # where the cosine of the last coordinate is negative, another one must be, too: the first at least cost
        Function(
            "griewank",
            6,
            -600,
            600,
            griewank,
            (0.0,) * 6,
            0.0,
            False,
            _rows(np.array([[0.0] * 6, [math.pi] + [0.0] * 5])),
        ),
        Function("powell", 4, -4, 5, powell, (0.0,) * 4, 0.0),
    )
}
