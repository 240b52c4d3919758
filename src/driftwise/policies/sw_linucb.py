"""SW-LinUCB (Cheung, Simchi-Levi & Zhu 2019, SW-UCB): a linear bandit on the last w samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.grid import REFRESH
from driftwise.gp.noise import location_scale
from driftwise.gp.ridge import Ridge
from driftwise.policies.linear import LinearPolicy, bounds, linear_length, linear_width
from driftwise.records import Array, Ask, Observation
from driftwise.theory import widths

CANCELLING = 1e-4  # where 1 − leverage is less, four of sixteen digits would be lost in forgetting


@dataclass(frozen=True, eq=False)
class Sliding:
    """The window's contents and the posterior they give."""

    X: Array  # (n, d), oldest first
    y: Array  # (n,)
    ridge: Ridge
    last: int = 0  # the number of the newest observation


@dataclass(frozen=True)
class SwLinUcb(LinearPolicy[Sliding]):
    """x_t = argmax xᵀθ̂ + β√λ‖x‖_{V⁻¹}, V = λI + Σxxᵀ of the last `window` samples. O(d²) per step and candidate.

    Assumes rewards linear in x, and a window: ⌊(dT/V_T)^⅔⌋ where the horizon T is given, with V_T = 1 where the budget
    Σ‖θ_t − θ_{t−1}‖₂ is not. It is sw-gp-ucb with a linear kernel, choice for choice.

    >>> from driftwise import Candidates
    >>> policy = SwLinUcb.of(Candidates([[0.1], [1.0]]), window=5)
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [1.0]
    """

    name: ClassVar[str] = "sw-linucb"

    window: int
    standardise: bool = False

    def __post_init__(self) -> None:
        self.settle(window=checks.count)

    @classmethod
    def of(
        cls, space: Any, *, window: Annotated[int | None, "number of newest samples in use"] = None, **given: Any
    ) -> SwLinUcb:
        setup = cls.setup(space, given)
        w = linear_length(setup, "window", window)
        ellipsoid = widths.SlidingEllipsoid(setup.space.dim, w, **bounds(setup))
        return cls(setup.space, setup.noise, linear_width(setup, ellipsoid), w, setup.standardise)

    @property
    def memory(self) -> int:
        return self.window + REFRESH

    def start(self) -> Sliding:
        return Sliding(np.zeros((0, self.space.dim)), np.zeros(0), Ridge.prior(self.space.dim, self.noise))

    def update(self, state: Sliding, seen: Observation) -> Sliding:
        x = np.array(seen.x)
        X, y = np.vstack([state.X, x])[-self.window :], np.append(state.y, seen.y)[-self.window :]
        return Sliding(X, y, self._slid(state, seen) or Ridge.from_contents(X, y, self.noise), seen.number)

    def _slid(self, state: Sliding, seen: Observation) -> Ridge | None:
        """By rank-one updates; None where all is to be computed afresh, so that no error gathers.

        That is so where the number passes a multiple of REFRESH, which gives a replay the same bits, and where
        forgetting would cancel nearly all that is known of a direction.
        """
        if seen.number // REFRESH != state.last // REFRESH:
            return None
        grown = state.ridge.plus(np.array(seen.x), seen.y)
        if len(state.y) < self.window:
            return grown
        oldest = state.X[0]
        return grown.minus(oldest, state.y[0]) if 1 - grown.leverage(oldest) > CANCELLING else None

    def belief(self, state: Sliding, ask: Ask) -> Ridge:
        return replace(state.ridge, units=location_scale(state.y)) if self.standardise else state.ridge

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.window
