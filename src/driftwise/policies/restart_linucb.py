"""RestartUCB (Zhao, Zhang, Jiang & Zhou 2020): a linear bandit that forgets everything every H steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.belief import Width, optimistic_in
from driftwise.gp.grid_filter import Rewards
from driftwise.gp.ridge import Ridge
from driftwise.policies import options
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space, as_space
from driftwise.theory import widths

NONE = Rewards()


@dataclass(frozen=True, eq=False)
class Epoch:
    """What was learned since the last restart: `index` counts the restarts."""

    index: int
    ridge: Ridge
    rewards: Rewards = NONE


@dataclass(frozen=True)
class RestartLinUcb:
    """x_t = argmax xᵀθ̂ + β√λ‖x‖_{V⁻¹} on the samples since the last restart. O(d²) a step, and O(d²) a candidate.

    Assumes rewards linear in x, and an interval: ⌊(dT/V_T)^⅔⌋ where the horizon T is given, with V_T = 1 where the
    budget Σ‖θ_t − θ_{t−1}‖₂ is not. It is r-gp-ucb with a linear kernel, choice for choice.

    >>> from driftwise import Candidates
    >>> policy = RestartLinUcb.of(Candidates([[0.1], [1.0]]), interval=5)
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [1.0]
    """

    name: ClassVar[str] = "restart-linucb"

    space: Space
    noise: float
    width: Width
    interval: int
    standardise: bool = False

    def __post_init__(self) -> None:
        options.check_parts(self)
        options.linear_size(self.name, self.space.dim)
        object.__setattr__(self, "noise", checks.positive("noise", self.noise))
        object.__setattr__(self, "interval", checks.count("interval", self.interval))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        interval: int | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        standardise: bool = False,
        S: float = 1.0,
        R: float = 0.1,
        L: float = 1.0,
        delta: float = 0.1,
        horizon: int | None = None,
        budget: float | None = None,
    ) -> RestartLinUcb:
        space = as_space(space)
        length = options.linear_length("interval", interval, dim=space.dim, horizon=horizon, budget=budget)
        beta = options.linear(width, lambda: widths.Ellipsoid(space.dim, S=S, R=R, L=L, delta=delta))
        return cls(space, noise, beta, length, standardise)

    @property
    def memory(self) -> int:
        return self.interval

    def epoch(self, number: int) -> int:
        """Which epoch step `number` is in."""
        return (number - 1) // self.interval

    def start(self) -> Epoch:
        return Epoch(0, Ridge.prior(self.space.dim, self.noise))

    def choose(self, state: Epoch, ask: Ask) -> Array:
        return optimistic_in(self.space, self.belief(state, ask), self.width, ask)

    def update(self, state: Epoch, seen: Observation) -> Epoch:
        now = self._in_epoch(state, seen.number)
        return Epoch(now.index, now.ridge.plus(np.array(seen.x), seen.y), now.rewards.append(seen.y))

    def belief(self, state: Epoch, ask: Ask) -> Ridge:
        now = self._in_epoch(state, ask.number)
        last = now if now.rewards.count else state  # where nothing is seen yet, in the units that the rewards had last
        return replace(now.ridge, units=last.rewards.units) if self.standardise else now.ridge

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.epoch(number) == self.epoch(newest + 1)

    def _in_epoch(self, state: Epoch, number: int) -> Epoch:
        index = self.epoch(number)
        return state if state.index == index else Epoch(index, Ridge.prior(self.space.dim, self.noise))
