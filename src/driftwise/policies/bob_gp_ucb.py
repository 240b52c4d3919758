"""BOB (Cheung, Simchi-Levi & Zhu 2019) over GP-UCB: a bandit chooses, block by block, how long to remember."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.policies.base import Decision, UcbPolicy, in_units
from driftwise.policies.ranges import Range
from driftwise.policies.restart import Restart
from driftwise.policies.setup import RANGE, takes
from driftwise.policies.window import Window
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.theory.schedules import unknown_budget

OVER = ("window", "interval")


@dataclass(frozen=True)
class Exp3:
    """EXP3 (Auer et al. 2002) with weights s_j, kept as logarithms: p_j = (1 − g) s_j/Σs + g/J.

    >>> Exp3((0.0, 0.0), mix=0.5).rewarded(0, 1.0).probabilities.round(4).tolist()
    [0.5612, 0.4388]
    """

    logs: tuple[float, ...]
    mix: float  # g

    @property
    def probabilities(self) -> Array:
        s = np.exp(np.array(self.logs) - max(self.logs))
        return (1 - self.mix) * s / s.sum() + self.mix / len(s)

    def rewarded(self, j: int, reward: float) -> Exp3:
        """s_j ← s_j exp(g r/(J p_j)), of the arm that was drawn; r in [0, 1]."""
        gained = self.mix * reward / (len(self.logs) * float(self.probabilities[j]))
        return replace(self, logs=(*self.logs[:j], self.logs[j] + gained, *self.logs[j + 1 :]))


@dataclass(frozen=True, eq=False)
class BobBlock:
    """Block `index` and the arm that plays it: its state, and the sum and count of its rewards."""

    index: int
    exp3: Exp3
    arm: int
    inner: Any
    gained: float = 0.0
    count: int = 0


@dataclass(frozen=True)
class BobGpUcb(UcbPolicy[BobBlock]):
    """In every block of H steps a fresh sw-gp-ucb, or r-gp-ucb, whose length EXP3 draws: what paid is drawn more often.

    A block is worth ½ + G/(2H + 4R√(H ln(T/√H))), clipped to [0, 1], G its rewards in sum; where some are missing, H
    times their mean. Must be known: the horizon T, and the range `low` to `high` of the rewards, which is mapped to
    [−1, 1]; not the drift. H is γ_T^¼ √T, to the nearest, unless `block` is given, and the lengths are ⌊H^{j/Δ}⌋, j = 0
    … Δ = ⌈ln H⌉. A step is one of sw-gp-ucb's with a window of H at most.

    >>> from driftwise import Candidates
    >>> BobGpUcb.of(Candidates([[0.0], [1.0]]), horizon=10_000, block=100).lengths
    (1, 2, 6, 15, 39, 100)
    """

    name: ClassVar[str] = "bob-gp-ucb"
    shared = takes("kernel", "noise", "width", "B", "R", *RANGE, "seed", horizon=1000)

    horizon: int
    block: int
    lengths: tuple[int, ...]
    R: float
    over: str = "window"
    rewards: Range = Range()  # noqa: RUF009 (frozen)
    seed: int = 0

    def __post_init__(self) -> None:
        self.settle(
            horizon=checks.count,
            block=checks.count,
            lengths=_some_lengths,
            R=checks.nonnegative,
            over=partial(checks.one_of, known=OVER),
        )

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        block: Annotated[int | None, "number of steps for which a length is tried"] = None,
        lengths: Annotated[tuple[int, ...] | None, "the windows or intervals to choose among"] = None,
        over: Annotated[str, "window or interval: what is chosen"] = "window",
        delta: Annotated[float | None, "probability that a confidence band may fail; None: 1/(T + 1)"] = None,
        **given: Any,
    ) -> BobGpUcb:
        setup = cls.setup(space, given, **{} if delta is None else {"delta": delta})
        T = checks.count("horizon", setup.horizon)
        setup = replace(setup, delta=1 / (T + 1)) if delta is None else setup
        # an arm is fresh in each block, and any step may be the first that it remembers
        beta, rewards = setup.beta(events=lambda T: T), setup.rewards
        H = unknown_budget(setup.gain(T), T) if block is None else checks.count("block", block)
        lengths = geometric(H) if lengths is None else lengths
        return cls(setup.model, beta, T, H, lengths, setup.sub_gaussian, over, rewards, setup.seed)

    @cached_property
    def arms(self) -> tuple[Window | Restart, ...]:
        """The policies that EXP3 chooses among."""
        make = Window if self.over == "window" else Restart
        return tuple(make(self.model, self.width, length) for length in self.lengths)

    @property
    def mix(self) -> float:
        """g = min(1, √(J ln J/((e − 1)⌈T/H⌉))) for J arms."""
        J, blocks = len(self.lengths), -(-self.horizon // self.block)
        return min(1.0, math.sqrt(J * math.log(J) / ((math.e - 1) * blocks)))

    def worth(self, gained: float) -> float:
        """½ + G/(2H + 4R√(H ln(T/√H))), in [0, 1]; rewards are in [−1, 1]."""
        H, T = self.block, self.horizon
        scale = 2 * H + 4 * self.R * math.sqrt(H * max(math.log(T / math.sqrt(H)), 0.0))
        return min(max(0.5 + gained / scale, 0.0), 1.0)

    def start(self) -> BobBlock:
        return self._turn(0, Exp3((0.0,) * len(self.lengths), self.mix))

    def decide(self, state: BobBlock, ask: Ask) -> Decision:
        now = self._now(state, ask.number)
        return self.arms[now.arm].decide(now.inner, replace(ask, number=self._step(ask.number)))

    def update(self, state: BobBlock, seen: Observation) -> BobBlock:
        now = self._now(state, seen.number)
        scaled = self.rewards.scaled(seen)
        inner = self.arms[now.arm].update(now.inner, replace(scaled, number=self._step(seen.number)))
        return replace(now, inner=inner, gained=now.gained + scaled.y, count=now.count + 1)

    def belief(self, state: BobBlock, ask: Ask) -> Belief:
        now = self._now(state, ask.number)
        belief = self.arms[now.arm].belief(now.inner, replace(ask, number=self._step(ask.number)))
        return in_units(belief, self.rewards.units)  # it saw the rewards mapped to [−1, 1]

    def _step(self, number: int) -> int:
        """The number within its block, from 1: an arm is fresh and knows no other."""
        return (number - 1) % self.block + 1

    def _now(self, state: BobBlock, number: int) -> BobBlock:
        """The turn that `number` is in: the one there is, or the next, once the one there is has been paid."""
        index = (number - 1) // self.block
        if index == state.index:
            return state
        exp3 = state.exp3
        if state.count:
            exp3 = exp3.rewarded(state.arm, self.worth(self.block * state.gained / state.count))
        return self._turn(index, exp3)

    def _turn(self, index: int, exp3: Exp3) -> BobBlock:
        """The arm is a function of the policy's seed: `update` has to know it as well as `choose`."""
        drawn = generator(self.seed, index, Stream.SCHEDULE).random()
        arm = min(int(np.searchsorted(np.cumsum(exp3.probabilities), drawn, side="right")), len(self.lengths) - 1)
        return BobBlock(index, exp3, arm, self.arms[arm].start())


def _some_lengths(name: str, given: Any) -> tuple[int, ...]:
    lengths = checks.each(name, given, lambda _, n: checks.count("a length", n), "(5, 20, 80)")
    if not lengths:
        raise InvalidInput(f"{name} must be one or more, for example (5, 20, 80), got none")
    return lengths


def geometric(H: int) -> tuple[int, ...]:
    """⌊H^{j/Δ}⌋ for j = 0 … Δ = ⌈ln H⌉; equal ones remain, as arms of their own."""
    Delta = math.ceil(math.log(H))
    return tuple(math.floor(H ** (j / Delta) + 1e-9) for j in range(Delta + 1)) if Delta else (1,)
