"""D-LinUCB (Russac, Vernade & Cappé 2019): a linear bandit whose past fades by a factor per step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.linalg import invert_positive
from driftwise.gp.noise import pair_of
from driftwise.policies.base import discount as as_discount
from driftwise.policies.beliefs.grid_filter import Rewards
from driftwise.policies.beliefs.ridge import Ridge, weight_of
from driftwise.policies.linear import LinearPolicy, Schedule, bounds, linear_memory, linear_width
from driftwise.policies.setup import Setup
from driftwise.records import Array, Ask, Observation
from driftwise.theory import widths


@dataclass(frozen=True, eq=False)
class Faded:
    """V = λI + Σ ρ^{age} xxᵀ, Ṽ the same with ρ², and b = Σ ρ^{age} y x: ages count from the newest observation."""

    V: Array  # (d, d)
    double: Array  # Ṽ: (d, d)
    b: Array  # (d, 2): for the rewards, and for ones
    last: int = 0
    rewards: Rewards = field(default_factory=Rewards)


@dataclass(frozen=True)
class DLinUcb(LinearPolicy[Faded]):
    """x_t = argmax xᵀV⁻¹b + β√λ‖x‖_{V⁻¹ṼV⁻¹}. O(d³) per step, and O(d²) per candidate.

    Assumes rewards linear in x, and a discount ρ = 1 − (V_T/(dT))^⅔ from the budget V_T = Σ‖θ_t − θ_{t−1}‖₂. It is
    wgp-ucb with a linear kernel and norm="double", choice for choice; with norm="single" the width is ‖x‖_{V⁻¹}, as
    wgp-ucb's own is. The authors' published code makes Ṽ from ρ² times the new V, and not from Ṽ, which its own theorem
    does not cover: norm="faulty" is that, to repeat their curves.

    >>> from driftwise import Candidates
    >>> policy = DLinUcb.of(Candidates([[1.0]]), discount=0.5, noise=1.0)
    >>> state = policy.start()
    >>> for t, y in enumerate([1.0, 0.0], start=1):
    ...     state = policy.update(state, Observation(t, float(t), (1.0,), y))
    >>> mean, std = policy.belief(state, Ask(number=3, at=3.0)).predict(policy.space.points)
    >>> round(float(mean[0]), 12), round(float(std[0] ** 2), 12)
    (0.2, 0.36)
    """

    name: ClassVar[str] = "d-linucb"

    discount: float
    norm: str = "double"
    standardise: bool = False

    def __post_init__(self) -> None:
        self.settle(discount=as_discount, norm=partial(checks.one_of, known=("double", "single", "faulty")))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        discount: Annotated[float | None, "factor per step by which old samples lose weight"] = None,
        norm: Annotated[
            str, "double: the paper's V⁻¹ṼV⁻¹; single: the wider V⁻¹; faulty: the authors' code"
        ] = "double",
        schedule: Schedule = "published",
        **given: Any,
    ) -> DLinUcb:
        setup = cls.setup(space, given)
        rho = _discount(setup, schedule) if discount is None else as_discount("discount", discount)
        ellipsoid = partial(widths.Ellipsoid, setup.space.dim, *bounds(setup), rho)
        unproved = {"ellipsoid": "no theorem is about norm='faulty'"} if norm == "faulty" else {}
        beta = linear_width(setup, ellipsoid, lambda T: T, unproved)
        return cls(setup.space, setup.noise, beta, rho, norm, setup.standardise)

    def start(self) -> Faded:
        prior = self.noise * np.eye(self.space.dim)
        return Faded(prior, prior, np.zeros((self.space.dim, 2)))

    def update(self, state: Faded, seen: Observation) -> Faded:
        x = np.array(seen.x)
        now = self._faded(state, seen.number)
        rewards = state.rewards.append(seen.y, noise=pair_of(seen)[0])
        u = weight_of(seen, self.noise, scale=rewards.units[1] if self.standardise else 1.0)
        xx = u * np.outer(x, x)
        b = now.b + u * np.outer(x, [seen.y, 1.0])
        V = now.V + xx
        double = self._faulty(state, seen.number, V) if self.norm == "faulty" else now.double
        return Faded(V, double + xx, b, seen.number, rewards)

    def belief(self, state: Faded, ask: Ask) -> Ridge:
        now = self._faded(state, ask.number - 1)
        double = None if self.norm == "single" else now.double
        ridge = Ridge(self.noise, invert_positive(now.V), now.b, now.rewards.count, double=double)
        return replace(ridge, units=now.rewards.units) if self.standardise else ridge

    def _faded(self, state: Faded, number: int) -> Faded:
        """V ← ρV + (1 − ρ)λI, Ṽ ← ρ²Ṽ + (1 − ρ²)λI, b ← ρb, for every step up to `number`."""
        rho = self.discount ** max(number - state.last, 0) if state.last else 1.0
        prior = self.noise * np.eye(len(state.V))
        V = rho * state.V + (1 - rho) * prior
        double = rho**2 * state.double + (1 - rho**2) * prior
        return replace(state, V=V, double=double, b=rho * state.b)

    def _faulty(self, state: Faded, number: int, V: Array) -> Array:
        """ρ²V + (1 − ρ²)λI with the new V, where ρ²Ṽ + (1 − ρ²)λI is meant."""
        rho = self.discount ** (number - state.last if state.last else 1)
        return rho**2 * V + (1 - rho**2) * self.noise * np.eye(len(V))


def _discount(setup: Setup, schedule: str) -> float:
    """ρ = 1 − (V/(dT))^⅔, or the one that is proved; V = 1 if the budget is not known; 0.98 if no horizon is."""
    if setup.horizon is None:
        return 0.98
    memory = linear_memory(setup.space.dim, setup.horizon, setup.variation, schedule=schedule)
    return 1 - 1 / max(memory, 1.001)  # ρ > 0
