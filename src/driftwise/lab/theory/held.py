"""Every upper bound, held against many runs; and regret at the places where the bounds are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from driftwise.gp.kernels import Kernel
from driftwise.lab.theory.batch import BatchPlay, BatchWorlds, Widths, play
from driftwise.lab.theory.regret import gain_of, slopes
from driftwise.lab.theory.settings import Settings, smooth
from driftwise.records import Array
from driftwise.rng import Stream, generator
from driftwise.spaces import Candidates
from driftwise.theory.bounds import (
    Bound,
    Problem,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    window_bound,
)
from driftwise.theory.curves import BoundCurves, places_of
from driftwise.theory.lower import two_points
from driftwise.theory.promises import TIGHT
from driftwise.theory.tight import best

NOISE = 1.0  # λ: with less, all bounds are above 2BT at these horizons
THEOREMS: dict[str, Callable[[Problem, int], Bound]] = {
    "Theorem 1": restart_bound,
    "Theorem 2": window_bound,
    "Theorem 1, sharper": sharp_restart_bound,
    "Theorem 2, sharper": sharp_window_bound,
}
BOUNDS = THEOREMS | TIGHT
DRAWN = {"r-gp-ucb": (3 / 4, 1 / 4), "drift-aware, restarts": (2 / 3, 1 / 3)}  # exponents of T and of P_T


@dataclass(frozen=True)
class HeldJob:
    """Many runs under one bound: with the policy, the width and the length that it is about."""

    settings: Settings
    bound: str
    budget: float
    world: str  # "turning" or "jumping"

    @property
    def cell(self) -> tuple[object, ...]:
        return "held", self.bound, self.budget, self.world

    def perform(self) -> list[Held]:
        problem = _problem(self.settings, self.settings.held_horizon, self.budget)
        length, bound = best(BOUNDS[self.bound], problem)
        regret = simulated(self.settings, self.bound, problem, length, runs=self.settings.held_runs, world=self.world)
        return [
            Held(self, length, bound, float(regret.mean()), float(regret.max()), int((regret <= bound.total).sum()))
        ]


@dataclass(frozen=True)
class Held:
    """A row: how many runs had no more regret than the bound."""

    job: HeldJob
    length: int
    bound: Bound
    mean: float
    largest: float
    below: int


@dataclass(frozen=True)
class DrawnJob:
    """Runs of one policy at one place of the picture."""

    settings: Settings
    policy: str
    axis: str  # "T" or "P_T"
    place: float

    @property
    def cell(self) -> tuple[object, ...]:
        return "drawn", self.policy, self.axis

    def perform(self) -> list[DrawnPoint]:
        s = self.settings
        T = int(self.place) if self.axis == "T" else s.drawn_horizon
        problem = _problem(s, T, s.drawn_budget if self.axis == "T" else self.place)
        length, _ = best(BOUNDS[self.policy], problem)
        regret = simulated(s, self.policy, problem, length, runs=s.drawn_runs, world="turning")
        return [DrawnPoint(self, tuple(regret.tolist()))]


@dataclass(frozen=True)
class DrawnPoint:
    """The regret of each run."""

    job: DrawnJob
    regret: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class DrawnCurve:
    """Mean regret along an axis of the picture, and its exponent beside that of the theorem."""

    policy: str
    axis: str
    x: Array  # (k,)
    regret: Array  # (k,)
    slope: float
    low: float
    high: float
    theorem: float


def jobs(settings: Settings) -> list[HeldJob | DrawnJob]:
    held = [
        HeldJob(settings, bound, budget, world)
        for bound in BOUNDS
        for budget in settings.held_budgets
        for world in ("turning", "jumping")
        if world == "turning" or (budget and not bound.startswith("drift-aware"))  # which is told an even drift
    ]
    places = {"T": places_of(settings.drawn_horizon), "P_T": places_of(settings.drawn_budget, around=True)}
    drawn = [
        DrawnJob(settings, policy, axis, place)
        for policy in DRAWN
        for axis, found in places.items()
        for place in found.tolist()
    ]
    return [*drawn, *held]


def rows(found: Iterable[Held]) -> list[Held]:
    """In the order of the jobs."""
    order = list(BOUNDS)
    return sorted(found, key=lambda row: (order.index(row.job.bound), row.job.budget, row.job.world != "turning"))


def curves(found: Iterable[DrawnPoint]) -> list[DrawnCurve]:
    """Those of each policy and axis, whose exponent is that of the upper half of the places."""
    groups: dict[tuple[str, str], list[DrawnPoint]] = {}
    for point in found:
        groups.setdefault((point.job.policy, point.job.axis), []).append(point)
    return [_curve(*key, sorted(points, key=lambda p: p.job.place)) for key, points in sorted(groups.items())]


def _curve(policy: str, axis: str, points: Sequence[DrawnPoint]) -> DrawnCurve:
    x, regret = np.array([p.job.place for p in points]), np.array([p.regret for p in points])  # (k,), (k, runs)
    upper = slice(len(x) // 2, None)
    slope, low, high = slopes(x[upper].tolist(), regret[upper].T)
    return DrawnCurve(policy, axis, x, regret.mean(axis=1), slope, low, high, DRAWN[policy][axis == "P_T"])


@lru_cache(maxsize=8)
def bound_curves(settings: Settings, of: Callable[..., BoundCurves]) -> BoundCurves:
    """The bounds at the same places: `of` is `over_horizon` or `over_budget`."""
    kernel, points = of_held(settings)
    C, G = two_points(kernel, points.points)
    return of(_problem(settings, settings.drawn_horizon, settings.drawn_budget), contrast=C, reach=G)


def simulated(settings: Settings, bound: str, problem: Problem, length: int, *, runs: int, world: str) -> Array:
    """The regret of each run: (runs,)."""
    return play(
        played(settings, bound, problem, length), worlds(settings, problem, length, runs=runs, world=world)
    ).regret


def played(settings: Settings, bound: str, problem: Problem, length: int) -> BatchPlay:
    """The policy that a bound is about."""
    kernel, points = of_held(settings)
    restarts = bound.startswith(("Theorem 1", "r-")) or "restarts" in bound
    T, X = problem.horizon, points.points
    width = _lemma(settings, problem, math.ceil(T / length) if restarts else T) if bound in THEOREMS else _mix(problem)
    drift = problem.budget / max(T - 1, 1) if bound.startswith("drift-aware") else 0.0
    return BatchPlay(kernel(X, X), problem.noise, width, length, restarts or length >= T, drift)


def worlds(settings: Settings, problem: Problem, length: int, *, runs: int, world: str) -> BatchWorlds:
    """f_t of norm 1: turning evenly by P_T, or jumping by as much in jumps of norm 2 at most, a third into a block."""
    kernel, points = of_held(settings)
    K, T = kernel(points.points, points.points), problem.horizon
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))  # root z has the norm of z, where it is z's shortest
    rng = generator(0, T, Stream.WORLD)
    g, h = rng.standard_normal((2, runs, len(K)))
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    h -= np.einsum("rn,rn->r", g, h)[:, None] * g
    h /= np.linalg.norm(h, axis=1, keepdims=True)
    moves = np.zeros(T)  # before each step, in norm
    if world == "turning":
        moves[1:] = problem.budget / max(T - 1, 1)
    elif problem.budget:
        jumps = math.ceil(problem.budget / 2)
        blocks = np.arange(1, jumps + 1) * max(T // length, 1) // (jumps + 1)
        np.add.at(moves, np.clip(blocks * length + max(length // 3, 1), 1, T - 1), problem.budget / jumps)
    angles = np.cumsum(2 * np.arcsin(np.minimum(moves / 2, 1.0)))
    return BatchWorlds(g @ root.T, h @ root.T, angles, problem.R * rng.standard_normal((T, runs)))


def of_held(settings: Settings) -> tuple[Kernel, Candidates]:
    """The kernel and the candidates, fewer than elsewhere, as there are many runs."""
    return smooth(replace(settings, candidates=settings.held_candidates))


def _problem(settings: Settings, horizon: int, budget: float) -> Problem:
    kernel, points = of_held(settings)
    gain = gain_of(kernel, points, NOISE)
    return Problem(gain.upper, horizon, budget, B=1.0, R=settings.R, noise=NOISE, delta=settings.delta)


def _mix(problem: Problem) -> Widths:
    """`widths.mixture` of many runs; every step is an event."""
    events = math.log(problem.horizon / problem.delta)
    return lambda gain, _: np.hypot(problem.B, problem.R / math.sqrt(problem.noise) * np.sqrt(2 * gain + 2 * events))


def _lemma(settings: Settings, problem: Problem, unions: int) -> Widths:
    """`widths.Lemma` of many runs."""
    gamma, events = gain_of(*of_held(settings), problem.noise), math.log(unions / problem.delta)
    scale = problem.R / math.sqrt(problem.noise)
    return lambda gain, n: problem.B + scale * np.sqrt(2 * np.maximum(gain, gamma(n)) + 2 * events)
