"""The demonstration: two of Deng's environments; GP-UCB, R-GP-UCB, SW-GP-UCB and `auto`; one run of each in detail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftwise.environments import environment
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.engine import perform_all
from driftwise.lab.recordings import case_of
from driftwise.lab.statistics import Interval, interval
from driftwise.lab.traces import Trace, optima, trace, truth
from driftwise.lab.trials import Contender, Trial, changes_of
from driftwise.records import Array
from driftwise.theory.information import greedy_gain
from driftwise.theory.schedules import known_budget

WORLDS = ("deng-abrupt", "deng-slow")
HORIZON = 300
WIDTH = 2.0  # β of every policy: the comparison is of what they forget
MEMORY = 60  # H and w: the library's default, and no restart falls on a change point
AUTO = "auto"
SHOWN = 4  # contenders, the first, of which one run is shown in detail
AUTO_SEEDS = 6  # `auto` takes a hundred times as long per step as the others do


@dataclass(frozen=True)
class Look:
    """One run of a trial, of which is kept what the policy believed at every step."""

    trial: Trial

    @property
    def cell(self) -> str:
        """How long it takes depends on the policy alone."""
        return self.trial.contender.label

    def perform(self) -> Seen:
        trial, began = self.trial, time.perf_counter()
        world = trial.case.environment(trial.seed)
        seen = trace(trial.contender.on(world), world, trial.horizon)
        return Seen(trial, seen, (time.perf_counter() - began) / trial.horizon)


@dataclass(frozen=True, eq=False)
class Seen:
    """What came of it."""

    trial: Trial
    trace: Trace
    seconds: float  # per step


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything the report shows of one environment."""

    world: str
    horizon: int
    seeds: Mapping[str, int]  # how many each policy ran
    variation: float  # P_T, averaged over the seeds
    changes: tuple[int, ...]  # the function changes after these steps
    totals: Mapping[str, Interval]  # R(T)
    beside: Mapping[str, Interval]  # R(T) of the first policy, on the seeds that each has run
    curves: Mapping[str, Interval]  # R(t), (T,)
    seconds: Mapping[str, float]  # per step, with the look at its belief
    shown: int  # the seed of the closeups
    candidates: Array  # (n,)
    truth: Array  # (T, n)
    best: Array  # (T,)
    closeups: Mapping[str, Trace]


def contenders(variation: float, world: SeededEnvironment, horizon: int) -> list[Contender]:
    """GP-UCB, the paper's two with a memory of MEMORY, `auto`, and the two with Remark (2)'s memory for this P_T."""
    points = world.space.points
    assert points is not None
    gain = greedy_gain(world.kernel, points, world.noise.variance, horizon).lower[-1]
    n = known_budget(float(gain), horizon, variation)
    width = ("width", WIDTH)
    return [
        Contender("GP-UCB", "gp-ucb", (width,)),
        Contender(f"R-GP-UCB, H = {MEMORY}", "r-gp-ucb", (("interval", MEMORY), width)),
        Contender(f"SW-GP-UCB, w = {MEMORY}", "sw-gp-ucb", (("window", MEMORY), width)),
        Contender("auto, the default", AUTO),
        Contender(f"R-GP-UCB, H = {n} (Remark 2)", "r-gp-ucb", (("interval", n), width)),
        Contender(f"SW-GP-UCB, w = {n} (Remark 2)", "sw-gp-ucb", (("window", n), width)),
    ]


def plan(world: str, *, seeds: int, horizon: int = HORIZON) -> list[Trial]:
    """Every run in one environment."""
    worlds = [environment(world, seed=seed) for seed in range(seeds)]
    entrants = contenders(mean_variation(worlds, horizon), worlds[0], horizon)
    case = case_of(worlds[0])
    return [
        Trial(entrant, "demo", case, horizon, seed)
        for entrant in entrants
        for seed in range(min(seeds, AUTO_SEEDS) if entrant.name == AUTO else seeds)
    ]


def play(plans: Sequence[Sequence[Trial]], *, jobs: int = 1, done: Callable[[], None] = lambda: None) -> list[Scene]:
    """Performs the plans of several environments; `done` is called after each trial."""
    trials = _slowest_first([trial for plan in plans for trial in plan])
    seen: list[Seen] = perform_all([Look(trial) for trial in trials], workers=jobs, tell=done)
    return [scene(plan, seen) for plan in plans]


def _slowest_first(trials: Sequence[Trial]) -> list[Trial]:
    """So that no process waits at the end for one long run."""
    return sorted(trials, key=lambda trial: trial.contender.name != AUTO)


def mean_variation(worlds: Sequence[SeededEnvironment], horizon: int) -> float:
    """P_T, averaged."""
    return float(np.mean([world.variation(horizon) for world in worlds]))


def median_seed(seen: Sequence[Seen]) -> int:
    """Of the seeds that all contenders have run, the one whose GP-UCB regret is the median."""
    ran_by_all = {one.trial.seed for one in seen if one.trial.contender.name == AUTO}
    plain = [one for one in seen if one.trial.contender.name == "gp-ucb" and one.trial.seed in ran_by_all]
    order = sorted(plain, key=lambda one: (one.trace.regret.sum(), one.trial.seed))
    return order[(len(order) - 1) // 2].trial.seed


def scene(trials: Sequence[Trial], seen: Iterable[Seen]) -> Scene:
    """What came of one environment's trials."""
    case, horizon = trials[0].case, trials[0].horizon
    ours = sorted((one for one in seen if one.trial.case.name == case.name), key=lambda one: one.trial.seed)
    worlds = [case.environment(seed) for seed in sorted({trial.seed for trial in trials})]
    labels = list(dict.fromkeys(trial.contender.label for trial in trials))
    made = {label: [one for one in ours if one.trial.contender.label == label] for label in labels}
    regret = {label: np.array([one.trace.regret for one in its]) for label, its in made.items()}  # (seeds, T)
    world = worlds[median_seed(ours)]
    totals = {label: r.sum(axis=1) for label, r in regret.items()}
    points = world.space.points
    assert points is not None
    return Scene(
        world=case.name,
        horizon=horizon,
        seeds={label: len(its) for label, its in made.items()},
        variation=mean_variation(worlds, horizon),
        changes=changes_of(world, horizon),
        totals={label: interval(total) for label, total in totals.items()},
        beside={label: interval(totals[labels[0]][: len(total)]) for label, total in totals.items()},
        curves={label: interval(np.cumsum(r, axis=1)) for label, r in regret.items()},
        seconds={label: float(np.mean([one.seconds for one in its])) for label, its in made.items()},
        shown=world.seed,
        candidates=points[:, 0],
        truth=truth(world, horizon),
        best=optima(world, horizon),
        closeups={label: one.trace for label in labels[:SHOWN] for one in made[label] if one.trial.seed == world.seed},
    )
