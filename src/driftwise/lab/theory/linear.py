"""The linear special case (Remark 4): the choices of the linear bandits themselves, and exponents in T, P_T and d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from driftwise.gp.kernels import Linear
from driftwise.lab.run import run
from driftwise.lab.theory.coverage import LENGTHS
from driftwise.lab.theory.regret import Played, RegretJob, Setting, played, slopes
from driftwise.lab.theory.settings import Settings, turning
from driftwise.policies import policy
from driftwise.rng import Stream, generator
from driftwise.spaces import Candidates

SETTING = Setting(1.0, "lemma")
TWINS = {"r-gp-ucb": "restart-linucb", "sw-gp-ucb": "sw-linucb"}
THEOREM = {"T": 0.75, "P_T": 0.25, "d": 0.875}  # γ = O(d ln T), so Õ(d^{7/8} P_T^{1/4} T^{3/4})


@dataclass(frozen=True)
class LinearJob(RegretJob):
    """One run of a policy with a linear kernel, and of the linear bandit that should make the same choices."""

    dim: int

    def perform(self) -> list[LinearPlayed]:  # type: ignore[override]
        points = shell(self.settings.linear_points, self.dim)
        world = turning(Linear(), points, budget=self.budget, horizon=self.horizon, R=self.settings.R, seed=self.seed)
        found = played(self, world, Linear(), points)
        option = {LENGTHS[self.policy]: found.length}
        told = {"noise": SETTING.noise, "R": self.settings.R, "delta": self.settings.delta, **option}
        ours: Any = policy(self.policy, points, kernel=Linear(), width="lemma", horizon=self.horizon, **told)
        theirs = policy(TWINS[self.policy], points, width=ours.width, **told)
        same = sum(
            a.seen.x == b.seen.x
            for a, b in zip(
                run(ours, world, self.horizon, seed=self.seed),
                run(theirs, world, self.horizon, seed=self.seed),
                strict=True,
            )
        )
        return [LinearPlayed(self, found, same)]


@dataclass(frozen=True)
class LinearPlayed:
    """What came of it: as for any kernel, and how many choices agree with the linear bandit's."""

    job: LinearJob
    played: Played
    same: int


@dataclass(frozen=True)
class LinearRow:
    """One policy: agreement with its linear twin, a slope in T, P_T and d, and how high the bounds are."""

    policy: str
    twin: str
    same: int
    steps: int
    of: str
    slope: float
    low: float
    high: float
    theorem: float
    regret: float  # R(T) at the grid's middle
    realised: float
    bound: float
    sharp: float
    trivial: float


def jobs(settings: Settings) -> list[LinearJob]:
    """Three lines through the middle of the grid of T, P_T and d."""
    T, P, d = middle(settings)
    places = [(t, P, d) for t in settings.linear_horizons] + [(T, p, d) for p in settings.linear_budgets]
    places += [(T, P, dim) for dim in settings.dims]
    return [
        LinearJob(settings, SETTING, name, t, p, seed, dim)
        for t, p, dim in sorted(set(places), reverse=True)
        for name in LENGTHS
        for seed in range(settings.linear_seeds)
    ]


def middle(settings: Settings) -> tuple[int, float, int]:
    """T, P_T and d where the three lines cross."""
    T, P, d = (v[len(v) // 2] for v in (settings.linear_horizons, settings.linear_budgets, settings.dims))
    return int(T), float(P), int(d)


@lru_cache(maxsize=8)
def shell(n: int, dim: int) -> Candidates:
    """n points x with 0.9 ≤ ‖x‖ ≤ 1: no two are equally uncertain at first, which rounding would have to decide."""
    rng = generator(0, dim, Stream.WORLD)
    X = rng.standard_normal((n, dim))
    return Candidates(X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.9, 1.0, (n, 1)))


def rows(found: Sequence[LinearPlayed], settings: Settings) -> list[LinearRow]:
    """A row for each policy and exponent."""
    T, P, d = middle(settings)
    table = {(p.job.policy, p.job.horizon, p.job.budget, p.job.dim, p.job.seed): p for p in found}
    lines = {
        "T": [(t, P, d) for t in settings.linear_horizons],
        "P_T": [(T, p, d) for p in settings.linear_budgets],
        "d": [(T, P, dim) for dim in settings.dims],
    }
    made = []
    for name in LENGTHS:
        mine = [p for p in found if p.job.policy == name]
        centre = [table[name, T, P, d, seed].played for seed in range(settings.linear_seeds)]
        for axis, (of, places) in enumerate(lines.items()):
            x = [float(place[axis]) for place in places]
            runs = [[table[(name, *place, s)].played.regret for place in places] for s in range(settings.linear_seeds)]
            slope, low, high = slopes(x, np.array(runs))
            made.append(
                LinearRow(
                    policy=name,
                    twin=TWINS[name],
                    same=sum(p.same for p in mine),
                    steps=sum(p.job.horizon for p in mine),
                    of=of,
                    slope=slope,
                    low=low,
                    high=high,
                    theorem=THEOREM[of],
                    regret=float(np.mean([p.regret for p in centre])),
                    realised=float(np.mean([p.realised for p in centre])),
                    bound=centre[0].bound.total,
                    sharp=centre[0].sharp.total,
                    trivial=centre[0].bound.trivial,
                )
            )
    return made
