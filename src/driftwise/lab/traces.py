"""A run seen from inside: what the policy believed at every step, beside the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from driftwise.environments.world import SeededEnvironment
from driftwise.errors import InvalidInput
from driftwise.lab.run import run
from driftwise.policies import AnyPolicy, Restart, Window
from driftwise.records import Array, Ask, Observation


@dataclass(frozen=True, eq=False)
class Trace:
    """T steps on n candidates of d coordinates."""

    asked: Array  # (T, d): x_t
    regret: Array  # (T,): r_t
    belief: Array  # (T, n): μ_{t−1}, what it believed of f_t before it asked, in the units of the rewards
    restarts: tuple[int, ...] = ()  # the steps at which it forgot everything
    window: int | None = None  # how many of the last steps it remembers


@dataclass(frozen=True, eq=False)
class BeliefRecorder:
    """A policy whose beliefs about `points` are written down whenever it chooses."""

    policy: AnyPolicy
    points: Array  # (n, d)
    believed: list[Array]

    def start(self) -> Any:
        return self.policy.start()

    def choose(self, state: Any, ask: Ask) -> Array:
        belief = self.policy.belief(state, ask)
        location, scale = belief.units
        self.believed.append(location + scale * belief.predict(self.points)[0])
        return self.policy.choose(state, ask)

    def update(self, state: Any, seen: Observation) -> Any:
        return self.policy.update(state, seen)


def trace(policy: AnyPolicy, world: SeededEnvironment, horizon: int) -> Trace:
    """Runs the policy once and writes down what it believed before each step."""
    points = world.space.points
    if points is None:
        raise InvalidInput("a trace needs a world on finitely many candidates; this one is on a box")
    recorder = BeliefRecorder(policy, points, [])
    steps = list(run(cast(AnyPolicy, recorder), world, horizon, seed=world.seed))
    restarts = range(1 + policy.interval, horizon + 1, policy.interval) if isinstance(policy, Restart) else ()
    return Trace(
        asked=np.array([step.seen.x for step in steps]),
        regret=np.array([step.regret for step in steps]),
        belief=np.array(recorder.believed),
        restarts=tuple(restarts),
        window=policy.window if isinstance(policy, Window) else None,
    )


def truth(world: SeededEnvironment, horizon: int) -> Array:
    """f_t at every candidate: (T, n)."""
    points = world.space.points
    if points is None:
        raise InvalidInput("the whole truth needs a world on finitely many candidates; this one is on a box")
    return np.array([world.value(t, points) for t in range(1, horizon + 1)])


def optima(world: SeededEnvironment, horizon: int) -> Array:
    """The first coordinate of the maximiser of each f_t: (T,)."""
    return np.array([world.best_x(t)[0] for t in range(1, horizon + 1)])
