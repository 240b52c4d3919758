"""A run seen from inside: what the policy believed at every step, beside the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.environments.world import SeededEnvironment
from driftwise.errors import InvalidInput
from driftwise.lab.run import run
from driftwise.policies import AnyPolicy
from driftwise.records import Array, Ask


@dataclass(frozen=True, eq=False)
class Trace:
    """T steps on n candidates of d coordinates."""

    asked: Array  # (T, d): x_t
    regret: Array  # (T,): r_t
    belief: Array  # (T, n): μ_{t−1}, what it believed of f_t before it asked


def trace(policy: AnyPolicy, world: SeededEnvironment, horizon: int) -> Trace:
    """Runs the policy, and folds its log once more to write down what it believed."""
    points = world.space.points
    if points is None:
        raise InvalidInput("a trace needs a world on finitely many candidates; this one is on a box")
    steps = list(run(policy, world, horizon, seed=world.seed))
    state, believed = policy.start(), []
    for step in steps:
        ask = Ask(number=step.seen.number, at=step.seen.at, seed=world.seed)
        believed.append(policy.belief(state, ask).predict(points)[0])
        state = policy.update(state, step.seen)
    return Trace(
        asked=np.array([step.seen.x for step in steps]),
        regret=np.array([step.regret for step in steps]),
        belief=np.array(believed),
    )


def truth(world: SeededEnvironment, horizon: int) -> Array:
    """f_t at every candidate: (T, n)."""
    points = world.space.points
    if points is None:
        raise InvalidInput("the whole truth needs a world on finitely many candidates; this one is on a box")
    return np.array([world.value(t, points) for t in range(1, horizon + 1)])
