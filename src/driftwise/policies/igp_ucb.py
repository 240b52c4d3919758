"""IGP-UCB (Chowdhury & Gopalan 2017): GP-UCB with the width of the paper's boxes, at the λ it is proved for."""

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
class IgpUcb:
    """x_t = argmax μ_{t−1} + β_t σ_{t−1}, β_t = B + R √(2(γ_{t−1} + 1 + ln(1/δ))), λ = 1 + 2/T (1 if T is unknown).

    >>> from driftwise import Candidates
    >>> IgpUcb.of(Candidates([[0.0], [1.0]]), horizon=100).model.noise
    1.02
    """

    name: ClassVar[str] = "igp-ucb"

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
        B: float = 1.0,
        R: float = 0.1,
        delta: float = 0.1,
        horizon: int | None = None,
        standardise: bool = False,
    ) -> IgpUcb:
        noise = 1.0 if horizon is None else 1 + 2 / checks.count("horizon", horizon)
        model = options.model(space, kernel, noise, standardise)
        return cls(model, options.Theory(model, B=B, R=R, delta=delta, horizon=horizon).width("algorithm"))

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
