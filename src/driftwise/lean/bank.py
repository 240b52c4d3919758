"""The experts of `auto-lean`, and the tables that all keys share.

An expert is a Gaussian process with covariance k_s(x, x′)·k_T(t, t′) and noise λ_s, relative to the signal's variance:
a shape s (kernel and noise) and a kind of drift. The drifts are Markov chains: of one number (`Forgetting`), or of a
value and a slope (Matérn-3/2 in time). So the posterior at all candidates moves with time by a factor, or by a 2 × 2
matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtri

from driftwise.gp.distances import squared_distance
from driftwise.gp.kernels import Kernel
from driftwise.gp.window.experts import Experts, Flags
from driftwise.lean.extent import SHORTEST, STABLE, break_even_width, sides
from driftwise.lean.prior import Prior
from driftwise.records import Array

NEAR = 0.05  # times √d: radius within which a newer observation supersedes an older one
PLACE = 0.1  # times √d: radius within which observations count as made at one place
CHOICES = 100  # d up to which that grows: two values of a Choice are √2 apart however many coordinates it has
CAUTION = 0.1  # probability that the true standard deviation is above the one assumed


@dataclass(frozen=True, eq=False)
class LeanBank:
    """Shapes × drifts on n candidates: S·D experts on windows of w observations.

    Drifts are in this order: `forgetting`, one ε each; `levels`, which stand still but for a level that is the same for
    all candidates and moves; `restarts` that stand still and begin again; `trends`, one time scale each.
    """

    points: Array  # (n, d)
    kernels: tuple[Kernel, ...]  # one for each shape
    noises: tuple[float, ...]
    forgetting: tuple[float, ...]
    restarts: int
    trends: tuple[float, ...]
    window: int
    span: int  # how many of the last observations count at all
    prior: Prior
    levels: tuple[tuple[float, float], ...] = ()  # time scale and variance of the level

    @property
    def steady(self) -> int:
        """How many drifts have a value and no slope; the others come after them."""
        return len(self.forgetting) + len(self.levels) + self.restarts

    @property
    def renewed(self) -> slice:
        """The drifts that begin again."""
        return slice(len(self.forgetting) + len(self.levels), self.steady)

    @cached_property
    def experts(self) -> Experts:
        """The same for `driftwise.gp.window`: their kernels at all candidates, and how they forget."""
        still = (*self.forgetting, *(0.0,) * (len(self.levels) + self.restarts))
        rates = [-0.5 * math.log1p(-epsilon) for epsilon in still] + [math.sqrt(3) / scale for scale in self.trends]
        level, first = np.zeros((2, len(rates))), len(self.forgetting)
        for d, (scale, variance) in enumerate(self.levels, first):
            level[:, d] = variance, math.sqrt(3) / scale
        return Experts(
            kernel=np.ascontiguousarray([kernel(self.points, self.points) for kernel in self.kernels]),
            noise=np.array(self.noises)[:, None],
            rates=np.array(rates),
            steady=self.steady,
            level=level,
            window=self.window,
        )

    @cached_property
    def shares(self) -> Array:
        """The weights with which experts begin, and which they get back bit by bit: (S, D)."""
        return self.prior.shares(len(self.kernels), self.steady + len(self.trends))

    @cached_property
    def expected(self) -> Array:
        """How much more than their location the rewards of each candidate are before anything is seen: (n,)."""
        return self.prior.expected(len(self.points))

    @cached_property
    def bonus(self) -> Array:
        """The width at which exploring just pays: (D,)."""
        ahead = np.arange(1.0, STABLE + 1)[:, None] * self.experts.rates
        steps = np.maximum((np.exp(-ahead) * (1 + self.experts.sloped * ahead)).sum(axis=0), SHORTEST)
        steps[self.renewed] = SHORTEST  # a world that changed abruptly will change again
        return np.array([break_even_width(float(each)) for each in steps])

    @cached_property
    def near(self) -> Flags:
        """Whether a newer observation at one candidate supersedes an older one at the other: (n, n)."""
        return self._within(NEAR)

    @cached_property
    def same_place(self) -> Flags:
        """Whether two candidates count as one place: (n, n)."""
        return self._within(PLACE)

    def _within(self, part: float) -> Flags:
        squares = squared_distance(self.points, self.points, tuple(sides(self.points).tolist()))
        return np.asarray(squares <= part**2 * min(self.points.shape[1], CHOICES))

    @cached_property
    def quantiles(self) -> Array:
        """The CAUTION-quantiles of χ² for 0, 1, … places, to as many as there may be; one goes to the location."""
        places = np.arange(self.window + math.ceil(self.prior.strength) + 1.0)
        return np.asarray(chdtri(np.maximum(places - 1, 1.0), 1 - CAUTION))
