"""R-GP-UCB (Zhou & Shroff, Algorithm 1): GP-UCB that forgets everything every H steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.gp.belief import Belief, Conditioned
from driftwise.policies.base import UcbPolicy, in_last_units
from driftwise.policies.setup import BAND, DRIFT, MODEL, takes
from driftwise.records import Ask, Observation


class Restarting:
    """A policy that forgets everything after every `interval` steps."""

    interval: int

    @property
    def memory(self) -> int:
        return self.interval

    def block(self, number: int) -> int:
        """Which block step `number` is in: a new one begins where (t − 1) mod H = 0."""
        return (number - 1) // self.interval

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.block(number) == self.block(newest + 1)


@dataclass(frozen=True)
class Block:
    """What was learned since the last restart: `index` counts the restarts."""

    index: int
    belief: Conditioned


@dataclass(frozen=True)
class Restart(Restarting, UcbPolicy[Block]):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} on the samples since the last restart. O(H² + H·n) per step at most.

    >>> from driftwise import Candidates
    >>> policy = Restart.of(Candidates([[0.0], [1.0]]), interval=2)
    >>> [policy.block(t) for t in (1, 2, 3, 4, 5)]
    [0, 0, 1, 1, 2]
    """

    name: ClassVar[str] = "r-gp-ucb"
    shared = takes(*MODEL, *BAND, *DRIFT)

    interval: int

    def __post_init__(self) -> None:
        self.settle(interval=partial(checks.count, fix="use gp-ucb to keep everything"))

    @classmethod
    def of(
        cls, space: Any, *, interval: Annotated[int | None, "number of steps between restarts"] = None, **given: Any
    ) -> Restart:
        setup = cls.setup(space, given)
        H = setup.length("interval", interval)
        return cls(setup.model, setup.beta(events=lambda T: -(-T // H)), H)

    def start(self) -> Block:
        return Block(0, self.model.prior())

    def update(self, state: Block, seen: Observation) -> Block:
        return Block(self.block(seen.number), self._in_block(state, seen.number).observe(seen))

    def belief(self, state: Block, ask: Ask) -> Belief:
        return in_last_units(self._in_block(state, ask.number), state.belief)

    def _in_block(self, state: Block, number: int) -> Conditioned:
        """The belief of the block that `number` is in: the prior where a new one begins."""
        return state.belief if state.index == self.block(number) else self.model.prior()
