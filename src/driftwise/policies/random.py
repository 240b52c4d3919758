"""Uniformly at random: the least that a policy must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.policies.base import BasePolicy, Decision
from driftwise.records import Ask, Observation
from driftwise.spaces import Space, as_space, draw


@dataclass(frozen=True)
class Random(BasePolicy[None]):
    """x_t uniform on the space, drawn from (seed, number). It learns nothing.

    >>> from driftwise import Candidates
    >>> policy = Random.of(Candidates([[0.0], [1.0]]))
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).shape
    (1,)
    """

    name: ClassVar[str] = "random"

    space: Space

    @classmethod
    def of(cls, space: Any) -> Random:
        return cls(as_space(space))

    @property
    def memory(self) -> int:
        return 0

    def start(self) -> None:
        return None

    def decide(self, state: None, ask: Ask) -> Decision:
        return Decision(draw(self.space, ask))

    def update(self, state: None, seen: Observation) -> None:
        return None

    def belief(self, state: None, ask: Ask) -> Belief:
        raise InvalidInput("random learns nothing, so it has no belief to recommend from; use another policy")

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return False
