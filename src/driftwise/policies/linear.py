"""What the linear bandits have in common: x_t = argmax xᵀθ̂ + β‖x‖, and how long the papers remember."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Width, optimistic_in
from driftwise.policies.base import BasePolicy, Decision
from driftwise.policies.beliefs.ridge import Ridge
from driftwise.policies.setup import DRIFT, LENGTH, Events, Setup, takes
from driftwise.records import Ask
from driftwise.spaces import Space
from driftwise.theory.schedules import known_budget

S = TypeVar("S")


@dataclass(frozen=True)
class LinearPolicy(BasePolicy[S]):
    """x_t = argmax xᵀθ̂ + β√λ‖x‖ by its ridge regression: what is left to say is what that rests on."""

    shared = takes("noise", "width", "standardise", "S", "L", "delta", *DRIFT, R=0.1)

    space: Space
    noise: float
    width: Width

    def settle(self, **rules: checks.Rule) -> None:
        """Refused, too, if matrices of d × d, of which the states and a step have some 16, would be too large."""
        super().settle(**rules)
        d = self.space.dim
        fix = "use a policy with a kernel, for example sw-gp-ucb"
        limits.check(self.name, 16 * d**2, f"16 matrices of {d:,} × {d:,} coordinates", fix)

    @property
    def weighs_noise(self) -> bool:
        return True  # its regression does

    @abstractmethod
    def belief(self, state: S, ask: Ask) -> Ridge:
        """What it thinks of the world at `ask`."""

    def decide(self, state: S, ask: Ask) -> Decision:
        belief = self.belief(state, ask)
        return Decision(optimistic_in(self.space, belief, self.width, ask), belief.jitter)


def bounds(setup: Setup) -> tuple[float, float, float, float]:
    """What the widths of linear bandits are told: ‖θ‖ ≤ S, R-sub-Gaussian noise, ‖x‖ ≤ L, and δ."""
    return setup.S, setup.sub_gaussian, setup.L, setup.delta


def linear_width(
    setup: Setup, ellipsoid: Callable[[int], Width], events: Events, unproved: Mapping[str, str] | None = None
) -> Width:
    """A number, a width, or "ellipsoid", the policy's own, of how many events the union bound goes over."""
    if not isinstance(setup.width, str):
        return setup.given_width(events)
    checks.one_of("width", setup.width, ("ellipsoid",))
    setup.check_proved(unproved or {})
    _check_norms(setup)
    return ellipsoid(setup.unions(setup.width, events))


def _check_norms(setup: Setup) -> None:
    """‖x‖ ≤ L, as the ellipsoids assume; on a box the far corner is the longest."""
    points = setup.space.points
    longest = math.sqrt(setup.space.dim) if points is None else float(np.linalg.norm(points, axis=1).max())
    if longest > checks.positive("L", setup.L) * (1 + 1e-9):
        raise InvalidInput(f"width='ellipsoid' assumes ‖x‖ ≤ L, got L={setup.L:g} and a point of norm {longest:.4g}")


SCHEDULES = ("published", "proved")
Schedule = Annotated[str, "published: (dT/V)^⅔ steps are remembered; proved: d^¼ (T/V)^½, for which there is a theorem"]


def linear_memory(dim: int, horizon: int, budget: float, *, schedule: str = "published") -> float:
    """(dT/V)^⅔ steps, V = Σ‖θ_t − θ_{t−1}‖₂, at most T: the linear papers' window; or d^¼(T/V)^½, which is proved.

    The papers' regret of T^⅔ rests on an eigenvalue bound that fails (Zhao & Zhang 2021); the analysis that holds has
    d^¼(T/V)^½ and T^¾ (Wang, Zhao & Zhou 2023).

    >>> math.floor(linear_memory(2, 50_000, 10.0)), math.floor(linear_memory(2, 50_000, 10.0, schedule="proved"))
    (464, 84)
    """
    if checks.one_of("schedule", schedule, SCHEDULES) == "proved":
        return float(known_budget(dim, horizon, budget))  # γ in place of d
    if dim >= budget * math.sqrt(horizon):
        return horizon  # (dT/V)^⅔ would be more, or infinite
    return max(1.0, (dim * horizon / budget) ** (2 / 3))


def linear_length(setup: Setup, name: str, given: int | None, schedule: str) -> int:
    """A window or an interval: as given, else `linear_memory` if the horizon is known, V = 1 if the budget is not."""
    if given is not None:
        return checks.count(name, given)
    if setup.horizon is None:
        return LENGTH
    memory = linear_memory(setup.space.dim, setup.horizon, setup.variation, schedule=schedule)
    return math.floor(memory + 1e-9)
