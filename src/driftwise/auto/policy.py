"""auto: told a space and rewards, nothing else; a bank of experts that are weighted by how well they predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks, limits
from driftwise.auto.data import SPAN, Frame, Memory, Seen
from driftwise.auto.diagnosis import Diagnosis, diagnose
from driftwise.auto.experts import SURE, Bank, Expert, Fit
from driftwise.auto.mixture import Mixture, Optimism
from driftwise.auto.search import Survey, without_outliers
from driftwise.errors import InvalidInput
from driftwise.gp.belief import check_kernel, check_size
from driftwise.gp.kernels import RBF, Kernel, Level, Matern, Sum, as_kernel
from driftwise.gp.time_kernels import Forgetting, MaternInTime, TimeKernel, as_time_kernel
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Box, Choice, Space, as_space
from driftwise.spaces.local import nearby

BLOCK = 16  # numbers between two surveys of the whole bank
GAP = 4  # numbers between two births of restarts, after a survey
FEW = 24  # observations up to which every one brings a survey
ROUGH, SMOOTH = (0.12, 0.25), (0.25, 0.5)  # lengthscales in up to two dimensions; beyond they grow with √d
EPSILONS = (0.0, 0.003, 0.01, 0.03, 0.1)  # drift for each typical gap between observations
SCALES = (15.0, 30.0, 60.0, 200.0)  # of smooth drift, in typical gaps
LEVEL = 0.3  # variance of the level that the function has as a whole, of the signal's
NOISES = (0.003, 0.01, 0.03, 0.1, 0.3)  # variances, of the signal's
WIDTH = 0.8  # of what just pays, where rewards are standardised: their scale is an upper bound already
CERTAIN = 1e6  # what is known of the variance of a kernel that is given, in observations


@dataclass(frozen=True, eq=False)
class Known:
    """What is remembered, and the last survey of the whole bank."""

    memory: Memory
    survey: Survey

    @cached_property
    def seen(self) -> Seen:
        """What the experts see now: what they saw at the survey, and what came since."""
        surveyed = self.survey.seen
        since = self.memory.all.after(int(surveyed.numbers[-1])) if len(surveyed) else surveyed
        return surveyed.followed_by(since) if len(since) else surveyed

    @cached_property
    def panel(self) -> tuple[tuple[Fit, ...], Array]:
        """The experts in use, on what is seen now, and their weights.

        After a survey these follow the forecasts of what came since; every GAP numbers a restart of the heaviest of
        them is born.
        """
        bank, seen, fits, (live, w) = self.survey.bank, self.seen, self.survey.fits, self.survey.live
        known = len(self.survey.seen)
        if len(seen) == known:
            return fits, w
        surveyed, number = int(seen.numbers[known - 1]), int(seen.numbers[-1])
        fits = tuple(bank.more(fits, seen, known=known))
        if bank.changes:
            born = (*_young(live[0], surveyed, number), *without_outliers(bank, fits[0], seen, surveyed + 1))
            fits, w = fits + tuple(bank.fits(born, seen)), np.concatenate([w, np.zeros(len(born))])
        return fits, bank.weights(fits, w, seen, known)[-1]


def _young(best: Expert, surveyed: int, number: int) -> tuple[Expert, ...]:
    """Restarts of `best` at the multiples of GAP after the survey."""
    first = (surveyed // GAP + 1) * GAP
    return tuple(replace(best, since=since, earlier=()) for since in range(first, number, GAP))


@dataclass(frozen=True)
class Auto:
    """x_t = argmax Σ w_e (μ_e + β b_e σ_e) over experts e: lengthscales × drifts × noises, changes, cycles.

    It needs to know nothing: rewards are standardised robustly, time is `at` in typical gaps. What it believes is a
    function of `window` of the last `span` observations and of what came since the last survey: the whole bank is
    surveyed when the observation's number passes a multiple of BLOCK, and in between the best few experts are followed.
    O(w³) a survey and O(w²) a step, for ever. With `known_kernel` (of the rewards as they come, expected around 0) only
    drift and noise are learned. `max_step` limits how far, in the unit cube, a suggestion may be from the last
    observation.

    >>> from driftwise import Candidates
    >>> policy = Auto.of(Candidates([[0.0], [1.0]]))
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 1.0))
    >>> policy.choose(state, Ask(number=2, at=2.0)).tolist()
    [1.0]
    """

    name: ClassVar[str] = "auto"

    space: Space
    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    told: bool  # the one kernel, which is that of the rewards as they come
    changes: bool
    cycles: bool
    tides: bool
    ard: bool
    width: float
    window: int
    max_step: float | None

    def __post_init__(self) -> None:
        flags = dict.fromkeys(("told", "changes", "cycles", "tides", "ard"), checks.flag)
        checks.settle(
            self,
            space=lambda _, given: as_space(given),
            kernels=lambda name, given: checks.each(name, given, as_kernel, "(RBF(0.2),)"),
            times=lambda name, given: checks.each(name, given, as_time_kernel, "(Forgetting(0.1),)"),
            noises=lambda name, given: checks.each(name, given, checks.positive, "(0.01, 0.1)"),
            width=checks.nonnegative,
            window=partial(checks.count, least=8),
            max_step=checks.optional(partial(checks.positive, fix="it is a distance in the unit cube, as 0.1")),
            **flags,
        )
        if not (self.kernels and self.times and self.noises):
            raise InvalidInput("auto needs a kernel, a kernel of time and a noise at least, got none of one of them")
        # candidates are looked at in blocks, so that the time of a step is what limits them: a second at 45,000
        check_size(self.name, self.space, self.window, experts=2)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        known_kernel: Annotated[Kernel | None, "covariance of the rewards, if you know it"] = None,
        width: Annotated[float | None, "exploration bonus, as a multiple of the one that just pays off"] = None,
        window: Annotated[int, "number of observations that experts see, at most"] = 184,
        max_step: Annotated[float | None, "distance in the unit cube from the last observation, at most"] = None,
        changes: Annotated[bool, "whether experts may begin again at a change point"] = True,
        smooth: Annotated[bool, "whether experts may follow trends"] = True,
        cycles: Annotated[bool, "whether experts may have a season"] = True,
        tides: Annotated[bool, "whether the level of all rewards may move on its own"] = True,
        ard: Annotated[bool, "whether parameters may have length scales of their own"] = True,
    ) -> Auto:
        made = as_space(space)
        if known_kernel is not None:
            check_kernel(as_kernel("known_kernel", known_kernel), made)
        times = tuple(Forgetting(e) for e in EPSILONS) + (tuple(MaternInTime(2.5, s) for s in SCALES) if smooth else ())
        kernels = default_kernels(made) if known_kernel is None else (known_kernel,)
        told = known_kernel is not None
        width = (1.0 if told else WIDTH) if width is None else width
        return cls(
            made, kernels, times, NOISES, told, changes, cycles, tides, ard and not told, width, window, max_step
        )

    @cached_property
    def bank(self) -> Bank:
        found = (self.changes, self.cycles, self.tides, self.ard)
        return Bank(self.kernels, self.times, self.noises, *found, sure=CERTAIN if self.told else SURE)

    @property
    def span(self) -> int:
        """How many of the last observations are remembered: SPAN, fewer where coordinates are many."""
        return limits.rows(self.space.dim, most=SPAN, least=self.window)

    @property
    def memory(self) -> int:
        return self.span + BLOCK

    def start(self) -> Known:
        frame = Frame(tuple(_sides(self.space).tolist()), standardise=not self.told)
        nothing = Memory.nothing(frame, most=self.window, span=self.span)
        return Known(nothing, Survey(self.bank, nothing))

    def choose(self, state: Known, ask: Ask) -> Array:
        belief = self.belief(state, ask).imagine(ask.pending)
        if self.max_step is not None and len(state.seen):
            return nearby(Optimism(belief, self.width), self.space, state.seen.X[-1], self.max_step, ask)
        return self.space.argmax(Optimism(belief, self.width, hurry=self.space.points is None), ask)

    def update(self, state: Known, seen: Observation) -> Known:
        memory, before = state.memory.observe(seen), state.memory.all.numbers
        due = len(before) < FEW or seen.number // BLOCK != int(before[-1]) // BLOCK
        return Known(memory, Survey(self.bank, memory) if due else state.survey)

    def belief(self, state: Known, ask: Ask) -> Mixture:
        return Mixture(self.bank, state.seen, *state.panel, ask.at)

    def diagnose(self, state: Known, ask: Ask) -> Diagnosis:
        """How the world moves, what of the past is in use, and which parameters matter."""
        return diagnose(self.belief(state, ask), self.space)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.memory


def default_kernels(space: Space) -> tuple[Kernel, ...]:
    """Matérn-5/2 and RBF, with lengthscales in the units in which the settings fill a cube, and a level.

    A smooth function looks, near its top, like a rough one of a longer lengthscale, which would be surer of the rest.
    """
    sides = math.sqrt(max(_breadth(space), 2) / 2) * _sides(space)
    made: list[Kernel] = [Matern(2.5, tuple((ell * sides).tolist())) for ell in ROUGH]
    made += [RBF(tuple((ell * sides).tolist())) for ell in SMOOTH]
    return tuple(Sum(kernel, Level(LEVEL)) for kernel in made)


def _breadth(space: Space) -> float:
    """Its dimension, where a coordinate counts for what its variance has of that of an interval, at most 1.

    Two of a hundred choices, each with a coordinate of its own, are no further apart than two of ten.
    """
    if isinstance(space, Box) and space.points is None:
        sizes = (p.size if isinstance(p, Choice) else 1 for _, p in space.parameters)
        return float(sum(1 if n == 1 else min(12 * (1 - 1 / n), n) for n in sizes))
    return float(np.minimum(12 * np.var(np.asarray(space.points) / _sides(space), axis=0), 1.0).sum())


def _sides(space: Space) -> Array:
    """The extent of the space along each coordinate: 1 in the unit cube, as they come on candidates. (d,)"""
    points = space.points
    if points is None:
        return np.ones(space.dim)
    sides = np.ptp(points, axis=0)
    return np.where(sides > 0, sides, 1.0)
