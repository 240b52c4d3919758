"""The catalogue: makers of the published benchmarks' worlds and of ours, each with its exact definition.

`world.py` says what a world is; each maker here gives one. Makers take `seed` and a few options by keyword, all of them
numbers. Where `horizon` is one of them, changes lie at the same parts of it whatever it is. `docs/suites.md` says what
the sources leave open and what we chose.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from driftwise import checks
from driftwise.environments.drift import Abrupt, Chain, Drift, Rotating, Slow, Still, Waves
from driftwise.environments.noise import Gaussian
from driftwise.environments.rkhs import Coordinates, Expansion, Peaked, Whitened
from driftwise.environments.world import World
from driftwise.gp.kernels import RBF, Matern
from driftwise.spaces import Box, Candidates, Float

LARGEST = 2500  # points of a grid: a Gaussian process is drawn on all of them together
DIMENSIONS, CENTRES = 50, 1000  # of worlds on a box


def still(*, seed: int = 0, noise_std: float = 0.1, norm: float | None = None) -> World:
    """Deng's function, standing still: what forgetting costs where there is nothing to forget."""
    return _deng("still", Still(), seed=seed, noise_std=noise_std, norm=norm)


def deng_abrupt(*, seed: int = 0, noise_std: float = 0.1, norm: float | None = None, horizon: int = 500) -> World:
    """Deng et al., AISTATS 2022, abrupt: f_t is one function to t = 100, a second to 200, a third to T = 500.

    With another T the changes are at T/5 and 2T/5.
    """
    drift = Abrupt(parts(horizon, 1 / 5, 2 / 5))
    return _deng("deng-abrupt", drift, seed=seed, noise_std=noise_std, norm=norm, horizon=horizon)


def deng_slow(*, seed: int = 0, noise_std: float = 0.1, norm: float | None = None, horizon: int = 500) -> World:
    """Deng et al., AISTATS 2022, slow: straight from one function at t = 1 to a second at 250 to a third at T = 500.

    With another T the second is reached at T/2.
    """
    drift = Slow((1, *parts(horizon, 1 / 2, 1)))
    return _deng("deng-slow", drift, seed=seed, noise_std=noise_std, norm=norm, horizon=horizon)


def bogunovic(
    *,
    seed: int = 0,
    epsilon: float = 0.01,
    nu: float | None = None,
    side: int = 50,
    noise_std: float = 0.1,
    horizon: int = 200,
) -> World:
    """Bogunovic et al., AISTATS 2016: a 50 × 50 grid on [0, 1]², f_1 ~ GP(0, k), f_{t+1} = √(1−ε) f_t + √ε g_{t+1}.

    k is RBF(0.2), or Matérn of smoothness `nu` and the same lengthscale; published with ε ∈ {.001, .01, .03}, noise
    variance .01 (`noise_std` = .1), T = 200 for RBF and 300 for Matérn-5/2.
    """
    kernel: RBF | Matern = RBF(0.2) if nu is None else Matern(nu, 0.2)
    basis = gaussian_process(kernel, side, 2)
    return World(basis.points, basis, Chain(epsilon), Gaussian(noise_std), seed, horizon, "bogunovic")


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


def rotating(*, seed: int = 0, period: float = 300.0, side: int = 16, noise_std: float = 0.1) -> World:
    """Ours: f_t = cos(θ) g_0 + sin(θ) g_1, θ = 2π(t−1)/period, g ~ GP(0, RBF(0.2)) on a 16 × 16 grid; T = 600."""
    basis = gaussian_process(RBF(0.2), side, 2)
    return World(basis.points, basis, Rotating(period), Gaussian(noise_std), seed, 600, "rotating")


def rotating_box(
    *, seed: int = 0, dim: int = 2, period: float = 300.0, noise_std: float = 0.1, norm: float = 2.0
) -> World:
    """Ours, on the unit cube itself: as rotating, with g = Σ a_i k(·, c_i), 40 centres, k = RBF(0.2·√dim); T = 200."""
    return on_box(
        Rotating(period), seed=seed, dim=dim, noise_std=noise_std, norm=norm, horizon=200, name="rotating-box"
    )


def on_box(
    drift: Drift,
    *,
    seed: int = 0,
    dim: int = 2,
    centres: int = 40,
    noise_std: float = 0.1,
    norm: float = 2.0,
    horizon: int = 200,
    name: str = "box",
) -> World:
    """Any drift of f = Σ a_i k(·, c_i), a ~ U[−1, 1] scaled to `norm`, on [0, 1]^dim, k = RBF(0.2·√dim)."""
    box = Box.of({f"x{j}": Float(0, 1) for j in range(checks.count("dim", dim, most=DIMENSIONS))})
    basis = Expansion(RBF(0.2 * dim**0.5), halton(checks.count("centres", centres, most=CENTRES), dim), norm)
    return World(box, basis, drift, Gaussian(noise_std), seed, horizon, name)


def line(n: int) -> Candidates:
    """n equally spaced points of [0, 1]."""
    return grid(n, 1)


def grid(side: int, dim: int) -> Candidates:
    """side^dim equally spaced points of [0, 1]^dim."""
    most = math.floor(LARGEST ** (1 / checks.count("dim", dim, most=6)) + 1e-9)
    return _grid(checks.count("side", side, least=2, most=most), dim)


@lru_cache(maxsize=16)
def _grid(side: int, dim: int) -> Candidates:
    axis = np.linspace(0.0, 1.0, side)
    axes = np.meshgrid(*[axis] * dim, indexing="ij")
    return Candidates(np.stack(axes, axis=-1).reshape(-1, dim))


def parts(horizon: int, *shares: float) -> tuple[int, ...]:
    """Times at these fractions of the horizon.

    >>> parts(500, 1 / 5, 2 / 5)
    (100, 200)
    """
    return tuple(round(share * checks.count("horizon", horizon, least=5)) for share in shares)


def _deng(name: str, drift: Drift, *, seed: int, noise_std: float, norm: float | None, horizon: int = 500) -> World:
    """100 points of [0, 1], k = RBF(0.2), f = Σ_{i≤100} a_i k(·, x_i), a ~ U[−1, 1], T = 500.

    As published, f is not scaled: ‖f‖_H is about 6 (√33 in mean square), and B is `World.bound`. With `norm` every g_j
    has exactly that norm. Gaussian noise of standard deviation 0.1 is our choice; we know of no published value.
    """
    points = line(100)
    return World(points, Expansion(RBF(0.2), points, norm), drift, Gaussian(noise_std), seed, horizon, name)


def gaussian_process(kernel: RBF | Matern, side: int, dim: int) -> Whitened:
    return _whitened(kernel, grid(side, dim))


@lru_cache(maxsize=4)
def _whitened(kernel: RBF | Matern, points: Candidates) -> Whitened:
    return Whitened(kernel, points)


@lru_cache(maxsize=16)
def halton(n: int, dim: int) -> Candidates:
    """n points of low discrepancy in [0, 1]^dim: a scrambled Halton sequence, always the same."""
    from scipy.stats import qmc  # slow to import

    return Candidates(qmc.Halton(dim, scramble=True, rng=np.random.default_rng(0)).random(n))


@lru_cache(maxsize=4)
def _ten_terms(kernel: RBF | Matern) -> Expansion:
    return Expansion(kernel, grid(30, 2), terms=10)


@lru_cache(maxsize=1)
def _sphere() -> Whitened:
    """The same 100 points for every seed."""
    directions = np.random.default_rng(0).standard_normal((100, 10))
    return Whitened(RBF(0.2), Candidates(directions / np.linalg.norm(directions, axis=1, keepdims=True)))
