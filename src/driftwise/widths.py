"""β_t, every form of it. In every file β multiplies the standard deviation, never its square."""

from __future__ import annotations

from dataclasses import dataclass

from driftwise import checks
from driftwise.acquisition import Belief


@dataclass(frozen=True)
class Constant:
    """β_t = beta."""

    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checks.nonnegative("width", self.beta))

    def __call__(self, belief: Belief, number: int) -> float:
        return self.beta
