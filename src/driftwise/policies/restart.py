"""R-GP-UCB (Zhou & Shroff, Algorithm 1): GP-UCB that forgets everything every H steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from driftwise import checks
from driftwise.gp.belief import Belief, Model, Width, optimistic
from driftwise.gp.kernels import Kernel
from driftwise.policies import options
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space


@dataclass(frozen=True)
class Block:
    """What was learned since the last restart: `index` counts the restarts."""

    index: int
    belief: Belief


@dataclass(frozen=True)
class Restart:
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} on the samples since the last restart. O(H² + H·n) a step at most.

    >>> from driftwise import Candidates
    >>> policy = Restart.of(Candidates([[0.0], [1.0]]), interval=2)
    >>> [policy.block(t) for t in (1, 2, 3, 4, 5)]
    [0, 0, 1, 1, 2]
    """

    name: ClassVar[str] = "r-gp-ucb"

    model: Model
    width: Width
    interval: int

    def __post_init__(self) -> None:
        options.check_parts(self)
        fix = "use gp-ucb to keep everything"
        object.__setattr__(self, "interval", checks.count("interval", self.interval, fix=fix))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        interval: int | None = None,
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        delta: float = 0.1,
        horizon: int | None = None,
        budget: float | None = None,
        standardise: bool = False,
    ) -> Restart:
        model = options.model(space, kernel, noise, standardise)
        theory = options.Theory(model, B=B, R=R, delta=delta, horizon=horizon, budget=budget)
        length = theory.length("interval", interval)
        return cls(model, theory.width(width, events=lambda T: -(-T // length)), length)

    def block(self, number: int) -> int:
        """Which block step `number` is in: a new one begins where (t − 1) mod H = 0."""
        return (number - 1) // self.interval

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> int:
        return self.interval

    def start(self) -> Block:
        return Block(0, self.model.prior())

    def choose(self, state: Block, ask: Ask) -> Array:
        return optimistic(self.model, self.belief(state, ask), self.width, ask)

    def update(self, state: Block, seen: Observation) -> Block:
        return Block(self.block(seen.number), self._in_block(state, seen.number).observe(seen))

    def belief(self, state: Block, ask: Ask) -> Belief:
        return options.in_last_units(self._in_block(state, ask.number), state.belief)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.block(number) == self.block(newest + 1)

    def _in_block(self, state: Block, number: int) -> Belief:
        """The belief of the block that `number` is in: the prior where a new one begins."""
        return state.belief if state.index == self.block(number) else self.model.prior()
