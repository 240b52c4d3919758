"""The bank of all experts of a study, and what each makes of a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.experts import Expert, MovingLevel, Shape
from driftwise.auto.forecasts import Fit, FittedWindow
from driftwise.gp.kernels import Kernel, Stretched
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

PRIOR_STRENGTH = 5.0  # of the prior of the signal's variance, worth 2·PRIOR_STRENGTH observations
SHIFT = 9.0  # variance of a sudden change of the level, relative to the signal's
WHOLE = 4096.0  # gaps up to which kernels of time are tabulated if all gaps are whole numbers
Part = tuple[int, ...]  # the coordinates of one parameter


@dataclass(frozen=True)
class Bank:
    """All experts of a study: kernels × times × noises. `search.py` adds those that the window itself suggests.

    `most` experts are followed between two searches, fewer if the others have less than `least` of the best's weight.
    """

    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    changes: bool = True  # what a search looks for
    cycles: bool = True
    levels: bool = True
    parts: tuple[Part, ...] = ()  # parameters that may have length scales of their own
    prior_strength: float = PRIOR_STRENGTH
    most: int = 8
    least: float = 0.05

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        return self.families_of(self.times, self.shapes)

    def families_of(
        self,
        times: Iterable[TimeKernel],
        shapes: Iterable[Shape],
        noises: Iterable[float] | None = None,
        level: MovingLevel | None = None,
    ) -> tuple[Expert, ...]:
        """One expert for each kernel of time in every family of these shapes and `noises`, else the bank's noises."""
        each = product(shapes, times, self.noises if noises is None else noises)
        return tuple(Expert(k, time, noise, level=level, stretch=stretch) for (k, stretch), time, noise in each)

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of all parts."""
        return sum(map(len, self.parts))

    @property
    def shapes(self) -> list[Shape]:
        """The kernels with their own length scales."""
        return [(k, ()) for k in range(len(self.kernels))]

    def kernel(self, shape: Shape) -> Kernel:
        k, stretch = shape
        return Stretched(self.kernels[k], stretch) if stretch else self.kernels[k]

    def mean(self, kernel: int, X: Array) -> Array | None:
        """What the function of a kernel is before anything is seen, (m,); None: 0, as for most kernels."""
        known = getattr(self.kernels[kernel], "mean", None)
        return None if known is None else known(X)

    def targets(self, kernel: int, data: Observations) -> Array:
        """The targets of a window less that mean: (n,)."""
        mean = self.mean(kernel, data.X)
        return data.targets if mean is None else data.targets - mean

    def fits(self, experts: Sequence[Expert], data: Observations) -> list[Fit]:
        return [window.fit() for window in self._windows(experts, data)]

    def _windows(self, experts: Sequence[Expert], data: Observations) -> Iterator[FittedWindow]:
        for e, A in zip(experts, self._correlations(experts, data), strict=True):
            yield self.window(e, A, data, slice(data.place(e.since), len(data)))

    def window(self, expert: Expert, A: Array, data: Observations, used: slice) -> FittedWindow:
        """`expert` on the observations `used` of `data`, whose correlations are A."""
        noises, known = noises_of(expert, data)[used], data.known_noise
        ours = None if known is None else known[used]
        return FittedWindow(
            expert, used.start, A, self.targets(expert.kernel, data)[used], noises, ours, self.prior_strength
        )

    def extended(self, fits: Sequence[Fit], data: Observations, *, known: int, imagined: bool = False) -> list[Fit]:
        """The fits after further observations, perhaps `imagined`: they are fits to the first `known` of `data`."""
        rows = self._correlations([f.expert for f in fits], data, known)
        return [
            f.extended(
                A,
                self.targets(f.expert.kernel, data)[f.first :],
                noises_of(f.expert, data)[known:],
                imagined=imagined,
            )
            for f, A in zip(fits, rows, strict=True)
        ]

    def _correlations(self, experts: Sequence[Expert], data: Observations, new: int = 0) -> Iterator[Array]:
        """Those of what each expert uses: rows from index `new` on, columns all. Parts are computed once."""
        K = {shape: self.kernel(shape)(data.X[new:], data.X) for shape in {e.shape for e in experts}}
        T = dict(in_time(experts, data.clock[new:], data.clock))
        for e in experts:
            yield correlations(e, K[e.shape], T, data, new)

    def level_covariance(self, expert: Expert, data: Observations, now: float) -> tuple[Array, float]:
        """Of the level at the clock `now` with that of each observation, and with itself: (n,) and a number."""
        clock, level = data.clock, expert.level
        covariance = level.variance * level.time(np.array([now]), clock)[0] if level else np.zeros(len(clock))
        variance = level.variance if level else 0.0
        for place in map(data.place, expert.shifts):
            if place < len(clock) and clock[place] <= now:
                covariance[place:] += SHIFT
                variance += SHIFT
        return covariance, variance


def noises_of(expert: Expert, data: Observations) -> Array:
    """The expert's noise ratio of each observation, for the mean of r readings a rth of it: (n,)."""
    noises = expert.noises(data.numbers)
    if data.own is None:
        return noises
    return np.where(data.own[:, 1] > 0, noises * data.own[:, 1], noises)


def correlations(expert: Expert, K: Array, T: Mapping[TimeKernel, Array], data: Observations, new: int = 0) -> Array:
    """K_S∘K_T + vK_h of what the expert uses, without noise: rows from index `new` on, columns all.

    After a shift of the level all observations have SHIFT in common.
    """
    f = data.place(expert.since)
    rows = slice(max(f - new, 0), None)
    A: Array = K[rows, f:] * T[expert.time][rows, f:]
    if expert.level:
        A += expert.level.variance * T[expert.level.time][rows, f:]
    for place in map(data.place, expert.shifts):
        A[max(place - max(f, new), 0) :, place - f :] += SHIFT
    return A


def in_time(experts: Iterable[Expert], now: Array, clock: Array) -> Iterator[tuple[TimeKernel, Array]]:
    """k_T of all pairs; if gaps are whole numbers, as those between steps are, each gap is computed once."""
    kernels = dict.fromkeys(time for e in experts for time in (e.time, *((e.level.time,) if e.level else ())))
    gaps = np.abs(now[:, None] - clock[None, :])
    longest = float(gaps.max(initial=0.0))
    whole = gaps.astype(np.int64) if longest < WHOLE else None
    if whole is None or not np.array_equal(whole, gaps):
        yield from ((kernel, kernel(now, clock)) for kernel in kernels)
        return
    ages = np.arange(longest + 1)
    yield from ((kernel, kernel(np.zeros(1), ages)[0].take(whole)) for kernel in kernels)
