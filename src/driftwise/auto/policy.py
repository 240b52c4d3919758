"""auto: the policy without settings. It weighs the rows of one table of hypotheses by how well they predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks, limits
from driftwise.auto.acquisition import Acquisition
from driftwise.auto.data import SPAN, Frame, Memory, Observations
from driftwise.auto.diagnosis import Diagnosis, Motion, alarmed, diagnose, motion
from driftwise.auto.follow import Following
from driftwise.auto.mixture import Mixture
from driftwise.auto.rows import CERTAIN, STRENGTH, Hypotheses, Part
from driftwise.auto.search import Search
from driftwise.errors import InvalidInput
from driftwise.gp.belief import check_kernel, check_size
from driftwise.gp.kernels import RBF, Kernel, Level, Matern, Sum, as_kernel
from driftwise.gp.past import past
from driftwise.gp.time_kernels import Forgetting, MaternInTime, TimeKernel, as_time_kernel
from driftwise.lean.extent import breadth, sides
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.spaces import Box, Choice, Joint, Space, as_space
from driftwise.spaces.equals import AnyOfEquals, in_no_order
from driftwise.spaces.local import Nearness, nearby
from driftwise.spaces.restricted import may, with_fixed

BLOCK = 16  # numbers between two searches
LAG = 8  # numbers after which a search that was begun is in use
SPREAD = 6  # numbers over which it is spread: fewer, since it may take a little longer than the one before
FEW = 24  # observations up to which there is a search after each
SEVERAL = 5  # dimensions from which on there is a first design
KNOWN = 64  # readings among which the best so far is looked for
COORDINATES = 64  # up to which parameters have length scales of their own
MATERN, SMOOTH, ROUGH = (0.15, 0.35, 0.8), (0.25, 0.5), (0.6, 2.0)  # length scales in up to two dimensions
EPSILONS = (0.0, 0.003, 0.01, 0.03, 0.1)  # drift per typical gap between observations
SCALES = (15.0, 40.0, 120.0)  # of smooth drift, in typical gaps
LEVEL = 0.6  # variance of the function's constant level, relative to the signal's
WIDTH = 0.8  # where the scale of rewards is learned: what is said of it is cautious already
NOISES = (1e-5, 3e-4, 0.003, 0.01, 0.03, 0.1, 0.3)  # variances, relative to the signal's


@dataclass(eq=False)
class AutoState:
    """The memory, the search that is in use, and the one that is under way; what follows from them is made once."""

    memory: Memory
    search: Search
    following: Search
    before: AutoState | None  # the state one reading ago, if it had the same search

    @cached_property
    def followed(self) -> Following:
        """The rows of the search, after all readings since."""
        self._go_on()
        known, before = len(self.search.window), self.before
        self.before = None  # what it was needed for is done
        later = self.later
        if not len(later):
            return Following.of(self.search.pool)
        if before is not None and len(before.later) == len(later) - 1:
            return before.followed.after(later.only(np.arange(len(later) - 1, len(later))))
        if before is not None and len(before.later) == len(later):  # the newest reading is no information
            return before.followed
        made = Following.of(self.search.pool)
        for i in range(len(later)):
            made = made.after(later.only(np.arange(i, i + 1)))
        assert made.known == known
        return made

    @cached_property
    def later(self) -> Observations:
        """The readings since the search."""
        searched = self.search.window.data
        since = int(searched.numbers[-1]) if len(searched) else 0
        return self.memory.informative.after(since).in_unit_of(self.memory.units)

    def _go_on(self) -> None:
        """Go on with the search that is under way, so far that as much is left as there are observations to come."""
        before, now = (search.memory.all.numbers for search in (self.search, self.following))
        if len(before) < len(now):
            part = min((int(self.memory.all.numbers[-1] - now[-1]) + 1) / SPREAD, 1.0)
            self.following.go_on(part, self.search)


@dataclass(frozen=True)
class Auto:
    """x_t = argmax of what a setting is worth by the rows of a table, weighted by how well they predicted."""

    name: ClassVar[str] = "auto"
    restrictable: ClassVar[bool] = True

    space: Space
    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    kernel_is_known: bool
    changes: bool
    cycles: bool
    moving_level: bool  # whether levels that move are searched for
    ard: bool
    width: float
    window: int
    max_step: float | None
    past: tuple[float, float] | None = None  # level and scale of a history

    def __post_init__(self) -> None:
        flags = dict.fromkeys(("kernel_is_known", "changes", "cycles", "moving_level", "ard"), checks.flag)
        checks.settle(
            self,
            space=lambda _, given: as_space(given),
            kernels=lambda name, given: checks.each(name, given, as_kernel, "(RBF(0.2),)"),
            times=lambda name, given: checks.each(name, given, as_time_kernel, "(Forgetting(0.1),)"),
            noises=lambda name, given: checks.each(name, given, checks.positive, "(0.01, 0.1)"),
            width=checks.nonnegative,
            window=partial(checks.count, least=8),
            past=checks.optional(lambda name, given: checks.point(name, given, 2)),
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
        history: Annotated[Any, "what all candidates gave before: rows of times, or a dict of columns by label"] = None,
        width: Annotated[float | None, "factor of the forecast's standard deviation when settings are chosen"] = None,
        window: Annotated[int, "number of observations that experts see, at most"] = 184,
        max_step: Annotated[float | None, "distance in the unit cube from the last observation, at most"] = None,
        changes: Annotated[bool, "whether experts may begin again at a change point"] = True,
        smooth: Annotated[bool, "whether experts may follow trends"] = True,
        cycles: Annotated[bool, "whether experts may have a season"] = True,
        moving_level: Annotated[bool, "whether the level of all rewards may move on its own"] = True,
        ard: Annotated[bool, "whether parameters may have length scales of their own"] = True,
    ) -> Auto:
        made = as_space(space)
        if known_kernel is not None:
            check_kernel(as_kernel("known_kernel", known_kernel), made)
        if known_kernel is not None and history is not None:
            raise InvalidInput("known_kernel and history both say how candidates go together; give one of them")
        known = None if history is None else past(made, history)
        times: tuple[TimeKernel, ...] = tuple(Forgetting(e) for e in EPSILONS)
        times += tuple(MaternInTime(2.5, s) for s in SCALES) if smooth else ()
        kernels = (known_kernel,) if known_kernel is not None else default_kernels(made)
        noises: tuple[float, ...] = NOISES
        if known:
            kernels = known.about_means, known.about_level
            times, noises = known.pace((*times, *map(Forgetting, (0.3, 0.6))), NOISES)
        learned = known_kernel is None and known is None
        width = (WIDTH if learned else 1.0) if width is None else width
        units = (known.level, known.scale) if known else None
        flags = (known_kernel is not None, changes, cycles, moving_level, ard and learned)
        return cls(made, kernels, times, noises, *flags, width, window, max_step, units)

    @cached_property
    def table(self) -> Hypotheses:
        parts = _parts(self.space) if self.ard else ()
        strength = CERTAIN if self.kernel_is_known else STRENGTH
        flags = (self.changes, self.cycles, self.moving_level)
        return Hypotheses(self.kernels, self.times, self.noises, parts, self.space.dim, *flags, strength)

    @property
    def span(self) -> int:
        """How many of the last observations are remembered: SPAN, fewer if there are many coordinates."""
        return limits.rows(self.space.dim, most=SPAN, least=self.window)

    @property
    def memory(self) -> int:
        return self.span + BLOCK + LAG

    @property
    def weighs_noise(self) -> bool:
        return True

    def start(self) -> AutoState:
        frame = Frame(tuple(_sides(self.space).tolist()), standardise=not self.kernel_is_known, past=self.past)
        nothing = Memory.nothing(frame, most=self.window, span=self.span)
        search = Search(self.table, nothing)
        return AutoState(nothing, search, search, None)

    def choose(self, state: AutoState, ask: Ask) -> Array:
        first = self._designed(ask)
        if first is not None:
            return self.space.argmax(Nearness(first), ask)
        score = Acquisition(self.belief(state, ask).imagine(ask.pending), self.width, _known(state, ask))
        if self.max_step is not None and len(state.memory.all):
            return nearby(score, self.space, state.memory.all.X[-1], self.max_step, ask)
        return self.space.argmax(AnyOfEquals(score, ask) if self._in_no_order else score, ask)

    def _designed(self, ask: Ask) -> Array | None:
        """The setting of the first design, if the ask is one of the first and nothing better is known: (d,).

        At first all experts are least certain in the corners of a box, of which SEVERAL dimensions have more than
        one can look at, and where little is learned about one coordinate at a time.
        """
        box, informed = self.space, self.kernel_is_known or self.past is not None or self.max_step is not None
        if informed or not isinstance(box, Box) or box.points is not None or box.dim < SEVERAL:
            return None
        n, asked = len(box.parameters) + 2, ask.number - 1 + len(ask.pending)
        design = latin_hypercube(n, box.dim, generator(ask.seed, 0, Stream.DESIGN)) if asked < n else None
        return None if design is None else box.spread(design)[asked]

    @cached_property
    def _in_no_order(self) -> bool:
        return in_no_order(self.space.points)

    def update(self, state: AutoState, seen: Observation) -> AutoState:
        memory, before = state.memory.observe(seen), state.memory.all.numbers
        few = len(before) < FEW
        begins = few or seen.number // BLOCK != int(before[-1]) // BLOCK
        following = Search(self.table, memory) if begins else state.following
        ends = few or (seen.number - LAG) // BLOCK != (int(before[-1]) - LAG) // BLOCK
        return AutoState(memory, following if ends else state.search, following, None if ends else state)

    def belief(self, state: AutoState, ask: Ask) -> Mixture:
        followed = state.followed
        return Mixture(*followed.leading, ask.at, jitter=followed.jitter)

    def diagnose(self, state: AutoState, ask: Ask) -> Diagnosis:
        """How the world moves, which observations are in use, and which parameters matter."""
        return diagnose(self.belief(state, ask), self.space)

    def motion(self, state: AutoState, ask: Ask) -> Motion:
        """The part of the diagnosis that costs little: how fast the world moves, and when it changed."""
        return motion(self.belief(state, ask))

    def just_changed(self, state: AutoState, ask: Ask) -> bool:
        """Whether there probably was an abrupt change a moment ago."""
        return alarmed(self.belief(state, ask)) is not None

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.memory


def _known(state: AutoState, ask: Ask) -> Array:
    """The last KNOWN settings that were read, as far as the ask allows them, in its context: (k, d)."""
    X = with_fixed(ask, state.memory.all.X[-KNOWN:])
    X = X[may(ask, X)]
    return np.unique(X, axis=0)


def default_kernels(space: Space) -> tuple[Kernel, ...]:
    """Matérn-5/2 and RBF, with length scales relative to the extent of the space, each plus a constant level.

    Near its maximum a smooth function looks like a rough one of a longer length scale, whose standard deviation
    elsewhere would be too small; so there are both.
    """
    sides = stretched(space)
    made: list[Kernel] = [Matern(2.5, tuple((ell * sides).tolist())) for ell in MATERN]
    made += [RBF(tuple((ell * sides).tolist())) for ell in SMOOTH]
    made += [Matern(0.5, tuple((ell * sides).tolist())) for ell in ROUGH]
    return tuple(Sum(kernel, Level(LEVEL)) for kernel in made)


def latin_hypercube(n: int, d: int, rng: np.random.Generator) -> Array:
    """n points of the unit cube at random, one in each nth part of every coordinate: (n, d)."""
    parts = rng.permuted(np.tile(np.arange(n), (d, 1)), axis=1).T
    return (parts + rng.random((n, d))) / n


def _parts(space: Space) -> tuple[Part, ...]:
    """The coordinates of each parameter that may have a length scale of its own; of candidates, each coordinate."""
    starts = list(range(space.dim))
    if isinstance(space, Box):
        starts = [s.start for s in space.slices]
    elif isinstance(space, Joint):
        n = space.settings.dim
        starts = [*range(n), *(n + s.start for s in space.context.slices)]
    parts = tuple(tuple(range(*ends)) for ends in pairwise((*starts, space.dim)))
    return parts if len(parts) > 1 and space.dim <= COORDINATES else ()  # in one dimension the bank has enough


def stretched(space: Space) -> Array:
    """What length scales are relative to: the extent along each coordinate, times √(d/2) above d = 2. (d,)"""
    return math.sqrt(max(_breadth(space), 2) / 2) * _sides(space)


def _breadth(space: Space) -> float:
    """Its effective dimension: each coordinate counts with its variance relative to a uniform one's, at most 1.

    Two values of a Choice of a hundred are no further apart than two of a Choice of ten.
    """
    if isinstance(space, Joint):
        return _breadth(space.settings) + _breadth(space.context)
    if isinstance(space, Box) and space.points is None:
        sizes = (p.size if isinstance(p, Choice) else 1 for _, p in space.parameters)
        return float(sum(1 if n == 1 else min(12 * (1 - 1 / n), n) for n in sizes))
    return breadth(np.asarray(space.points))


def _sides(space: Space) -> Array:
    """The extent of the space along each coordinate: 1 in the unit cube, as they come on candidates. (d,)"""
    if isinstance(space, Joint):
        return np.concatenate([_sides(space.settings), np.ones(space.context.dim)])
    return np.ones(space.dim) if space.points is None else sides(space.points)
