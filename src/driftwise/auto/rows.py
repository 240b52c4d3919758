"""The table of hypotheses: what a row assumes about the world, what it costs, and which rows are proposed.

Every prior is a number of nats by which a row begins behind one that assumes less. What a world does at some date (a
new function, another level) has a hazard: the probability that it happens at one observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from driftwise.gp.kernels import Kernel, Stretched
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, TimeKernel
from driftwise.records import Array

BEND = 1.6  # nats for each halving or doubling of one parameter's length scale
LEVEL = 1.6  # nats for a level that moves
CYCLE = 4.0  # nats for a period: it is one of many
HAZARD = 1e-3  # of a new function, and of another level
MOST_BENT = 4  # halvings or doublings of one length scale
STRENGTH = 5.0  # of the prior of a row's scale, worth twice as many readings
CERTAIN = 1e6  # of the same, if the kernel is known
STILL, DRIFTING = Forgetting(0.0), Forgetting(0.01)  # after a change
LEVELS: tuple[TimeKernel, ...] = (Forgetting(0.03), Forgetting(0.19), MaternInTime(2.5, 10.0), MaternInTime(2.5, 30.0))
VARIANCES = (0.3, 1.0, 3.0)  # of levels, relative to the function's
PERIODS = tuple(
    float(p) for p in (*range(4, 13), *range(14, 25, 2), *range(28, 49, 4), *range(56, 97, 8), 120, 144, 168)
)
Bends = tuple[int, ...]
Part = tuple[int, ...]  # the coordinates of one parameter
Family = tuple[int, float, Bends, "MovingLevel | None"]


@dataclass(frozen=True)
class MovingLevel:
    """What all settings have in common and moves: its variance relative to the function's, and how it moves."""

    variance: float
    time: TimeKernel


@dataclass(frozen=True)
class Row:
    """One hypothesis: `kernel` is an index in the table, `since` and `shift` are numbers of observations."""

    kernel: int
    time: TimeKernel
    noise: float  # variance relative to the function's
    bends: Bends = ()  # length scale × 2^bend, a bend for each parameter
    level: MovingLevel | None = None
    since: int = 0  # nothing before this observation counts
    shift: int = 0  # from this observation on the level is another one

    @cached_property
    def family(self) -> Family:
        """The rows that are the same but for how the function moves."""
        return self.kernel, self.noise, self.bends, self.level

    @property
    def date(self) -> int:
        """The number of the observation at which it begins or its level changes; 0 if neither."""
        return max(self.since, self.shift)

    @property
    def nats(self) -> float:
        """By how much it begins behind a row that assumes less."""
        cyclic = isinstance(self.time, Cyclic) or (self.level is not None and isinstance(self.level.time, Cyclic))
        return BEND * sum(map(abs, self.bends)) + LEVEL * (self.level is not None) + CYCLE * cyclic


@dataclass(frozen=True)
class Hypotheses:
    """The rows that are there from the start: kernels × times × noises; and what may be proposed beside them."""

    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    parts: tuple[Part, ...] = ()  # parameters that may have length scales of their own
    dim: int = 1
    changes: bool = True
    cycles: bool = True
    levels: bool = True
    strength: float = STRENGTH

    @cached_property
    def first(self) -> tuple[Row, ...]:
        """Every kernel, still, drifting and with a trend, with the middle noise."""
        noise, times = self.noises[len(self.noises) // 2], self.times[:: max(len(self.times) // 3, 1)]
        return tuple(Row(k, time, noise) for k, time in product(range(len(self.kernels)), times))

    def kernel(self, row: Row) -> Kernel:
        if not any(row.bends):
            return self.kernels[row.kernel]
        made = self._stretched.get((row.kernel, row.bends))
        if made is None:
            stretch = np.ones(self.dim)
            for part, bend in zip(self.parts, row.bends, strict=True):
                stretch[list(part)] = 2.0**bend
            made = Stretched(self.kernels[row.kernel], tuple(stretch.tolist()))
            self._stretched[row.kernel, row.bends] = made
        return made

    @cached_property
    def _stretched(self) -> dict[tuple[int, Bends], Kernel]:
        """Those that were used: to make one takes longer than to evaluate it."""
        return {}

    def mean(self, row: Row, X: Array) -> Array | None:
        """What its function is before anything is seen: (m,); None: 0, as of most kernels."""
        known = getattr(self.kernels[row.kernel], "mean", None)
        return None if known is None else known(X)

    # --- proposals ------------------------------------------------------------------------------------------------

    def edits(self, row: Row) -> list[Row]:
        """The rows that differ from this one in one part."""
        made = [replace(row, kernel=k) for k in range(len(self.kernels))]
        made += [replace(row, time=time) for time in self.times]
        made += [replace(row, noise=noise) for noise in _beside(row.noise, self.noises)]
        # what moves may be the level alone: the function then stands still
        times = dict.fromkeys((row.time, self.times[0]))
        made += [replace(row, level=level, time=time) for level in self._other_levels(row.level) for time in times]
        return [each for each in made + self._bent(row) if each != row]

    def _bent(self, row: Row) -> list[Row]:
        """Copies with the length scale of one parameter halved or doubled, but not all of them doubled."""
        now = row.bends or (0,) * len(self.parts)
        steps = [tuple(b + step * (j == i) for j, b in enumerate(now)) for i in range(len(now)) for step in (-1, 1)]
        allowed = (each for each in steps if min(each) <= 0 and max(map(abs, each)) <= MOST_BENT)
        return [replace(row, bends=each if any(each) else ()) for each in allowed]

    def _other_levels(self, level: MovingLevel | None) -> list[MovingLevel | None]:
        if not self.levels:
            return []
        if level is None:
            return [MovingLevel(v, time) for v in VARIANCES[1:] for time in LEVELS]
        others: list[MovingLevel | None] = [None, *(replace(level, time=time) for time in LEVELS)]
        return others + [replace(level, variance=v) for v in _beside(level.variance, VARIANCES)]

    def cyclic(self, row: Row, span: float) -> Iterator[Row]:
        """Copies whose function comes back after a period, of those that the readings span twice."""
        for period in PERIODS if self.cycles else ():
            if 2.0 * period <= span:
                yield replace(row, time=Cyclic(period, 1.0, 0.001))

    def dated(self, row: Row, number: int) -> list[Row]:
        """The copies for which something happened at this observation."""
        if not self.changes or row.date:
            return []
        shifted = [replace(row, shift=number)] if self.levels else []
        # a new function has a scale of its own, which is not known yet, and the noise is relative to it
        place = self.noises.index(row.noise)
        noises = self.noises[max(place - 2, 0) : place + 1]
        new = product((STILL, DRIFTING), noises)
        return [replace(row, time=time, noise=noise, since=number) for time, noise in new] + shifted


def _beside(value: float, ladder: Sequence[float]) -> list[float]:
    """The next smaller and the next larger of a ladder."""
    place = ladder.index(value)
    return [ladder[i] for i in (place - 1, place + 1) if 0 <= i < len(ladder)]
