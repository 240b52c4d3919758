"""The drift zoo, ours: one world for each kind of change, in 1, 2 and 6 dimensions, on candidates and on boxes.

Candidates, T = 600: 100 points of a line, a 16 × 16 grid, or 300 points of low discrepancy in [0, 1]⁶; g ~ GP(0, k), k
RBF(0.2) in one and two dimensions and RBF(0.2√6) in six.
Boxes, T = 200: the unit cube itself; g = Σ a_i k(·, c_i), 40 centres, a ~ U[−1, 1] scaled to ‖g‖_H = 2, k = RBF(0.2√d).
The noise is Gaussian of standard deviation 0.1. Worlds of one seed share their g: kinds of change can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from driftwise.environments.catalogue import grid, halton, on_box, parts
from driftwise.environments.drift import Abrupt, Chain, Drift, Rotating, Still, Storm, Trend
from driftwise.environments.levels import CyclingLevel, JumpingLevel, Levelled, LevelPath, Lifted, WalkingLevel
from driftwise.environments.moving import Moving, Translated
from driftwise.environments.noise import Changing, Gaussian, Noise
from driftwise.environments.rkhs import Expansion, Whitened
from driftwise.environments.world import World
from driftwise.errors import NotFoundError
from driftwise.gp.kernels import RBF
from driftwise.spaces import Box, Candidates, Float

NOISE = Gaussian(0.1)
LEVEL = 1.5  # standard deviation of a level that moves, relative to that of the function
REACH = 0.5  # how far the coordinate that moves goes, each way
DIMENSIONS = (1, 2, 6)


@dataclass(frozen=True)
class Kind:
    """A kind of change: its drift and noise for a horizon, in words and as functions of T."""

    name: str
    definition: str
    drift: Callable[[int], Drift] | None  # None: the coordinate that moves
    noise: Callable[[int], Noise] = lambda horizon: NOISE
    level: Callable[[float, int], LevelPath] | None = None  # of its standard deviation and T


def _every(horizon: int, pieces: int) -> Abrupt:
    return Abrupt(tuple(round(j * horizon / pieces) for j in range(1, pieces)))


KINDS = {
    kind.name: kind
    for kind in (
        Kind("still", "f_t = g_0", lambda T: Still()),
        Kind("abrupt-often", "a new function every T/6 steps", lambda T: _every(T, 6)),
        Kind("abrupt-rarely", "a new function after T/2 steps", lambda T: _every(T, 2)),
        Kind("slow-0.001", "f_{t+1} = √(1−ε) f_t + √ε g_{t+1}, ε = 0.001", lambda T: Chain(0.001)),
        Kind("slow-0.01", "the same with ε = 0.01", lambda T: Chain(0.01)),
        Kind("slow-0.05", "the same with ε = 0.05", lambda T: Chain(0.05)),
        Kind("rotating", "f_t = cos(θ) g_0 + sin(θ) g_1, two turns in T steps", lambda T: Rotating(T / 2)),
        Kind("storm", "quiet, then storm: still to T/2, then ε = 0.05", lambda T: Storm(T // 2, 0.05)),
        Kind(
            "trend",
            "periodic with a trend: (cos(θ) g_0 + sin(θ) g_1 + (1−s) g_2 + s g_3)/√2, four turns, s from 0 to 1",
            lambda T: Trend(T / 4, T),
        ),
        Kind(
            "one-coordinate",
            "f_t(x) = g(x − s(t) e_1), s from 0 to ½ to −½ and back to 0 at constant speed, g = Σ a_i k(·, c_i)",
            None,
        ),
        Kind(
            "noise",
            "f stands still; the noise's standard deviation is 0.05, from T/3 to 2T/3 it is 0.5",
            lambda T: Still(),
            lambda T: Changing((0.05, 0.5, 0.05), parts(T, 1 / 3, 2 / 3)),
        ),
        Kind("too-fast", "drift faster than can be followed: ε = 0.5", lambda T: Chain(0.5)),
        *(
            Kind(f"level-{name}{suffix}", f"{words} plus {level_words}", drift, level=level)
            for suffix, words, drift in (
                ("", "f_t = g_0", lambda T: Still()),
                ("-moving", "a chain with ε = 0.01", lambda T: Chain(0.01)),
            )
            for name, level_words, level in (
                ("cycle", "a level with four periods", lambda std, T: CyclingLevel(std, T / 4)),
                ("walk", "a level that is a random walk", lambda std, T: WalkingLevel(std, T)),
                ("jumps", "a level drawn anew after 2T/5 and 4T/5", lambda s, T: JumpingLevel(s, parts(T, 0.4, 0.8))),
            )
        ),
    )
}


def zoo(*, kind: str, dim: int, box: bool = False, seed: int = 0, horizon: int = 600) -> World | Moving:
    """One of the zoo's worlds.

    >>> zoo(kind="abrupt-often", dim=1).drift
    Abrupt(times=(100, 200, 300, 400, 500))
    """
    if kind not in KINDS:
        raise NotFoundError(f"the zoo has no {kind!r:.40}; it has {', '.join(KINDS)}")
    chosen, name = KINDS[kind], case_name(kind, dim, box)
    if chosen.drift is None:
        return _moved(dim, box, seed=seed, horizon=horizon, name=name)
    if box:
        world = on_box(chosen.drift(horizon), seed=seed, dim=dim, horizon=horizon, name=name)
        world = replace(world, noise=chosen.noise(horizon))
    else:
        basis = _process(dim)
        world = World(basis.points, basis, chosen.drift(horizon), chosen.noise(horizon), seed, horizon, name)
    return world if chosen.level is None else _lifted(world, chosen.level)


def _lifted(world: World, level: Callable[[float, int], LevelPath]) -> World:
    """The same world and a level, of LEVEL times the standard deviation of its functions."""
    std = LEVEL * (_spread(world.basis) if isinstance(world.basis, Expansion) else 1.0)
    drift = Levelled(world.drift, level(std, world.horizon))
    return replace(world, basis=Lifted(world.basis, std**2), drift=drift)


@lru_cache(maxsize=8)
def _spread(basis: Expansion) -> float:
    """√E g(x)², on average over its centres: E g(x)² = v Σ_i k(x, c_i)², and E ‖g‖² = v m."""
    centres = basis.centres.points
    squares = (basis.kernel(centres, centres) ** 2).sum(axis=1).mean()
    return (basis.norm or 1.0) * math.sqrt(float(squares) / len(centres))


def case_name(kind: str, dim: int, box: bool) -> str:
    """2d/rotating, box6d/still."""
    return f"{'box' if box else ''}{dim}d/{kind}"


def candidates(dim: int) -> Candidates:
    """A line of 100 points, a 16 × 16 grid, 300 points of low discrepancy in more dimensions."""
    return {1: grid(100, 1), 2: grid(16, 2)}.get(dim) or halton(300, dim)


def _moved(dim: int, box: bool, *, seed: int, horizon: int, name: str) -> Moving:
    space = Box.of({f"x{j}": Float(0, 1) for j in range(dim)}) if box else candidates(dim)
    basis = _wide(dim, box)
    return Moving(space, Translated(basis, 0, REACH, float(horizon)), basis.kernel, NOISE, seed, horizon, name)


def _kernel(dim: int) -> RBF:
    return RBF(0.2 if dim <= 2 else 0.2 * math.sqrt(dim))


@lru_cache(maxsize=4)
def _process(dim: int) -> Whitened:
    return Whitened(_kernel(dim), candidates(dim))


@lru_cache(maxsize=8)
def _wide(dim: int, box: bool) -> Expansion:
    """Centres wherever g comes into sight, [−½, 1½] along the coordinate that moves.

    ‖g‖_H = 2 on a box, as in the zoo's others; on candidates such that Var g is about 1 there: with independent a_i of
    variance v, E g(x)² = v Σ_i k(x, c_i)² and E ‖g‖² = v m.
    """
    centres = halton(40 if box else 120, dim).points.copy()
    centres[:, 0] = centres[:, 0] * (1 + 2 * REACH) - REACH
    if box:
        return Expansion(RBF(0.2 * math.sqrt(dim)), Candidates(centres), norm=2.0)
    K = _kernel(dim)(candidates(dim).points, centres)  # (n, m)
    return Expansion(_kernel(dim), Candidates(centres), norm=math.sqrt(len(centres) / float((K**2).sum(axis=1).mean())))
