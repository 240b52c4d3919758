"""GP-UCB (Srinivas et al. 2009): optimism, and nothing is ever forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from driftwise.gp.belief import Belief, Model, Width, optimistic
from driftwise.gp.kernels import Kernel
from driftwise.policies import options
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space


@dataclass(frozen=True)
class GpUcb:
    """x_t = argmax μ_{t−1} + β_t σ_{t−1}, on all the data. Assumes a world that stands still. O(t² + t·n) a step.

    >>> from driftwise import Candidates
    >>> policy = GpUcb.of(Candidates([[0.0], [1.0]]))
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str] = "gp-ucb"

    model: Model
    width: Width

    def __post_init__(self) -> None:
        options.check_parts(self)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        delta: float = 0.1,
        standardise: bool = False,
    ) -> GpUcb:
        model = options.model(space, kernel, noise, standardise)
        return cls(model, options.Theory(model, B=B, R=R, delta=delta, horizon=None).width(width))

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> None:
        return None

    def start(self) -> Belief:
        return self.model.prior()

    def choose(self, state: Belief, ask: Ask) -> Array:
        return optimistic(self.model, state, self.width, ask)

    def update(self, state: Belief, seen: Observation) -> Belief:
        return state.observe(seen)

    def belief(self, state: Belief, ask: Ask) -> Belief:
        return state

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True
