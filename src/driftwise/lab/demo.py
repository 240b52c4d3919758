"""The demonstration: Deng's two worlds, GP-UCB against its two forgetful descendants, and one run seen from inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftwise.environments import environment
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.recordings import case_of
from driftwise.lab.statistics import Interval, student
from driftwise.lab.traces import Trace, trace, truth
from driftwise.lab.trials import Contender, Entrant, Outcome, Trial, changes_of
from driftwise.policies import Restart, Window
from driftwise.records import Array
from driftwise.theory.information import greedy_gain
from driftwise.theory.schedules import known_budget

WORLDS = ("deng-abrupt", "deng-slow")
HORIZON = 500
WIDTH = 2.0  # β of every policy: the comparison is of what they forget
MEMORY = 60  # H and w: the library's default, and no restart falls on a change of the world


@dataclass(frozen=True, eq=False)
class Inside:
    """One run of one policy: its trace, and the steps at which it forgot everything or the window it kept."""

    trace: Trace
    restarts: tuple[int, ...] = ()
    window: int | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """All there is to show of one world."""

    world: str
    horizon: int
    seeds: int
    variation: float  # P_T, averaged over the seeds
    changes: tuple[int, ...]  # after these steps the world jumps
    totals: Mapping[str, Interval]  # R(T)
    curves: Mapping[str, Interval]  # R(t), (T,)
    seconds: Mapping[str, float]  # a step
    shown: int  # the seed of the run below
    candidates: Array  # (n,)
    truth: Array  # (T, n)
    best: Array  # (T,)
    inside: Mapping[str, Inside]


def contenders(variation: float, world: SeededEnvironment, horizon: int) -> list[Contender]:
    """GP-UCB; then both of the paper's with a memory of MEMORY, and with the one that Remark (2) gives for this P_T."""
    points = world.space.points
    assert points is not None
    gain = greedy_gain(world.kernel, points, world.noise.variance, horizon).lower[-1]
    n = known_budget(float(gain), horizon, variation)
    width = ("width", WIDTH)
    return [
        Contender("GP-UCB", "gp-ucb", (width,)),
        Contender(f"R-GP-UCB, H = {MEMORY}", "r-gp-ucb", (("interval", MEMORY), width)),
        Contender(f"SW-GP-UCB, w = {MEMORY}", "sw-gp-ucb", (("window", MEMORY), width)),
        Contender(f"R-GP-UCB, H = {n} (Remark 2)", "r-gp-ucb", (("interval", n), width)),
        Contender(f"SW-GP-UCB, w = {n} (Remark 2)", "sw-gp-ucb", (("window", n), width)),
    ]


def plan(world: str, *, seeds: int, horizon: int = HORIZON) -> list[Trial]:
    """Every run of one world."""
    worlds = [environment(world, seed=seed) for seed in range(seeds)]
    entrants = contenders(mean_variation(worlds, horizon), worlds[0], horizon)
    # the slowest first, so that the last to finish is a short one
    case = case_of(worlds[0])
    return [Trial(entrant, "demo", case, horizon, seed) for entrant in entrants for seed in range(seeds)]


def mean_variation(worlds: Sequence[SeededEnvironment], horizon: int) -> float:
    """P_T, averaged."""
    return float(np.mean([world.variation(horizon) for world in worlds]))


def scene(trials: Sequence[Trial], outcomes: Iterable[Outcome]) -> Scene:
    """What came of one world's trials, and a look inside the run that is the median by GP-UCB's regret."""
    entrants = list({trial.contender.label: trial.contender for trial in trials}.values())
    worlds = [trials[0].case.environment(seed) for seed in sorted({trial.seed for trial in trials})]
    horizon = trials[0].horizon
    found = {(o.result.policy, o.result.seed): o for o in outcomes}
    regret = {e.label: np.array([found[e.label, w.seed].regret for w in worlds]) for e in entrants}  # (seeds, T)
    order = np.argsort(regret[entrants[0].label].sum(axis=1), kind="stable")
    world = worlds[int(order[(len(order) - 1) // 2])]
    points = world.space.points
    assert points is not None
    return Scene(
        world=world.name,
        horizon=horizon,
        seeds=len(worlds),
        variation=mean_variation(worlds, horizon),
        changes=changes_of(world, horizon),
        totals={label: student(r.sum(axis=1)) for label, r in regret.items()},
        curves={label: student(np.cumsum(r, axis=1)) for label, r in regret.items()},
        seconds={e.label: float(np.mean([found[e.label, w.seed].timing.mean for w in worlds])) for e in entrants},
        shown=world.seed,
        candidates=points[:, 0],
        truth=truth(world, horizon),
        best=np.array([world.best_x(t)[0] for t in range(1, horizon + 1)]),
        inside={e.label: _inside(e, world, horizon) for e in entrants[:3]},
    )


def _inside(contender: Entrant, world: SeededEnvironment, horizon: int) -> Inside:
    policy = contender.on(world)
    seen = trace(policy, world, horizon)
    if isinstance(policy, Restart):
        return Inside(seen, restarts=tuple(range(1 + policy.interval, horizon + 1, policy.interval)))
    return Inside(seen, window=policy.window if isinstance(policy, Window) else None)
