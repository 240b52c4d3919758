"""ET-GP-UCB (Brunzema et al. 2022): GP-UCB that begins again when an observation falsifies its belief."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.belief import Belief, Model, Ucb, Width
from driftwise.gp.grid import GridPosterior
from driftwise.gp.kernels import Kernel
from driftwise.gp.posterior import Posterior
from driftwise.policies import options
from driftwise.policies.ranges import Range
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space


@dataclass(frozen=True, eq=False)
class Era:
    """What was learned since the last of `restarts` alarms; `clock` is τ, the number of the next test."""

    belief: Belief
    clock: int = 1
    restarts: int = 0


@dataclass(frozen=True)
class EtGpUcb:
    """x_t = argmax μ + β_τ σ on the samples since the last alarm; an alarm is |y − μ(x)| > √ρ_τ σ(x) + w_τ.

    μ and σ are those before y; ρ_τ = 2 ln(2π_τ/δ) and w_τ = √(2λ ln(2π_τ/δ)) with π_τ = π²τ²/6, so that a world that
    stands still gives a false alarm with probability `delta` at most. The observation that gave the alarm is the first
    of the new era. Must be known: the noise variance λ, and the kernel at the rewards' own scale, or their range `low`
    to `high`, which is mapped to [−1, 1]; not the drift. Slow drift where nobody looks goes undetected. A step is one
    of gp-ucb's, O(τ² + τ·n).

    >>> from driftwise import Candidates
    >>> policy = EtGpUcb.of(Candidates([[0.0]]))
    >>> state = policy.start()
    >>> for t, y in enumerate([0.5, 0.5, 0.5, -0.9], start=1):
    ...     state = policy.update(state, Observation(t, float(t), (0.0,), y))
    >>> state.restarts, len(state.belief)
    (1, 1)
    """

    name: ClassVar[str] = "et-gp-ucb"

    model: Model
    width: Width
    delta: float = 0.1
    rewards: Range = Range()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        options.check_parts(self)
        object.__setattr__(self, "delta", checks.probability("delta", self.delta))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        delta: float = 0.1,
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        low: float = -1.0,
        high: float = 1.0,
    ) -> EtGpUcb:
        model = options.model(space, kernel, noise, False)
        theory = options.Theory(model, B=B, R=R, delta=delta, horizon=None)
        return cls(model, theory.width(width), delta, Range(low, high))

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> None:
        return None

    def start(self) -> Era:
        return Era(self.model.prior())

    def choose(self, state: Era, ask: Ask) -> Array:
        beta = self.width(state.belief, state.clock)
        return self.space.argmax(Ucb(state.belief.imagine(ask.pending), beta), ask)

    def update(self, state: Era, seen: Observation) -> Era:
        scaled = replace(seen, y=self.rewards.symmetric(seen.y))
        if self.falsified(state, scaled):
            return Era(self.model.prior().observe(scaled), clock=1, restarts=state.restarts + 1)
        return Era(state.belief.observe(scaled), state.clock + 1, state.restarts)

    def falsified(self, state: Era, seen: Observation) -> bool:
        """|y − μ(x)| > √ρ_τ σ(x) + w_τ, by the belief without `seen`."""
        mean, std = state.belief.predict(np.array([seen.x]))
        rho, w = thresholds(state.clock, delta=self.delta, noise=self.model.noise)
        return abs(seen.y - float(mean[0])) > math.sqrt(rho) * float(std[0]) + w

    def belief(self, state: Era, ask: Ask) -> Belief:
        assert isinstance(state.belief, Posterior | GridPosterior)
        if self.rewards.units == (0.0, 1.0):
            return state.belief
        return replace(state.belief, fixed_units=self.rewards.units)  # it saw the rewards mapped to [−1, 1]

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True  # it had a part in when the alarms were


def thresholds(clock: int, *, delta: float, noise: float) -> tuple[float, float]:
    """ρ_τ = 2 ln(2π_τ/δ), for σ, and w_τ = √(2λ ln(2π_τ/δ)), for the noise; Σ 1/π_τ = 1.

    >>> rho, w = thresholds(1, delta=0.1, noise=0.01)
    >>> round(rho, 3), round(w, 4)
    (6.987, 0.2643)
    """
    log = math.log(2 * (math.pi * clock) ** 2 / 6 / delta)
    return 2 * log, math.sqrt(2 * noise * log)
