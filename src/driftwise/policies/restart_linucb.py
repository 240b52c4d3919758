"""RestartUCB (Zhao, Zhang, Jiang & Zhou 2020): a linear bandit that forgets everything every H steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.noise import pair_of
from driftwise.policies.beliefs.grid_filter import Rewards
from driftwise.policies.beliefs.ridge import Ridge, weight_of
from driftwise.policies.linear import LinearPolicy, Schedule, bounds, linear_length, linear_width
from driftwise.policies.restart import Restarting
from driftwise.records import Ask, Observation
from driftwise.theory import widths


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """What was learned since the last restart: `index` counts the restarts."""

    index: int
    ridge: Ridge
    rewards: Rewards = field(default_factory=Rewards)


@dataclass(frozen=True)
class RestartLinUcb(Restarting, LinearPolicy[LinearBlock]):
    """x_t = argmax xᵀθ̂ + β√λ‖x‖_{V⁻¹} on the samples since the last restart. O(d²) per step and candidate.

    Assumes rewards linear in x, and an interval: ⌊(dT/V_T)^⅔⌋ where the horizon T is given, with V_T = 1 where the
    budget Σ‖θ_t − θ_{t−1}‖₂ is not. It is r-gp-ucb with a linear kernel, choice for choice.

    >>> from driftwise import Candidates
    >>> policy = RestartLinUcb.of(Candidates([[0.1], [1.0]]), interval=5)
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [1.0]
    """

    name: ClassVar[str] = "restart-linucb"

    interval: int
    standardise: bool = False

    def __post_init__(self) -> None:
        self.settle(interval=checks.count)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        interval: Annotated[int | None, "number of steps between restarts"] = None,
        schedule: Schedule = "published",
        **given: Any,
    ) -> RestartLinUcb:
        setup = cls.setup(space, given)
        ellipsoid = partial(widths.Ellipsoid, setup.space.dim, *bounds(setup), 1.0)
        H = linear_length(setup, "interval", interval, schedule)
        beta = linear_width(setup, ellipsoid, lambda T: -(-T // H))
        return cls(setup.space, setup.noise, beta, H, setup.standardise)

    def start(self) -> LinearBlock:
        return LinearBlock(0, Ridge.prior(self.space.dim, self.noise))

    def update(self, state: LinearBlock, seen: Observation) -> LinearBlock:
        now = self._in_block(state, seen.number)
        rewards = now.rewards.append(seen.y, noise=pair_of(seen)[0])
        u = weight_of(seen, self.noise, scale=rewards.units[1] if self.standardise else 1.0)
        return LinearBlock(now.index, now.ridge.plus(np.array(seen.x), seen.y, u), rewards)

    def belief(self, state: LinearBlock, ask: Ask) -> Ridge:
        now = self._in_block(state, ask.number)
        last = now if now.rewards.count else state  # where nothing is seen yet, in the units that the rewards had last
        return replace(now.ridge, units=last.rewards.units) if self.standardise else now.ridge

    def _in_block(self, state: LinearBlock, number: int) -> LinearBlock:
        index = self.block(number)
        return state if state.index == index else LinearBlock(index, Ridge.prior(self.space.dim, self.noise))
