"""IGP-UCB (Chowdhury & Gopalan 2017): GP-UCB with the width of the paper's boxes, at the λ it is proved for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from driftwise.policies.gp_ucb import GpUcb
from driftwise.policies.setup import takes


@dataclass(frozen=True)
class IgpUcb(GpUcb):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1}, β_t = B + R √(2(γ_{t−1} + 1 + ln(1/δ))), λ = 1 + 2/T (1 if T is unknown).

    >>> from driftwise import Candidates
    >>> IgpUcb.of(Candidates([[0.0], [1.0]]), horizon=100).model.noise
    1.02
    """

    name: ClassVar[str] = "igp-ucb"
    shared = takes("kernel", "standardise", "B", "delta", "horizon", R=0.1)

    @classmethod
    def of(cls, space: Any, **given: Any) -> IgpUcb:
        setup = cls.setup(space, given, width="algorithm")
        setup = replace(setup, noise=1.0 if setup.horizon is None else 1 + 2 / setup.horizon)
        return cls(setup.model, setup.beta())
