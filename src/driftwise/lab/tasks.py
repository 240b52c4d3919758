"""Comparisons as independent tasks: one policy on one world, in any order, on as many processes as there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.environments.world import SeededEnvironment
from driftwise.lab.engine import in_processes
from driftwise.lab.run import run
from driftwise.policies import AnyPolicy, options_of, policy
from driftwise.records import Array


@dataclass(frozen=True)
class Contender:
    """A policy to be compared: its name, the options it was given, and what it is called in tables."""

    label: str
    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def on(self, world: SeededEnvironment) -> AnyPolicy:
        """The policy on this world, told the world's kernel and noise variance where its options say nothing.

        Of a world without noise it is told the kernel alone, as its own noise variance must be above 0.
        """
        told = {"kernel": world.kernel} | ({"noise": world.noise.variance} if world.noise.variance > 0 else {})
        known = options_of(self.name, inner=dict(self.options).get("inner"))
        return policy(self.name, world.space, **{k: v for k, v in told.items() if k in known} | dict(self.options))


@dataclass(frozen=True)
class Task:
    """One run: a contender on a world, which has its seed, for `horizon` steps."""

    contender: Contender
    world: SeededEnvironment
    horizon: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a task."""

    policy: str
    environment: str
    seed: int
    horizon: int
    regret: Array  # (T,): r_t
    seconds_per_step: float

    @property
    def cumulative_regret(self) -> float:
        """R(T) = Σ r_t."""
        return float(self.regret.sum())

    @property
    def mean_regret(self) -> float:
        """R(T)/T."""
        return self.cumulative_regret / self.horizon

    def record(self) -> dict[str, Any]:
        """The outcome in one line, for a file."""
        return {
            "policy": self.policy,
            "environment": self.environment,
            "seed": self.seed,
            "horizon": self.horizon,
            "cumulative_regret": self.cumulative_regret,
            "mean_regret": self.mean_regret,
            "seconds_per_step": self.seconds_per_step,
        }


def perform(task: Task) -> Outcome:
    """Runs one task."""
    steps = list(run(task.contender.on(task.world), task.world, task.horizon, seed=task.world.seed))
    return Outcome(
        policy=task.contender.label,
        environment=task.world.name,
        seed=task.world.seed,
        horizon=len(steps),
        regret=np.array([step.regret for step in steps]),
        seconds_per_step=float(np.mean([step.seconds for step in steps])),
    )


def perform_all(tasks: Sequence[Task], *, jobs: int = 1) -> Iterator[Outcome]:
    """Outcomes as they come. With several jobs each is a process of its own, with one BLAS thread."""
    return in_processes(perform, tasks, jobs=jobs)
