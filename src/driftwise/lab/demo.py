"""The demonstration: two of Deng's environments; GP-UCB, R-GP-UCB, SW-GP-UCB and `auto`; one run of each in detail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftwise.environments import environment
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.engine import perform_all
from driftwise.lab.recordings import case_of
from driftwise.lab.statistics import Interval, interval
from driftwise.lab.traces import Trace, optima, trace, truth
from driftwise.lab.trials import Contender, Trial, TrialOutcome, changes_of
from driftwise.records import Array
from driftwise.theory.information import greedy_gain
from driftwise.theory.schedules import known_budget

WORLDS = ("deng-abrupt", "deng-slow")
HORIZON = 500
WIDTH = 2.0  # β of every policy: the comparison is of what they forget
MEMORY = 60  # H and w: the library's default, and no restart falls on a change point
AUTO = "auto"
SHOWN = 4  # contenders, the first, of which one run is shown in detail
AUTO_SEEDS = 4  # `auto` takes a hundred times as long per step as the others do


@dataclass(frozen=True, eq=False)
class Closeup:
    """One run of one policy."""

    policy: str
    world: str
    trace: Trace


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
    seconds: Mapping[str, float]  # per step
    shown: int  # the seed of the closeups
    candidates: Array  # (n,)
    truth: Array  # (T, n)
    best: Array  # (T,)
    closeups: Mapping[str, Closeup]


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
    """Performs the plans of several environments; `done` is called after each of the `runs`."""
    outcomes: list[TrialOutcome] = perform_all(
        _slowest_first([trial for trials in plans for trial in trials]), workers=jobs, tell=done
    )
    looked = [Look(trial) for trials in plans for trial in median_run(trials, outcomes)]
    closeups: list[Closeup] = perform_all(looked, workers=jobs, tell=done)
    return [scene(trials, outcomes, closeups) for trials in plans]


def runs(plans: Sequence[Sequence[Trial]]) -> int:
    return sum(len(trials) + SHOWN for trials in plans)


def _slowest_first(trials: Sequence[Trial]) -> list[Trial]:
    """So that no process waits at the end for one long run."""
    return sorted(trials, key=lambda trial: trial.contender.name != AUTO)


def mean_variation(worlds: Sequence[SeededEnvironment], horizon: int) -> float:
    """P_T, averaged."""
    return float(np.mean([world.variation(horizon) for world in worlds]))


def median_run(trials: Sequence[Trial], outcomes: Iterable[TrialOutcome]) -> list[Trial]:
    """The contenders that are shown, on the seed whose GP-UCB regret is the median of the seeds that all have run."""
    ran_by_all = {trial.seed for trial in trials if trial.contender.name == AUTO}
    name, plain = trials[0].case.name, trials[0].contender.label
    regret = {o.result.seed: o.result.regret for o in outcomes if (o.result.case, o.result.policy) == (name, plain)}
    order = sorted(ran_by_all, key=lambda seed: (regret[seed], seed))
    shown = order[(len(order) - 1) // 2]
    return [trial for trial in trials if trial.seed == shown][:SHOWN]


def scene(trials: Sequence[Trial], outcomes: Iterable[TrialOutcome], closeups: Iterable[Closeup]) -> Scene:
    """What came of one environment's trials."""
    name, horizon = trials[0].case.name, trials[0].horizon
    worlds = [trials[0].case.environment(seed) for seed in sorted({trial.seed for trial in trials})]
    ours = sorted((o for o in outcomes if o.result.case == name), key=lambda o: o.result.seed)
    labels = list(dict.fromkeys(trial.contender.label for trial in trials))
    made = {label: [o for o in ours if o.result.policy == label] for label in labels}
    regret = {label: np.array([o.regret for o in its]) for label, its in made.items()}  # (seeds, T)
    totals = {label: r.sum(axis=1) for label, r in regret.items()}
    looked = median_run(trials, ours)
    world, found = worlds[looked[0].seed], {c.policy: c for c in closeups if c.world == name}
    points = world.space.points
    assert points is not None
    return Scene(
        world=name,
        horizon=horizon,
        seeds={label: len(its) for label, its in made.items()},
        variation=mean_variation(worlds, horizon),
        changes=changes_of(world, horizon),
        totals={label: interval(total) for label, total in totals.items()},
        beside={label: interval(totals[labels[0]][: len(total)]) for label, total in totals.items()},
        curves={label: interval(np.cumsum(r, axis=1)) for label, r in regret.items()},
        seconds={label: float(np.mean([o.timing.mean for o in its])) for label, its in made.items()},
        shown=world.seed,
        candidates=points[:, 0],
        truth=truth(world, horizon),
        best=optima(world, horizon),
        closeups={trial.contender.label: found[trial.contender.label] for trial in looked},
    )


@dataclass(frozen=True)
class Look:
    """One run of a trial, of which is kept what the policy believed at every step."""

    trial: Trial

    @property
    def cell(self) -> str:
        """How long it takes depends on the policy alone."""
        return self.trial.contender.label

    def perform(self) -> Closeup:
        """Runs it again, step by step."""
        trial = self.trial
        world = trial.case.environment(trial.seed)
        seen = trace(trial.contender.on(world), world, trial.horizon)
        return Closeup(trial.contender.label, trial.case.name, seen)
