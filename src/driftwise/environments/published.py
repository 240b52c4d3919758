"""More published worlds: those of Iwazaki & Takeno, Hong et al., Mandl & Kekkonen, and Cheung et al.

Each function takes `seed` and `horizon` by keyword. The changes lie at the same fractions of any horizon.
`docs/suites.md` says what the sources leave open and what we chose.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from driftwise.environments.catalogue import gaussian_process, grid, parts
from driftwise.environments.drift import Abrupt, Chain, Waves
from driftwise.environments.noise import Gaussian
from driftwise.environments.rkhs import Coordinates, Expansion, Peaked, Whitened
from driftwise.environments.world import World
from driftwise.gp.kernels import RBF, Matern
from driftwise.spaces import Candidates


def iwazaki(*, seed: int = 0, nu: float | None = None, horizon: int = 5000) -> World:
    """30 × 30 points of [0, 1]², f = Σ a_i k(·, c_i) with 10 centres, ℓ = 0.5; changes at T/5 and 2T/5, T = 5000."""
    kernel: RBF | Matern = RBF(0.5) if nu is None else Matern(nu, 0.5)
    drift = Abrupt(parts(horizon, 1 / 5, 2 / 5))
    return World(grid(30, 2), _ten_terms(kernel), drift, Gaussian(0.1), seed, horizon, "iwazaki")


def hong(*, seed: int = 0, changes: int = 1, horizon: int = 10_000) -> World:
    """100 points of the unit sphere in R¹⁰, k = RBF(0.2), |f| ≤ 0.8, noise 0.1; changes at 3000, or 1500 and 5000."""
    times = parts(horizon, 0.3) if changes == 1 else parts(horizon, 0.15, 0.5)
    basis = Peaked(_sphere(), 0.8)
    return World(basis.basis.points, basis, Abrupt(times), Gaussian(0.1), seed, horizon, "hong")


def mandl(*, seed: int = 0, epsilon: float = 0.01, horizon: int = 10_000) -> World:
    """20 × 20 points of [0, 1]², GP(0, RBF(0.1)), f_{t+1} = √(1−ε) f_t + √ε g_{t+1}, noise variance 0.01, T = 10⁴."""
    basis = gaussian_process(RBF(0.1), 20, 2)
    return World(basis.points, basis, Chain(epsilon), Gaussian(0.1), seed, horizon, "mandl")


def cheung(*, seed: int = 0, budget: float = 1.0, horizon: int = 30_000) -> World:
    """Two arms, f_t(e_i) = θ_{t,i}, θ_t = (.5 + .3 sin(5Bπt/T), .5 + .3 sin(π + 5Bπt/T)), noise R = 0.1."""
    arms = Candidates(np.eye(2))
    return World(arms, Coordinates(2), Waves(budget, horizon), Gaussian(0.1), seed, horizon, "cheung")


@lru_cache(maxsize=4)
def _ten_terms(kernel: RBF | Matern) -> Expansion:
    return Expansion(kernel, grid(30, 2), terms=10)


@lru_cache(maxsize=1)
def _sphere() -> Whitened:
    """The same 100 points for every seed."""
    directions = np.random.default_rng(0).standard_normal((100, 10))
    return Whitened(RBF(0.2), Candidates(directions / np.linalg.norm(directions, axis=1, keepdims=True)))
