"""ET-GP-UCB (Brunzema et al. 2022): GP-UCB that begins again when an observation falsifies its belief."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Conditioned, Ucb
from driftwise.gp.noise import variance_of
from driftwise.policies.base import Decision, UcbPolicy, in_units
from driftwise.policies.ranges import Range
from driftwise.policies.setup import BAND, RANGE, takes
from driftwise.records import Ask, Observation


@dataclass(frozen=True, eq=False)
class Era:
    """What was learned since the last of `restarts`; `clock` is τ, the number of the next test."""

    belief: Conditioned
    clock: int = 1
    restarts: int = 0


@dataclass(frozen=True)
class EtGpUcb(UcbPolicy[Era]):
    """x_t = argmax μ + β_τ σ on the samples since the last alarm; an alarm is |y − μ(x)| > √ρ_τ σ(x) + w_τ.

    μ and σ are those before y; ρ_τ = 2 ln(2π_τ/δ) and w_τ = √(2λ ln(2π_τ/δ)) with π_τ = π²τ²/6, so that a still world
    drawn from the policy's own prior, with Gaussian noise of variance λ, gives a false alarm with probability `delta`
    at most. A function of larger norm than the prior expects gives more of them (docs/theory.md). The observation that
    gave the alarm is the first of the new era. Must be known: the noise variance λ, and the kernel at the rewards' own
    scale, or their range `low` to `high`, which is mapped to [−1, 1]; not the drift. Slow drift where nobody looks goes
    undetected. A step is one of gp-ucb's, O(τ² + τ·n).

    The bound of the journal version (2025) is for restarts in a window: an alarm counts after `shortest` observations,
    and after `longest` everything is forgotten in any case. Where the two are equal it is r-gp-ucb.

    >>> from driftwise import Candidates
    >>> policy = EtGpUcb.of(Candidates([[0.0]]))
    >>> state = policy.start()
    >>> for t, y in enumerate([0.5, 0.5, 0.5, -0.9], start=1):
    ...     state = policy.update(state, Observation(t, float(t), (0.0,), y))
    >>> state.restarts, len(state.belief)
    (1, 1)
    """

    name: ClassVar[str] = "et-gp-ucb"
    shared = takes("kernel", "noise", *BAND, *RANGE, "horizon")

    delta: float = 0.1
    rewards: Range = Range()  # noqa: RUF009 (frozen)
    shortest: int = 0
    longest: int | None = None

    def __post_init__(self) -> None:
        self.settle(shortest=partial(checks.count, least=0), longest=checks.optional(checks.count))
        if self.longest is not None and self.longest < self.shortest:
            raise InvalidInput(f"longest must be ≥ shortest, got {self.longest} and {self.shortest}")

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        shortest: Annotated[int, "number of samples before which no alarm counts"] = 0,
        longest: Annotated[int | None, "number of samples after which all are forgotten; None: never"] = None,
        **given: Any,
    ) -> EtGpUcb:
        setup = cls.setup(space, given)
        # which step an era begins with is known only afterwards: it may be any of them
        beta = setup.beta(events=lambda T: T)
        return cls(setup.model, beta, setup.delta, setup.rewards, shortest, longest)

    def start(self) -> Era:
        return Era(self.model.prior())

    def decide(self, state: Era, ask: Ask) -> Decision:
        ucb = Ucb(state.belief.imagine(ask.pending), self.width(state.belief, state.clock))
        return Decision(self.space.argmax(ucb, ask), state.belief.jitter)

    def update(self, state: Era, seen: Observation) -> Era:
        scaled = self.rewards.scaled(seen)
        seen_before = len(state.belief)
        if seen_before >= self.shortest and self.falsified(state, scaled):
            return Era(self.model.prior().observe(scaled), clock=1, restarts=state.restarts + 1)
        if self.longest is not None and seen_before + 1 >= self.longest:
            return Era(self.model.prior(), clock=1, restarts=state.restarts + 1)
        return Era(state.belief.observe(scaled), state.clock + 1, state.restarts)

    def falsified(self, state: Era, seen: Observation) -> bool:
        """|y − μ(x)| > √ρ_τ σ(x) + w_τ, by the belief without `seen`."""
        mean, std = state.belief.predict(np.array([seen.x]))
        rho, w = thresholds(state.clock, delta=self.delta, noise=variance_of(seen, self.model.noise))
        return abs(seen.y - float(mean[0])) > math.sqrt(rho) * float(std[0]) + w

    def belief(self, state: Era, ask: Ask) -> Belief:
        return in_units(state.belief, self.rewards.units)  # it saw the rewards mapped to [−1, 1]


def thresholds(clock: int, *, delta: float, noise: float) -> tuple[float, float]:
    """ρ_τ = 2 ln(2π_τ/δ), for σ, and w_τ = √(2λ ln(2π_τ/δ)), for the noise; Σ 1/π_τ = 1.

    >>> rho, w = thresholds(1, delta=0.1, noise=0.01)
    >>> round(rho, 3), round(w, 4)
    (6.987, 0.2643)
    """
    log = math.log(2 * (math.pi * clock) ** 2 / 6 / delta)
    return 2 * log, math.sqrt(2 * noise * log)
