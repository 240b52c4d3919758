"""One policy in one environment, step by step, with the exact regret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.environments.world import Environment
from driftwise.errors import InvalidInput
from driftwise.policies import AnyPolicy
from driftwise.records import Ask, Observation, Point, Step
from driftwise.spaces import Box, Candidates, Space
from driftwise.spaces.mesh import Mesh

ROUNDING = 1e-9  # of a coordinate
OPTIMUM = 1e-6  # of max f_t, relative from 1 on: as near as the optimum on a box is known


def run(policy: AnyPolicy, environment: Environment, horizon: int, *, seed: int | None = None) -> Iterator[Step]:
    """The steps t = 1 … horizon. The policy sees its own observations and nothing else.

    What the policy chooses must lie in the environment's space (the policy's own, if it has none), and no value may be
    above `best`: an error names the environment, the seed and the step.

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
    space = getattr(environment, "space", getattr(policy, "space", None))
    inside = _inside(space) if isinstance(space, Space) else lambda x: True
    clock = getattr(environment, "at", None)  # where time is real, the environment says when step t is

    def number(what: str, value: Any, t: int) -> float:
        fine = type(value) is float and abs(value) <= checks.LARGEST  # as nearly always, and cheap
        return value if fine else checks.size(f"{_place(environment, seed, t)}: {what}", value)

    for t in range(1, horizon + 1):
        at = float(t) if clock is None else number("the time", clock(t), t)
        ask = Ask(number=t, at=at, seed=seed)
        began = perf_counter()
        chosen = policy.choose(state, ask)
        seconds = perf_counter() - began

        x = np.array(chosen, dtype=float)
        point = tuple(x.tolist()) if x.ndim == 1 else ()
        if not inside(point):
            raise InvalidInput(
                f"{_place(environment, seed, t)}: {getattr(policy, 'name', 'the policy')} chose {checks.shown(chosen)},"
                " which is not in the space; choose() must return one of its points, (d,), on a box of the unit cube"
            )
        y = number("the reward", environment.observe(t, x), t)
        seen = Observation(number=t, at=at, x=point, y=y)
        began = perf_counter()
        state = policy.update(state, seen)
        seconds += perf_counter() - began

        value = number("the value", float(np.asarray(environment.value(t, x[None])).reshape(-1)[0]), t)
        best = number("the best", float(environment.best(t)), t)
        if value - best > OPTIMUM * max(1.0, abs(best)):
            raise InvalidInput(
                f"{_place(environment, seed, t)}: best({t}) is {best:.9g}, and the value at {checks.shown(point)} is "
                f"{value:.9g}; best(t) must be the maximum of value(t, X) over the space"
            )
        yield Step(seen=seen, value=value, best=best, seconds=seconds)


def _place(environment: Environment, seed: int, t: int) -> str:
    return f"{getattr(environment, 'name', type(environment).__name__)}, seed {seed}, step {t}"


def _inside(space: Space) -> Callable[[Point], bool]:
    """Whether a point is in the space. A comparison of Python's numbers where that is enough, as it is asked often."""
    if isinstance(space, Candidates | Mesh):
        return frozenset(map(tuple, space.points.tolist())).__contains__
    snapped = not (isinstance(space, Box) and space.continuous.all())

    def inside(x: Point) -> bool:
        if len(x) != space.dim or not (min(x) >= -ROUNDING and max(x) <= 1 + ROUNDING):  # NaN is neither
            return False
        return not snapped or bool(np.abs(space.snap(np.array([x])) - x).max() <= ROUNDING)

    return inside
