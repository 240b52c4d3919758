"""BOB (Cheung, Simchi-Levi & Zhu 2019) over GP-UCB: a bandit chooses, block by block, how long to remember."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Model, Width
from driftwise.gp.grid import GridPosterior
from driftwise.gp.kernels import Kernel
from driftwise.gp.posterior import Posterior
from driftwise.policies import options
from driftwise.policies.base import AnyPolicy
from driftwise.policies.ranges import Range
from driftwise.policies.restart import Restart
from driftwise.policies.window import Window
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.spaces import Space
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
class Turn:
    """Block `index` and the arm that plays it: its state, and the sum and count of its rewards."""

    index: int
    exp3: Exp3
    arm: int
    inner: Any
    gained: float = 0.0
    count: int = 0


@dataclass(frozen=True)
class BobGpUcb:
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

    model: Model
    width: Width
    horizon: int
    block: int
    lengths: tuple[int, ...]
    R: float
    over: str = "window"
    rewards: Range = Range()  # noqa: RUF009 (frozen)
    seed: int = 0

    def __post_init__(self) -> None:
        options.check_parts(self)
        object.__setattr__(self, "horizon", checks.count("horizon", self.horizon))
        object.__setattr__(self, "block", checks.count("block", self.block))
        lengths = checks.each("lengths", self.lengths, lambda _, n: checks.count("a length", n), "(5, 20, 80)")
        object.__setattr__(self, "lengths", lengths)
        if not self.lengths:
            raise InvalidInput("lengths must be one or more, as (5, 20, 80), got none")
        object.__setattr__(self, "R", checks.nonnegative("R", self.R))
        object.__setattr__(self, "seed", checks.seed("seed", self.seed))
        checks.one_of("over", self.over, OVER)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        horizon: int = 1000,
        block: int | None = None,
        lengths: tuple[int, ...] | None = None,
        over: str = "window",
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        delta: float | None = None,
        low: float = -1.0,
        high: float = 1.0,
        seed: int = 0,
    ) -> BobGpUcb:
        model = options.model(space, kernel, noise, False)
        T = checks.count("horizon", horizon)
        theory = options.Theory(model, B=B, R=R, delta=1 / (T + 1) if delta is None else delta, horizon=T)
        rewards, beta = Range(low, high), theory.width(width)
        H = unknown_budget(theory.gain(T), T) if block is None else checks.count("block", block)
        return cls(model, beta, T, H, geometric(H) if lengths is None else lengths, theory.R, over, rewards, seed)

    @cached_property
    def arms(self) -> tuple[AnyPolicy, ...]:
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

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> None:
        return None

    def start(self) -> Turn:
        return self._turn(0, Exp3((0.0,) * len(self.lengths), self.mix))

    def choose(self, state: Turn, ask: Ask) -> Array:
        now = self._now(state, ask.number)
        return self.arms[now.arm].choose(now.inner, replace(ask, number=self._step(ask.number)))

    def update(self, state: Turn, seen: Observation) -> Turn:
        now = self._now(state, seen.number)
        y = self.rewards.symmetric(seen.y)
        inner = self.arms[now.arm].update(now.inner, replace(seen, number=self._step(seen.number), y=y))
        return replace(now, inner=inner, gained=now.gained + y, count=now.count + 1)

    def belief(self, state: Turn, ask: Ask) -> Belief:
        now = self._now(state, ask.number)
        belief = self.arms[now.arm].belief(now.inner, replace(ask, number=self._step(ask.number)))
        assert isinstance(belief, Posterior | GridPosterior)
        return replace(belief, fixed_units=self.rewards.units)  # it saw the rewards mapped to [−1, 1]

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True  # it had a part in what its block was worth

    def _step(self, number: int) -> int:
        """The number within its block, from 1: an arm is fresh and knows no other."""
        return (number - 1) % self.block + 1

    def _now(self, state: Turn, number: int) -> Turn:
        """The turn that `number` is in: the one there is, or the next, once the one there is has been paid."""
        index = (number - 1) // self.block
        if index == state.index:
            return state
        exp3 = state.exp3
        if state.count:
            exp3 = exp3.rewarded(state.arm, self.worth(self.block * state.gained / state.count))
        return self._turn(index, exp3)

    def _turn(self, index: int, exp3: Exp3) -> Turn:
        """The arm is a function of the policy's seed: `update` has to know it as well as `choose`."""
        drawn = generator(self.seed, index, Stream.SCHEDULE).random()
        arm = min(int(np.searchsorted(np.cumsum(exp3.probabilities), drawn, side="right")), len(self.lengths) - 1)
        return Turn(index, exp3, arm, self.arms[arm].start())


def geometric(H: int) -> tuple[int, ...]:
    """⌊H^{j/Δ}⌋ for j = 0 … Δ = ⌈ln H⌉; equal ones remain, as arms of their own."""
    Delta = math.ceil(math.log(H))
    return tuple(math.floor(H ** (j / Delta) + 1e-9) for j in range(Delta + 1)) if Delta else (1,)
