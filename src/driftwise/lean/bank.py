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
from numpy.typing import NDArray
from scipy.special import chdtri, gammaln

from driftwise.auto.data import CHOICES, NEAR, PLACE
from driftwise.auto.horizon import SHORTEST, STABLE, break_even_width
from driftwise.gp.distances import squared_distance
from driftwise.gp.kernels import Kernel
from driftwise.lean.prior import Prior
from driftwise.records import Array

STRENGTH = 5.0  # of the prior of the signal's variance, worth twice as many observations
CAUTION = 0.1  # probability that the true standard deviation is above the one assumed

Flags = NDArray[np.bool_]


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
    def rates(self) -> Array:
        """r of each drift: k_T(τ) = e^{−rτ}, and with a slope (1 + rτ)e^{−rτ}. (D,)"""
        still = (*self.forgetting, *(0.0,) * (len(self.levels) + self.restarts))
        rates = [-0.5 * math.log1p(-epsilon) for epsilon in still]
        return np.array(rates + [math.sqrt(3) / scale for scale in self.trends])

    @cached_property
    def level(self) -> tuple[Array, Array]:
        """v and r of the level of each drift, v k_L(τ) = v(1 + rτ)e^{−rτ}: (D,) both, v = 0 without one."""
        made, first = np.zeros((2, len(self.rates))), len(self.forgetting)
        for d, (scale, variance) in enumerate(self.levels, first):
            made[:, d] = variance, math.sqrt(3) / scale
        return made[0], made[1]

    @cached_property
    def sloped(self) -> Array:
        """1 for drifts with a slope, 0 for others: (D,)."""
        return np.repeat([0.0, 1.0], [self.steady, len(self.trends)])

    @cached_property
    def kernel(self) -> Array:
        """k_s(x, x′) of all pairs of candidates: (S, n, n)."""
        return np.ascontiguousarray([kernel(self.points, self.points) for kernel in self.kernels])

    @cached_property
    def variance(self) -> Array:
        """k_s(x, x): (S, n)."""
        return np.einsum("snn->sn", self.kernel)

    @cached_property
    def noise(self) -> Array:
        """λ_s: (S, 1)."""
        return np.array(self.noises)[:, None]

    @cached_property
    def shares(self) -> Array:
        """The weights with which experts begin, and which they get back bit by bit: (S, D)."""
        return self.prior.shares(len(self.kernels), len(self.rates))

    @cached_property
    def expected(self) -> Array:
        """How much more than their location the rewards of each candidate are before anything is seen: (n,)."""
        return self.prior.expected(len(self.points))

    @cached_property
    def bonus(self) -> Array:
        """The width at which exploring just pays, as `auto` has it: (D,)."""
        ahead = np.arange(1.0, STABLE + 1)[:, None] * self.rates
        steps = np.maximum((np.exp(-ahead) * (1 + self.sloped * ahead)).sum(axis=0), SHORTEST)
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
        sides = np.ptp(self.points, axis=0)
        squares = squared_distance(self.points, self.points, tuple(np.where(sides > 0, sides, 1.0).tolist()))
        return np.asarray(squares <= part**2 * min(self.points.shape[1], CHOICES))

    @cached_property
    def quantiles(self) -> Array:
        """The CAUTION-quantiles of χ² for 0, 1, … places, to as many as there may be; one goes to the location."""
        places = np.arange(self.window + math.ceil(self.prior.strength) + 1.0)
        return np.asarray(chdtri(np.maximum(places - 1, 1.0), 1 - CAUTION))

    @cached_property
    def gammas(self) -> Array:
        """log Γ(a + ½)/Γ(a) for a = STRENGTH + i/2, i observations seen: (w + 1,)."""
        a = STRENGTH + 0.5 * np.arange(self.window + 1)
        return np.asarray(gammaln(a + 0.5) - gammaln(a))
