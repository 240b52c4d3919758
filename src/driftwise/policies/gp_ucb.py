"""GP-UCB (Srinivas et al. 2009): optimism, and nothing is ever forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from driftwise.gp.belief import Conditioned
from driftwise.policies.base import UcbPolicy
from driftwise.policies.setup import BAND, MODEL, takes
from driftwise.records import Ask, Observation


@dataclass(frozen=True)
class GpUcb(UcbPolicy[Conditioned]):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1}, on all the data. Assumes a world that stands still. O(t² + t·n) per step.

    >>> from driftwise import Candidates
    >>> policy = GpUcb.of(Candidates([[0.0], [1.0]]))
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str] = "gp-ucb"
    shared = takes(*MODEL, *BAND)

    @classmethod
    def of(cls, space: Any, **given: Any) -> GpUcb:
        setup = cls.setup(space, given)
        return cls(setup.model, setup.beta())

    def start(self) -> Conditioned:
        return self.model.prior()

    def update(self, state: Conditioned, seen: Observation) -> Conditioned:
        return state.observe(seen)

    def belief(self, state: Conditioned, ask: Ask) -> Conditioned:
        return state
