"""The demonstration: two of Deng's environments; GP-UCB, R-GP-UCB, SW-GP-UCB and `auto`; one run of each in detail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftwise.environments import environment
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.engine import in_processes
from driftwise.lab.metrics import Interval, student
from driftwise.lab.tasks import Contender, Outcome, Task, perform_all
from driftwise.lab.traces import Trace, trace, truth
from driftwise.policies import Restart, Window
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
    """One run of one policy: its trace, and the steps at which it restarted or the length of its window."""

    policy: str
    world: str
    trace: Trace
    restarts: tuple[int, ...] = ()
    window: int | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything the report shows of one environment."""

    world: str
    horizon: int
    seeds: Mapping[str, int]  # how many each policy ran
    variation: float  # P_T, averaged over the seeds
    changes: tuple[int, ...]  # the function changes after these steps
    totals: Mapping[str, Interval]  # R(T)
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


def plan(world: str, *, seeds: int, horizon: int = HORIZON) -> list[Task]:
    """Every run in one environment."""
    worlds = [environment(world, seed=seed) for seed in range(seeds)]
    entrants = contenders(mean_variation(worlds, horizon), worlds[0], horizon)
    return [
        Task(entrant, made, horizon)
        for entrant in entrants
        for made in (worlds[:AUTO_SEEDS] if entrant.name == AUTO else worlds)
    ]


def play(plans: Sequence[Sequence[Task]], *, jobs: int = 1, done: Callable[[], None] = lambda: None) -> list[Scene]:
    """Performs the plans of several environments; `done` is called after each of the `runs`."""
    outcomes, closeups = [], []
    for outcome in perform_all(_slowest_first([task for tasks in plans for task in tasks]), jobs=jobs):
        outcomes.append(outcome)
        done()
    looked = [task for tasks in plans for task in median_run(tasks, outcomes)]
    for seen in in_processes(closeup, _slowest_first(looked), jobs=jobs):
        closeups.append(seen)
        done()
    return [scene(tasks, outcomes, closeups) for tasks in plans]


def runs(plans: Sequence[Sequence[Task]]) -> int:
    """How many runs `play` performs."""
    return sum(len(tasks) + SHOWN for tasks in plans)


def _slowest_first(tasks: Sequence[Task]) -> list[Task]:
    """So that no process waits at the end for one long run."""
    return sorted(tasks, key=lambda task: task.contender.name != AUTO)


def mean_variation(worlds: Sequence[SeededEnvironment], horizon: int) -> float:
    """P_T, averaged."""
    return float(np.mean([world.variation(horizon) for world in worlds]))


def median_run(tasks: Sequence[Task], outcomes: Iterable[Outcome]) -> list[Task]:
    """The contenders that are shown, on the seed whose GP-UCB regret is the median of the seeds that all have run."""
    ran_by_all = {task.world.seed for task in tasks if task.contender.name == AUTO}
    name, plain = tasks[0].world.name, tasks[0].contender.label
    regret = {
        o.seed: o.cumulative_regret
        for o in outcomes
        if (o.environment, o.policy) == (name, plain) and o.seed in ran_by_all
    }
    order = sorted(regret, key=lambda seed: (regret[seed], seed))
    shown = order[(len(order) - 1) // 2]
    return [task for task in tasks if task.world.seed == shown][:SHOWN]


def scene(tasks: Sequence[Task], outcomes: Iterable[Outcome], closeups: Iterable[Closeup]) -> Scene:
    """What came of one environment's tasks."""
    name, horizon = tasks[0].world.name, tasks[0].horizon
    worlds = list({task.world.seed: task.world for task in tasks}.values())
    ours = sorted((o for o in outcomes if o.environment == name), key=lambda o: o.seed)
    labels = list(dict.fromkeys(task.contender.label for task in tasks))
    runs = {label: [o for o in ours if o.policy == label] for label in labels}
    regret = {label: np.array([o.regret for o in its]) for label, its in runs.items()}  # (seeds, T)
    looked = median_run(tasks, ours)
    world, found = looked[0].world, {c.policy: c for c in closeups if c.world == name}
    points = world.space.points
    assert points is not None
    return Scene(
        world=name,
        horizon=horizon,
        seeds={label: len(its) for label, its in runs.items()},
        variation=mean_variation(worlds, horizon),
        changes=tuple(t for t in getattr(getattr(world, "drift", None), "times", ()) if t < horizon),
        totals={label: student(r.sum(axis=1)) for label, r in regret.items()},
        curves={label: student(np.cumsum(r, axis=1)) for label, r in regret.items()},
        seconds={label: float(np.mean([o.seconds_per_step for o in its])) for label, its in runs.items()},
        shown=world.seed,
        candidates=points[:, 0],
        truth=truth(world, horizon),
        best=np.array([world.best_x(t)[0] for t in range(1, horizon + 1)]),
        closeups={task.contender.label: found[task.contender.label] for task in looked},
    )


def closeup(task: Task) -> Closeup:
    """Performs one run and keeps what the policy believed at every step."""
    policy = task.contender.on(task.world)
    interval = policy.interval if isinstance(policy, Restart) else task.horizon
    return Closeup(
        policy=task.contender.label,
        world=task.world.name,
        trace=trace(policy, task.world, task.horizon),
        restarts=tuple(range(1 + interval, task.horizon + 1, interval)),
        window=policy.window if isinstance(policy, Window) else None,
    )
