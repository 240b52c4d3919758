"""MASTER (Wei & Luo 2021) over GP-UCB: instances at many time scales, and two tests of whether the world changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.gp.belief import Belief, Conditioned, Ucb, Width, optimistic
from driftwise.policies.base import Decision, UcbPolicy, in_units
from driftwise.policies.ranges import Range
from driftwise.policies.setup import BAND, PROVED, RANGE, Setup, takes
from driftwise.records import Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.theory.widths import Doubled, Lemma, confidence

PROOF = "proof"  # the name of the width and of the κ that the theorem is about
Schedule = tuple[NDArray[np.bool_], ...]  # for every order m ≤ n, which of the 2^{n−m} slots have an instance


@dataclass(frozen=True, eq=False)
class Instance:
    """A GP-UCB of its own, and the block's sums when its slot began."""

    belief: Conditioned
    rewards: float
    count: int


@dataclass(frozen=True, eq=False)
class MasterBlock:
    """Block n = len(schedule) − 1 since round `begun`, at the beginning of round `clock`; `restarts` counts alarms."""

    clock: int
    begun: int
    schedule: Schedule
    instances: tuple[Instance | None, ...]  # the live one of every order
    rewards: float = 0.0  # Σ R
    excess: float = 0.0  # Σ (g̃ − R)
    lowest: float = math.inf  # U = min g̃
    count: int = 0
    restarts: int = 0

    @property
    def active(self) -> int:
        """The order of the shortest instance that covers the round."""
        return next(m for m, instance in enumerate(self.instances) if instance is not None)


@dataclass(frozen=True)
class _OwnClock:
    """The width at an instance's own clock, which counts what the instance has seen."""

    width: Width

    def __call__(self, belief: Belief, number: int) -> float:
        return self.width(belief, len(belief) + 1)


@dataclass(frozen=True)
class Master(UcbPolicy[MasterBlock]):
    """Play the shortest live instance of GP-UCB; begin again where one that ends beat U, or rewards lag g̃.

    A block of 2^n rounds has an order-m instance in each slot of 2^m with probability ρ(2^n)/ρ(2^m) = 2^{(m−n)/2}. With
    g̃ the UCB's maximum, U its least so far and ρ̂(t) = κ/√t, begin again where the mean reward over an instance's span
    is ≥ U + 9ρ̂(2^m) (Test 1), or the block's mean of g̃ − R is ≥ 3ρ̂(t) (Test 2). It needs the range of the rewards,
    and no budget. A step is one of gp-ucb on the active instance (with two maximisations on a box).

    The proof's own settings have names and need the horizon T: width="proof" is 2β_t, β_t of the lemma with δ/T, for B
    and R of the rewards mapped to [−1, 1], and kappa="proof" is 6(log₂ T + 1) ln(T/δ) max(1, β_T √(γ_T ln(T/δ))).
    With that κ, at least 6(log₂ T + 1) ln(T/δ), no test can fire at practical horizons. At κ = 2 alarms are
    rare in a still world (3 in 6 runs of 1,000 steps on 100 candidates) and no less rare where it changes every 250
    steps (3 in 6); at κ = 1 there are nine a run in the one and twelve in the other.

    >>> from driftwise import Candidates
    >>> policy = Master.of(Candidates([[0.0], [1.0]]))
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str] = "master-gp-ucb"
    restrictable: ClassVar[bool] = False  # its tests compare rewards with a promise for the best of all settings
    shared = takes("kernel", "noise", *BAND, *RANGE, "seed", "horizon")

    rewards: Range
    kappa: float
    seed: int

    def __post_init__(self) -> None:
        self.settle(kappa=checks.positive)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        kappa: Annotated[float | str, "scale of both tests: larger means fewer alarms; or proof"] = 2.0,
        **given: Any,
    ) -> Master:
        setup = cls.setup(space, given)
        reason = "an instance sees a world that moves, and the proof needs twice the width; give width='proof'"
        beta = setup.beta(unproved=dict.fromkeys(PROVED, reason), own={PROOF: lambda: Doubled(_lemma(setup))})
        return cls(setup.model, beta, setup.rewards, _kappa(setup, kappa), setup.seed)

    def threshold(self, t: int) -> float:
        """ρ̂(t) = κ/√t."""
        return self.kappa / math.sqrt(t)

    def schedule(self, begun: int, n: int) -> Schedule:
        """The instances of a block of order n that begins at round `begun`: a function of the policy's seed."""
        rng = generator(self.seed, begun, Stream.SCHEDULE)
        return tuple(rng.random(2 ** (n - m)) < 2 ** ((m - n) / 2) for m in range(n + 1))

    def start(self) -> MasterBlock:
        return self._block(1, 0, 0)

    def decide(self, state: MasterBlock, ask: Ask) -> Decision:
        belief = self._live(self._advance(state, ask.number)).belief
        return Decision(optimistic(self.model, belief, _OwnClock(self.width), ask), belief.jitter)

    def update(self, state: MasterBlock, seen: Observation) -> MasterBlock:
        state = self._advance(state, seen.number)
        live = self._live(state)
        scaled = self.rewards.scaled(seen)
        reward, promise = self.rewards.unit(seen.y), self.promise(live.belief, seen)
        instances = list(state.instances)
        instances[state.active] = replace(live, belief=live.belief.observe(scaled))
        state = replace(
            state,
            instances=tuple(instances),
            rewards=state.rewards + reward,
            excess=state.excess + promise - reward,
            lowest=min(state.lowest, promise),
            count=state.count + 1,
        )
        return self._advance(state, seen.number + 1)

    def belief(self, state: MasterBlock, ask: Ask) -> Belief:
        belief = self._live(self._advance(state, ask.number)).belief
        return in_units(belief, self.rewards.units)  # it saw the rewards mapped to [−1, 1]

    # --- its parts ----------------------------------------------------------------------------------------------

    def promise(self, belief: Belief, seen: Observation) -> float:
        """g̃ = max UCB, as a reward in [0, 1]; the instance's own clock counts what it has seen."""
        ucb = Ucb(belief, _OwnClock(self.width)(belief, seen.number))
        rows = self.space.points
        if rows is None:  # the maximiser that was played may be the better one
            found = self.space.argmax(ucb, Ask(number=seen.number, at=seen.at, seed=self.seed))
            rows = np.array([found, seen.x])
        return float(np.clip((ucb(rows).max() + 1) / 2, 0.0, 1.0))

    def changed(self, state: MasterBlock) -> bool:
        """Tests 1 and 2 at the end of round `clock`, over the rounds that had a reward."""
        if not state.count:
            return False
        played = state.clock - state.begun + 1
        ended = (i for m, i in enumerate(state.instances) if i is not None and played % 2**m == 0)
        return state.excess / state.count >= 3 * self.threshold(state.count) or any(
            self._beats(state, instance) for instance in ended
        )

    def _live(self, state: MasterBlock) -> Instance:
        live = state.instances[state.active]
        assert live is not None
        return live

    def _beats(self, state: MasterBlock, instance: Instance) -> bool:
        count = state.count - instance.count
        if not count:
            return False
        return (state.rewards - instance.rewards) / count >= state.lowest + 9 * self.threshold(count)

    def _advance(self, state: MasterBlock, number: int) -> MasterBlock:
        """The state at the beginning of round `number`: rounds without a reward pass, too."""
        while state.clock < number:
            state = self._end_round(state)
        return state

    def _end_round(self, state: MasterBlock) -> MasterBlock:
        if self.changed(state):
            return self._block(state.clock + 1, 0, state.restarts + 1)
        n, played = len(state.schedule) - 1, state.clock - state.begun + 1
        if played == 2**n:
            return self._block(state.clock + 1, n + 1, state.restarts)
        instances = list(state.instances)
        for m in range(n + 1):
            if played % 2**m:
                break  # nor does any longer slot begin here
            scheduled = state.schedule[m][played // 2**m]
            instances[m] = Instance(self._prior, state.rewards, state.count) if scheduled else None
        return replace(state, clock=state.clock + 1, instances=tuple(instances))

    @cached_property
    def _prior(self) -> Conditioned:
        return self.model.prior()

    def _block(self, begun: int, n: int, restarts: int) -> MasterBlock:
        schedule = self.schedule(begun, n)
        fresh = Instance(self._prior, 0.0, 0)
        instances = tuple(fresh if slots[0] else None for slots in schedule)
        return MasterBlock(begun, begun, schedule, instances, restarts=restarts)


def _lemma(setup: Setup) -> Lemma:
    """The lemma's width, with δ/T for each of the instances."""
    return Lemma(setup.gain, setup.B, setup.sub_gaussian, setup.delta, setup.planned("width='proof'"))


def _kappa(setup: Setup, given: float | str) -> float:
    """A number; or ρ̂(1) of the theorem, where ρ(t) = max(1, β_T √(γ_T ln(T/δ)))/√t and ρ̂ = 6(log₂ T + 1) ln(T/δ) ρ."""
    if not isinstance(given, str):
        return given
    checks.one_of("kappa", given, (PROOF,))
    T = setup.planned("kappa='proof'")
    gamma, log = setup.gain(T), math.log(T / setup.delta)
    beta = confidence(gamma, setup.noise, B=setup.B, R=setup.sub_gaussian, delta=setup.delta / T)
    return 6 * (math.log2(T) + 1) * log * max(1.0, beta * math.sqrt(gamma * log))
