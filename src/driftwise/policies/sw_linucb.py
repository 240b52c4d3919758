"""SW-LinUCB (Cheung, Simchi-Levi & Zhu 2019, SW-UCB): a linear bandit on the last w samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.grid import REFRESH
from driftwise.gp.noise import PLAIN, Own, appended, location_scale, pair_of, selected
from driftwise.policies.beliefs.ridge import Ridge, weights_of
from driftwise.policies.linear import LinearPolicy, Schedule, bounds, linear_length, linear_width
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
    own: Own = None  # (n, 2): the noises of the observations' own, if any has one


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
        cls,
        space: Any,
        *,
        window: Annotated[int | None, "number of newest samples in use"] = None,
        schedule: Schedule = "published",
        **given: Any,
    ) -> SwLinUcb:
        setup = cls.setup(space, given)
        w = linear_length(setup, "window", window, schedule)
        ellipsoid = partial(widths.SlidingEllipsoid, setup.space.dim, w, *bounds(setup))
        return cls(setup.space, setup.noise, linear_width(setup, ellipsoid, lambda T: T), w, setup.standardise)

    @property
    def memory(self) -> int:
        return self.window + REFRESH

    def start(self) -> Sliding:
        return Sliding(np.zeros((0, self.space.dim)), np.zeros(0), Ridge.prior(self.space.dim, self.noise))

    def update(self, state: Sliding, seen: Observation) -> Sliding:
        x = np.array(seen.x)
        X, y = np.vstack([state.X, x])[-self.window :], np.append(state.y, seen.y)[-self.window :]
        own = selected(appended(state.own, len(state.y), pair_of(seen)), slice(-self.window, None))
        ridge = self._slid(state, seen) or self._afresh(X, y, own)
        return Sliding(X, y, ridge, seen.number, own)

    def _afresh(self, X: Array, y: Array, own: Own) -> Ridge:
        if own is None:
            return Ridge.from_contents(X, y, self.noise)
        scale = location_scale(y, own)[1] if self.standardise else 1.0
        return Ridge.from_contents(X, y, self.noise, weights_of(own, len(y), self.noise, scale=scale))

    def _slid(self, state: Sliding, seen: Observation) -> Ridge | None:
        """By rank-one updates; None where all is to be computed afresh, so that no error gathers.

        That is so where the number passes a multiple of REFRESH, which gives a replay the same bits, where forgetting
        would cancel nearly all that is known of a direction, and where observations have a noise of their own.
        """
        if seen.number // REFRESH != state.last // REFRESH or state.own is not None or pair_of(seen) != PLAIN:
            return None
        grown = state.ridge.plus(np.array(seen.x), seen.y)
        if len(state.y) < self.window:
            return grown
        oldest = state.X[0]
        return grown.minus(oldest, state.y[0]) if 1 - grown.leverage(oldest) > CANCELLING else None

    def belief(self, state: Sliding, ask: Ask) -> Ridge:
        return replace(state.ridge, units=location_scale(state.y, state.own)) if self.standardise else state.ridge

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.window
