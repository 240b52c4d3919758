"""D-LinUCB (Russac, Vernade & Cappé 2019): a linear bandit whose past fades by a factor a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.belief import Width, optimistic_in
from driftwise.gp.grid_filter import Rewards
from driftwise.gp.linalg import invert_positive
from driftwise.gp.ridge import Ridge
from driftwise.policies import options
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space, as_space
from driftwise.theory import widths

NONE = Rewards()


@dataclass(frozen=True, eq=False)
class Faded:
    """V = λI + Σ ρ^{age} xxᵀ, Ṽ the same with ρ², and b = Σ ρ^{age} y x: ages count from the newest observation."""

    V: Array  # (d, d)
    double: Array  # Ṽ: (d, d)
    b: Array  # (d, 2): for the rewards, and for ones
    last: int = 0
    rewards: Rewards = NONE


@dataclass(frozen=True)
class DLinUcb:
    """x_t = argmax xᵀV⁻¹b + β√λ‖x‖_{V⁻¹ṼV⁻¹}. O(d³) a step, and O(d²) a candidate.

    Assumes rewards linear in x, and a discount ρ = 1 − (V_T/(dT))^⅔ from the budget V_T = Σ‖θ_t − θ_{t−1}‖₂. It is
    wgp-ucb with a linear kernel and norm="double", choice for choice; with norm="single" the width is ‖x‖_{V⁻¹}, as
    wgp-ucb's own is. (The authors' code makes Ṽ from the new V; here it is as in their paper.)

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

    space: Space
    noise: float
    width: Width
    discount: float
    norm: str = "double"
    standardise: bool = False

    def __post_init__(self) -> None:
        options.check_parts(self)
        options.linear_size(self.name, self.space.dim)
        object.__setattr__(self, "noise", checks.positive("noise", self.noise))
        object.__setattr__(self, "discount", options.discount("discount", self.discount))
        checks.one_of("norm", self.norm, ("double", "single"))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        discount: float | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        norm: str = "double",
        standardise: bool = False,
        S: float = 1.0,
        R: float = 0.1,
        L: float = 1.0,
        delta: float = 0.1,
        horizon: int | None = None,
        budget: float | None = None,
    ) -> DLinUcb:
        space = as_space(space)
        rho = _discount(space.dim, horizon, budget) if discount is None else options.discount("discount", discount)
        beta = options.linear(width, lambda: widths.Ellipsoid(space.dim, S=S, R=R, L=L, delta=delta, discount=rho))
        return cls(space, noise, beta, rho, norm, standardise)

    @property
    def memory(self) -> None:
        return None

    def start(self) -> Faded:
        prior = self.noise * np.eye(self.space.dim)
        return Faded(prior, prior, np.zeros((self.space.dim, 2)))

    def choose(self, state: Faded, ask: Ask) -> Array:
        return optimistic_in(self.space, self.belief(state, ask), self.width, ask)

    def update(self, state: Faded, seen: Observation) -> Faded:
        x = np.array(seen.x)
        now = self._faded(state, seen.number)
        xx = np.outer(x, x)
        b = now.b + np.outer(x, [seen.y, 1.0])
        return Faded(now.V + xx, now.double + xx, b, seen.number, state.rewards.append(seen.y))

    def belief(self, state: Faded, ask: Ask) -> Ridge:
        now = self._faded(state, ask.number - 1)
        double = now.double if self.norm == "double" else None
        ridge = Ridge(self.noise, invert_positive(now.V), now.b, now.rewards.count, double=double)
        return replace(ridge, units=now.rewards.units) if self.standardise else ridge

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True

    def _faded(self, state: Faded, number: int) -> Faded:
        """V ← ρV + (1 − ρ)λI, Ṽ ← ρ²Ṽ + (1 − ρ²)λI, b ← ρb, for every step up to `number`."""
        rho = self.discount ** max(number - state.last, 0) if state.last else 1.0
        prior = self.noise * np.eye(len(state.V))
        V = rho * state.V + (1 - rho) * prior
        double = rho**2 * state.double + (1 - rho**2) * prior
        return replace(state, V=V, double=double, b=rho * state.b)


def _discount(dim: int, horizon: int | None, budget: float | None) -> float:
    """ρ = 1 − (V/(dT))^⅔; 0.98 where no horizon is known."""
    options.check_budget(horizon, budget)
    if horizon is None:
        return 0.98
    return 1 - 1 / max(options.linear_memory(dim, horizon, budget), 1.001)  # ρ > 0
