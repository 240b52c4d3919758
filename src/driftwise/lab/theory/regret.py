"""Realised regret against the realised and the a-priori bound, over a grid of T and P_T, and the exponents of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.environments.world import World
from driftwise.gp.kernels import Kernel
from driftwise.lab.run import run
from driftwise.lab.statistics import loglog_slope
from driftwise.lab.theory.coverage import LENGTHS
from driftwise.lab.theory.settings import Settings, smooth, turning
from driftwise.policies import AnyPolicy, policy
from driftwise.records import Array
from driftwise.spaces import Candidates
from driftwise.theory import bounds
from driftwise.theory.bounds import Bound, Problem
from driftwise.theory.information import MaximumGain
from driftwise.theory.schedules import known_budget

THEOREM = {"T": 0.75, "P_T": 0.25}  # Õ(γ^{7/8} P_T^{1/4} T^{3/4})
FAR = 0.1  # a measured exponent this much away from the bound's is called far


@dataclass(frozen=True)
class Setting:
    """How the policies are told to play: λ, and their width. Only with "lemma" do the theorems speak of them."""

    noise: float
    width: str | float

    @property
    def label(self) -> str:
        return f"λ = {self.noise:g}, " + ("β of the lemma" if self.width == "lemma" else f"β = {self.width:g}")


SETTINGS = (Setting(1.0, "lemma"), Setting(0.01, "lemma"), Setting(0.01, 2.0))


@dataclass(frozen=True)
class RegretJob:
    """One run of the grid."""

    settings: Settings
    setting: Setting
    policy: str
    horizon: int
    budget: float
    seed: int

    @property
    def cell(self) -> tuple[object, ...]:
        return type(self), self.setting, self.policy, self.horizon

    def perform(self) -> list[Played]:
        kernel, points = smooth(self.settings)
        world = turning(kernel, points, budget=self.budget, horizon=self.horizon, R=self.settings.R, seed=self.seed)
        return [played(self, world, kernel, points)]


@dataclass(frozen=True)
class Played:
    """One run: its regret, and the realised bounds with the paper's drift term and the sharper (lemma widths only)."""

    job: RegretJob
    length: int  # H or w
    regret: float
    realised: float
    realised_sharp: float
    bound: Bound
    sharp: Bound


@dataclass(frozen=True)
class Cell:
    """The mean over seeds in one cell of the grid."""

    setting: Setting
    policy: str
    horizon: int
    budget: float
    length: int
    regret: float
    realised: float
    realised_sharp: float
    bound: Bound
    sharp: Bound
    covered: int  # runs whose regret is within their realised bound
    runs: int


@dataclass(frozen=True)
class Exponent:
    """The slope of ln R against ln T or ln P_T, with a bootstrap interval over seeds; beside it the bounds'."""

    setting: Setting
    policy: str
    of: str  # "T" or "P_T"
    at: float  # what the other one is
    slope: float
    low: float
    high: float
    theorem: float  # without constants, logarithms and rounding
    bound: float  # the slope of the a-priori bound itself, on the same grid
    capped: float  # of min(bound, 2BT): what is known beforehand

    @property
    def far(self) -> bool:
        return abs(self.slope - self.theorem) > FAR and not self.low <= self.theorem <= self.high


def jobs(settings: Settings) -> list[RegretJob]:
    """The longest first."""
    return [
        RegretJob(settings, setting, name, horizon, budget, seed)
        for horizon in sorted(settings.horizons, reverse=True)
        for setting in SETTINGS
        for name in LENGTHS
        for budget in settings.budgets
        for seed in range(settings.seeds)
    ]


def played(job: RegretJob, world: World, kernel: Kernel, points: Candidates) -> Played:
    """A run with H or w by Remark (2), and everything the theorems say of it."""
    settings, setting = job.settings, job.setting
    gain = gain_of(kernel, points, setting.noise)
    length = known_budget(gain(job.horizon), job.horizon, job.budget)
    made: Any = policy(
        job.policy, points, kernel=kernel, noise=setting.noise, width=setting.width, R=settings.R,
        delta=settings.delta, horizon=job.horizon, **{LENGTHS[job.policy]: length},
    )  # fmt: skip
    steps = list(run(made, world, job.horizon, seed=job.seed))
    problem = Problem(gain.upper, job.horizon, job.budget, B=1.0, R=settings.R, noise=setting.noise)
    restarts = job.policy == "r-gp-ucb"
    estimation = bounds.realised_bound(made, [s.seen for s in steps], drift=0.0) if setting.width == "lemma" else np.nan
    paper, sharp = drifts(made, world, job.horizon, length, gain)
    return Played(
        job=job,
        length=length,
        regret=float(sum(s.regret for s in steps)),
        realised=estimation + paper,
        realised_sharp=estimation + sharp,
        bound=(bounds.restart_bound if restarts else bounds.window_bound)(problem, length),
        sharp=(bounds.sharp_restart_bound if restarts else bounds.sharp_window_bound)(problem, length),
    )


def drifts(made: AnyPolicy, world: World, horizon: int, length: int, gain: MaximumGain) -> tuple[float, float]:
    """2 Σ_t ξ_n Σ_s ‖f_{s+1} − f_s‖ over the n steps s of the window of t: with the paper's ξ_n, and with ½√(n/λ).

    In a world that turns every step moves it by P_T/(T − 1).
    """
    move = world.variation(2) if horizon > 1 else 0.0
    noise = gain.noise
    t = np.arange(horizon)
    n = t % length if LENGTHS[made.name] == "interval" else np.minimum(t, length)  # observations in use
    counts = np.bincount(n, minlength=length + 1)
    paper = sum(c * i * bounds.xi(i, noise, gain.upper(i)) for i, c in enumerate(counts.tolist()) if i)
    sharp = sum(c * i * bounds.sharp_xi(i, noise) for i, c in enumerate(counts.tolist()) if i)
    return 2 * move * float(paper), 2 * move * float(sharp)


_GAINS: dict[tuple[Kernel, float, int, int], MaximumGain] = {}


def gain_of(kernel: Kernel, points: Candidates, noise: float) -> MaximumGain:
    """γ, which many runs share; the search is done once a process."""
    key = (kernel, noise, len(points), points.points.shape[1])
    if key not in _GAINS:
        _GAINS[key] = MaximumGain(kernel, noise, points.coordinates)
    return _GAINS[key]


def cells(found: Iterable[Played]) -> list[Cell]:
    """The means over seeds, in the grid's order."""
    groups: dict[tuple[object, ...], list[Played]] = {}
    for p in found:
        groups.setdefault((p.job.setting, p.job.policy, p.job.horizon, p.job.budget), []).append(p)
    made = [_cell(group) for group in groups.values()]
    order = list(SETTINGS)
    return sorted(made, key=lambda c: (order.index(c.setting), c.policy, c.horizon, c.budget))


def _cell(group: Sequence[Played]) -> Cell:
    first = group[0]
    job = first.job
    return Cell(
        setting=job.setting,
        policy=job.policy,
        horizon=job.horizon,
        budget=job.budget,
        length=first.length,
        regret=float(np.mean([p.regret for p in group])),
        realised=float(np.mean([p.realised for p in group])),
        realised_sharp=float(np.mean([p.realised_sharp for p in group])),
        bound=first.bound,
        sharp=first.sharp,
        covered=sum(p.regret <= p.realised for p in group),
        runs=len(group),
    )


def exponents(found: Iterable[Played]) -> list[Exponent]:
    """The slopes along both axes of the grid."""
    table = {(p.job.setting, p.job.policy, p.job.horizon, p.job.budget, p.job.seed): p for p in found}
    made = []
    for setting in SETTINGS:
        for name in LENGTHS:
            mine = [p.job for p in table.values() if (p.job.setting, p.job.policy) == (setting, name)]
            horizons, budgets = sorted({job.horizon for job in mine}), sorted({job.budget for job in mine})
            seeds = sorted({job.seed for job in mine})
            lines = [("T", P, [(T, P) for T in horizons]) for P in budgets]
            lines += [("P_T", float(T), [(T, P) for P in budgets]) for T in horizons]
            for of, at, places in lines:
                if len(places) > 1:
                    runs = [[table[setting, name, T, P, seed] for T, P in places] for seed in seeds]
                    made.append(_exponent(setting, name, of, at, runs))
    return made


def _exponent(setting: Setting, name: str, of: str, at: float, runs: Sequence[Sequence[Played]]) -> Exponent:
    x = [p.job.horizon if of == "T" else p.job.budget for p in runs[0]]
    slope, low, high = slopes(x, np.array([[p.regret for p in row] for row in runs]))
    totals = np.array([p.bound.total for p in runs[0]])
    trivial = np.array([p.bound.trivial for p in runs[0]])
    return Exponent(
        setting=setting,
        policy=name,
        of=of,
        at=at,
        slope=slope,
        low=low,
        high=high,
        theorem=THEOREM[of],
        bound=loglog_slope(x, totals).slope,
        capped=loglog_slope(x, np.minimum(totals, trivial)).slope,
    )


def slopes(x: Sequence[float], regret: Array, *, resamples: int = 1000) -> tuple[float, float, float]:
    """The slope for the mean over seeds, (seeds, places), and the 95% interval of seeds drawn with replacement."""
    n = len(regret)
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=resamples)
    drawn = [loglog_slope(x, means).slope for means in counts @ regret / n]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return loglog_slope(x, regret.mean(axis=0)).slope, float(low), float(high)


def share_vacuous(cells: Sequence[Cell], *, sharp: bool) -> tuple[int, int]:
    """How many of the a-priori bounds say no more than 2BT, and of how many."""
    told = [c for c in cells if not math.isnan(c.realised)]
    return sum((c.sharp if sharp else c.bound).vacuous for c in told), len(told)
