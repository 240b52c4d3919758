"""Lower bounds: what no policy can do better than, as a number, and the orders of growth that the literature has.

The number is for two worlds that no policy can tell apart in time: f = ±ε g, ‖g‖ = 1, where a new sign is drawn every
h steps. The proof is in docs/theory.md. It holds for the paper's P_T, in the norm of the RKHS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from driftwise import checks
from driftwise.gp.kernels import RBF, Kernel, Matern, Scaled
from driftwise.records import Array
from driftwise.theory.bounds import Problem, as_problem
from driftwise.theory.linear_gain import is_linear

SIZES = 60  # of ε and of h that are tried


@dataclass(frozen=True)
class Lower:
    """E R(T) ≥ `total` in some world, whatever the policy: one whose sign may change every `block` steps, of norm ε."""

    total: float
    block: int  # h
    size: float  # ε


def lower_bound(problem: Problem, *, contrast: float = math.sqrt(2), reach: float = 1.0) -> Lower:
    """The largest of ½ ε C Σ_blocks Σ_{n < h} erfc(ε G √(n/2)/R), with ε ≤ B and 2ε(⌈T/h⌉ − 1) ≤ P_T.

    `contrast` C is how far apart two values of a function g of norm 1 can be, and `reach` G ≥ |g| everywhere
    (`two_points`). Noise is Gaussian.

    >>> problem = Problem(lambda n: 1.0, horizon=1000, budget=0.0, B=1.0, R=1.0)
    >>> lower_bound(problem).block
    1000
    """
    T = as_problem(problem).horizon
    C, G = checks.positive("contrast", contrast), checks.positive("reach", reach)
    found = [Lower(0.0, T, 0.0)]
    for h in np.unique(np.geomspace(1, T, SIZES).round().astype(int)).tolist():
        blocks = math.ceil(T / h)
        most = problem.B if blocks == 1 else min(problem.B, problem.budget / (2 * (blocks - 1)))
        for size in (np.geomspace(1e-4, 1, SIZES) * most).tolist():
            wrong = partial(_wrong, loudness=math.inf if problem.R == 0 else size * G / problem.R)
            whole, rest = divmod(T, h)
            found.append(Lower(0.5 * size * C * (whole * wrong(h) + wrong(rest)), h, size))
    return max(found, key=lambda lower: lower.total)


def two_points(kernel: Kernel, points: Array) -> tuple[float, float]:
    """C and G of g = (k(·, x) − k(·, x′))/C for the two points x, x′ that are furthest apart, C² = k + k′ − 2k(x, x′).

    G is the smaller of √M, as ‖g‖ = 1, and (M − m)/C, with M = max k(x, x) and m the least value of k, or 0 if that is
    less: all values of k lie between m and M. On a cube the points must show m; no kernel of ours is negative there.

    >>> two_points(RBF(0.2), np.array([[0.0], [9.0]]))[0] == math.sqrt(2)
    True
    """
    K, diagonal = kernel(points, points), kernel.diagonal(points)
    C = math.sqrt(max(float((diagonal[:, None] + diagonal - 2 * K).max()), 0.0))
    largest, least = float(diagonal.max()), min(float(K.min()), 0.0)
    return C, min(math.sqrt(largest), (largest - least) / C) if C > 0 else 1.0


def lower_order(kernel: Kernel, dim: int, problem: Problem) -> dict[str, float]:
    """P^a T^b of the literature, without its constants, by the norm of the variation; logarithms are left out.

    Linear: d^⅔ P^⅓ T^⅔ (Cheung et al. 2019). Others (Cai & Scarlett 2025): P^⅓ T^⅔ for the squared exponential kernel
    in both norms and for Matérn in the RKHS norm if ν ≥ d; P^{ν/(3ν+d)} T^{(2ν+d)/(3ν+d)} for Matérn in sup-norm.
    """
    P, T = as_problem(problem).budget, problem.horizon
    usual = P ** (1 / 3) * T ** (2 / 3)
    if is_linear(kernel):
        return {"rkhs": dim ** (2 / 3) * usual}
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, RBF):
        return {"rkhs": usual, "sup": usual}
    if isinstance(kernel, Matern):
        a = 3 * kernel.nu + dim
        sup = P ** (kernel.nu / a) * T ** ((2 * kernel.nu + dim) / a)
        return {"sup": sup} | ({"rkhs": usual} if kernel.nu >= dim else {})
    return {}


def _wrong(n: int, *, loudness: float) -> float:
    """∫_0^n erfc(a √(x/2)) dx ≤ Σ_{i < n} erfc(a √(i/2)), of which the first term is 1."""
    if n == 0 or loudness == math.inf:
        return float(min(n, 1))
    c = loudness**2 / 2
    U = math.sqrt(c * n)
    if U < 1e-6:
        return float(n) * (1 - 2 * U)  # erfc(u) ≥ 1 − 2u
    whole = n * math.erfc(U) - math.sqrt(n / (math.pi * c)) * math.exp(-U * U) + math.erf(U) / (2 * c)
    return float(max(whole, 1.0))
