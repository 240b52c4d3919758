"""One policy in one environment, step by step, with the exact regret."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.environments.world import Environment
from driftwise.policies import AnyPolicy
from driftwise.records import Ask, Observation, Step


def run(policy: AnyPolicy, environment: Environment, horizon: int, *, seed: int | None = None) -> Iterator[Step]:
    """The steps t = 1 … horizon. The policy sees its own observations and nothing else.

    With `seed`, the environment is the one of that seed (where it has `seeded`), and the policy draws from it as well,
    from a stream of its own. An environment of your own needs only `value`, `observe` and `best`; where time is real,
    its `at(t)` says when step t is.

    Args:
        policy: the policy.
        environment: the world that it acts in.
        horizon: the number of steps T.
        seed: the seed of the world, its noise and the policy; None takes the world as it is.

    Yields:
        A `Step` at a time: the observation, its value without noise, and the best value, whose difference is `regret`.

    >>> import driftwise as dw
    >>> world = dw.environment("deng-abrupt")
    >>> policy = dw.policy("sw-gp-ucb", world.space, window=30, kernel=world.kernel)
    >>> steps = list(dw.run(policy, world, horizon=20, seed=7))
    >>> len(steps), min(step.regret for step in steps) >= 0
    (20, True)
    """
    checks.like("policy", policy, ("start", "choose", "update"), "a policy, as policy('auto', space)")
    checks.like("environment", environment, ("value", "observe", "best"), "a world, as environment('deng-abrupt')")
    checks.count("horizon", horizon)
    if seed is None:
        seed = int(getattr(environment, "seed", 0))
    elif hasattr(environment, "seeded"):
        environment = environment.seeded(seed)
    return _steps(policy, environment, horizon, checks.seed("seed", seed))


def _steps(policy: AnyPolicy, environment: Environment, horizon: int, seed: int) -> Iterator[Step]:
    state: Any = policy.start()
    clock = getattr(environment, "at", float)  # where time is real, the environment says when step t is
    for t in range(1, horizon + 1):
        at = float(clock(t))
        ask = Ask(number=t, at=at, seed=seed)
        began = perf_counter()
        chosen = policy.choose(state, ask)
        seconds = perf_counter() - began

        x = np.array(chosen, dtype=float)
        y = checks.size("the environment's reward", environment.observe(t, x))
        seen = Observation(number=t, at=at, x=tuple(x.tolist()), y=y)
        began = perf_counter()
        state = policy.update(state, seen)
        seconds += perf_counter() - began

        value = float(np.asarray(environment.value(t, x[None])).reshape(-1)[0])
        yield Step(seen=seen, value=value, best=float(environment.best(t)), seconds=seconds)
