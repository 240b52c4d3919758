"""What Theorems 1 and 2 promise, as numbers: with explicit constants, after the corrections of docs/paper-notes.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.records import Ask, Observation
from driftwise.theory.information import as_gain
from driftwise.theory.widths import confidence


@dataclass(frozen=True)
class Problem:
    """What the theorems assume: ‖f_t‖ ≤ B, Σ‖f_{t+1} − f_t‖ ≤ P_T = `budget`, R-sub-Gaussian noise, k(x, x) ≤ 1.

    `gain` is n ↦ γ_n. `MaximumGain(…).upper` certifies it on its points; `MaximumGain(…)` itself is γ_n from below, and
    then what follows from it is an estimate of the bound.
    """

    gain: Callable[[int], float]
    horizon: int
    budget: float
    B: float = 1.0
    R: float = 0.1
    noise: float = 0.01
    delta: float = 0.1

    def __post_init__(self) -> None:
        checks.settle(
            self,
            gain=as_gain,
            horizon=checks.count,
            budget=checks.nonnegative,
            B=checks.positive,  # where f = 0 nothing can be lost, and 2BT says it
            R=checks.nonnegative,
            noise=checks.positive,
            delta=checks.probability,
        )


@dataclass(frozen=True)
class Bound:
    """R(T) ≤ drift + estimation with probability 1 − δ; and R(T) ≤ trivial always."""

    drift: float
    estimation: float
    trivial: float

    def __post_init__(self) -> None:
        checks.settle(self, drift=checks.real, estimation=checks.real, trivial=checks.real)

    @property
    def total(self) -> float:
        return self.drift + self.estimation

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than 2BT, which holds for any choices: |f_t(x)| ≤ ‖f_t‖ √k(x,x) ≤ B, so r_t ≤ 2B."""
        return self.total >= (1 - 1e-12) * self.trivial  # 2B itself, summed T times, may be less by rounding


def xi(n: int, noise: float, gain: float) -> float:
    """ξ_n = (1/λ) √(2n(1+λ)γ_n): what a unit of drift costs by Claim 2.

    >>> xi(2, noise=1.0, gain=2.0)
    4.0
    """
    return spread(n, noise, gain) / noise


def sharp_xi(n: int, noise: float) -> float:
    """½ √(n/λ): what a unit of drift costs at most, as ‖α(x)‖₁ ≤ √n ‖α(x)‖₂ ≤ √n / 2√λ (docs/theory.md).

    >>> sharp_xi(4, noise=0.25)
    2.0
    """
    return 0.5 * math.sqrt(checks.count("n", n, least=0) / checks.positive("noise", noise))


def spread(n: int, noise: float, gain: float) -> float:
    """Σ_{t ≤ n} σ_{t−1}(x_t) ≤ √(2(1+λ) n γ_n): Cauchy–Schwarz, and σ² ≤ (1+λ) ln(1 + σ²/λ) for σ ≤ 1.

    >>> spread(2, noise=1.0, gain=2.0)
    4.0
    """
    n, gain = checks.count("n", n, least=0), checks.nonnegative("gain", gain)
    return math.sqrt(2 * (1 + checks.positive("noise", noise)) * n * gain)


def restart_bound(problem: Problem, interval: int) -> Bound:
    """Theorem 1:  R(T) ≤ 2 H ξ_H P_T + 2 β ⌈T/H⌉ √(2(1+λ) H γ_H),  β of Lemma 1 with ln(⌈T/H⌉/δ)."""
    return _bound(problem, within_horizon(problem, "interval", interval), restarts=True, sharp=False)


def window_bound(problem: Problem, window: int) -> Bound:
    """Theorem 2:  R(T) ≤ 2 w ξ_w P_T + 2 β ⌈T/w⌉ √(2(1+λ) w γ_w),  β of Lemma 2 with ln(T/δ)."""
    return _bound(problem, within_horizon(problem, "window", window), restarts=False, sharp=False)


def sharp_restart_bound(problem: Problem, interval: int) -> Bound:
    """Theorem 1 with ½√(H/λ) in place of ξ_H, for the same algorithm; P_T may then be in sup-norm (docs/theory.md)."""
    return _bound(problem, within_horizon(problem, "interval", interval), restarts=True, sharp=True)


def sharp_window_bound(problem: Problem, window: int) -> Bound:
    """Theorem 2 with ½√(w/λ) in place of ξ_w, for the same algorithm; P_T may then be in sup-norm (docs/theory.md)."""
    return _bound(problem, within_horizon(problem, "window", window), restarts=False, sharp=True)


class Optimist(Protocol):
    """What `realised_bound` needs of a policy."""

    @property
    def width(self) -> Width: ...
    def start(self) -> Any: ...
    def update(self, state: Any, seen: Observation) -> Any: ...
    def belief(self, state: Any, ask: Ask) -> Belief: ...


def realised_bound(policy: Optimist, log: Iterable[Observation], *, drift: float) -> float:
    """R(T) ≤ drift + 2 Σ_t β_t σ_{t−1}(x_t) for the choices that were made: the theorem before γ is put for the sum.

    `drift` is 2 Σ_t ξ Σ_s ‖f_{s+1} − f_s‖ over the window of step t, at most `Bound.drift`. It holds with the policy's
    own width, so with probability 1 − δ if that is `Lemma` or `Realised`.
    """
    total, state = checks.nonnegative("drift", drift), _optimist(policy).start()
    for seen in checks.each("log", log, _observation, "a list of observations"):
        belief = policy.belief(state, Ask(number=seen.number, at=seen.at))
        _, std = belief.predict(np.array([seen.x]))
        total += 2 * policy.width(belief, seen.number) * float(std[0])
        state = policy.update(state, seen)
    return total


def _bound(problem: Problem, n: int, *, restarts: bool, sharp: bool) -> Bound:
    """2 n ξ P_T: a change counts in n steps at most. 2 β Σσ: a block at a time."""
    gamma, blocks = problem.gain(n), math.ceil(problem.horizon / n)
    cost = sharp_xi(n, problem.noise) if sharp else xi(n, problem.noise, gamma)
    delta = problem.delta / (blocks if restarts else problem.horizon)
    beta = confidence(gamma, problem.noise, B=problem.B, R=problem.R, delta=delta)
    return Bound(
        drift=2 * n * cost * problem.budget,
        estimation=2 * beta * blocks * spread(n, problem.noise, gamma),
        trivial=2 * problem.B * problem.horizon,
    )


def _optimist(given: Any) -> Optimist:
    policy: Optimist = checks.like("policy", given, ("width", "start", "update", "belief"), "a policy with a width")
    return policy


def _observation(name: str, given: Any) -> Observation:
    seen: Observation = checks.like(name, given, ("number", "at", "x", "y"), "an Observation")
    return seen


def as_problem(given: Any) -> Problem:
    if not isinstance(given, Problem):
        raise InvalidInput(f"problem must be a Problem(gain, horizon, budget), got {checks.shown(given)}")
    return given


def within_horizon(problem: Problem, name: str, n: int) -> int:
    """More than the horizon is the whole of it."""
    return min(checks.count(name, n), as_problem(problem).horizon)
