"""A bank of experts on one window of observations, each weighted by how well it predicted.

An expert is a Gaussian process over space and time on standardised rewards: a kernel of space, a kernel of time, a
noise variance λ and, where it is a restart, the first observation it believes in. With A = K_S∘K_T + λI and A = LLᵀ
in the order of the log, z = L⁻¹y has the expert's forecasts in it, made one step ahead (the chain rule):

    log p(y_i | y_1 … y_{i−1}) = −½ z_i² − log L_ii − ½ log 2π

Weights follow by fixed share (Herbster & Warmuth 1998), w ← (1 − s)·w∘p/Σ(w∘p) + s·prior: nobody dies for ever. All
is a function of the window alone, so that it costs the same for ever and a replay gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from driftwise.kernels import Kernel
from driftwise.linalg import cholesky, invert_lower, solve_lower
from driftwise.records import Array
from driftwise.seen import Seen
from driftwise.time_kernels import TimeKernel

SHARE = 0.01  # of the weight goes back to the prior at each observation
HAZARD = 0.001  # how likely an abrupt change is, an observation
DOUBT = 0.01  # how likely an observation is to be an outlier, which says nothing about an expert
FAR = 5.0  # the standard deviation of outliers, in units of standardised rewards


@dataclass(frozen=True)
class Expert:
    """What one expert believes; `kernel` is a place in the bank's list, `since` the first number it believes in."""

    kernel: int
    time: TimeKernel
    noise: float
    since: int = 0


@dataclass(frozen=True, eq=False)
class Fit:
    """An expert on a window: its forecasts, and the precision A⁻¹ from which it predicts, of the last n − first."""

    expert: Expert
    first: int  # the place in the window where its memory begins
    L: Array = field(repr=False)  # (n − first, n − first)
    targets: Array = field(repr=False)  # (n − first,)
    jitter: float = 0.0

    @property
    def one_ahead(self) -> Array:
        """log p(y_i | those before) + ½ log 2π = −½ z_i² − log L_ii: (n − first,)."""
        z = solve_lower(self.L, self.targets)
        return -0.5 * z * z - np.log(np.diagonal(self.L))

    @cached_property
    def forecasts(self) -> Array:
        """The same where an observation may be an outlier, N(0, FAR²), with probability DOUBT: (n − first,)."""
        outlying = -0.5 * (self.targets / FAR) ** 2 - math.log(FAR)
        return np.logaddexp(math.log1p(-DOUBT) + self.one_ahead, math.log(DOUBT) + outlying)

    @cached_property
    def precision(self) -> Array:
        """A⁻¹."""
        if not len(self.L):
            return self.L
        W = invert_lower(self.L)
        return W.T @ W

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y."""
        return self.precision @ self.targets


def fit(expert: Expert, first: int, K: Array, targets: Array) -> Fit:
    """`expert` on the observations from `first` on, whose covariance without noise is K."""
    L, jitter = cholesky(K, expert.noise)
    return Fit(expert, first, L, targets, jitter)


def shared(forecasts: Array, prior: Array, start: Array, births: Array, *, hazard: float) -> Array:
    """The weights after all the forecasts, (E, n), from the weights `start` before them: (E,).

    w ← (1 − s)·w∘p/Σ(w∘p) + s·prior. `births`, (E,), says where in the window a restart comes into being: there it
    gets its part of `hazard`, taken from all; −1 for those that are in `start`.

    >>> p = np.log([[0.8, 0.8], [0.2, 0.2]])
    >>> half = np.array([0.5, 0.5])
    >>> shared(p[:, :1], half, half, np.array([-1, -1]), hazard=0.0).round(3).tolist()
    [0.797, 0.203]
    """
    p = np.exp(forecasts - forecasts.max(axis=0, initial=-np.inf))
    w, given = start / start.sum(), SHARE * prior / prior.sum()
    born: dict[int, Array] = {int(i): births == i for i in np.unique(births) if i >= 0}
    for i in range(p.shape[1]):
        if i in born:
            w = np.where(born[i], hazard / born[i].sum(), (1 - hazard) * w)
        w = w * p[:, i]
        w = ((1 - SHARE) / w.sum()) * w + given
    return w / w.sum()


@dataclass(frozen=True)
class Bank:
    """The experts there are: all kernels × times × noises, and restarts of the best of them.

    `most` experts stay in use between two surveys, fewer where the others have less than `least` of the best's weight.
    """

    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    restarts: bool = True
    most: int = 8
    least: float = 0.05

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        each = range(len(self.kernels))
        return tuple(Expert(k, time, noise) for k in each for time in self.times for noise in self.noises)

    def fits(self, experts: Sequence[Expert], seen: Seen) -> list[Fit]:
        """The experts on a window; what they have in common is computed once."""
        K = {k: self.kernels[k](seen.X, seen.X) for k in {e.kernel for e in experts}}
        T = {t: t(seen.clock, seen.clock) for t in {e.time for e in experts}}
        made = []
        for e in experts:
            f = seen.place(e.since)
            made.append(fit(e, f, K[e.kernel][f:, f:] * T[e.time][f:, f:], seen.targets[f:]))
        return made


@dataclass(frozen=True, eq=False)
class Survey:
    """The whole bank on one window: which experts are worth following until the next survey, and their weights."""

    bank: Bank
    seen: Seen

    @cached_property
    def weighted(self) -> tuple[tuple[Expert, ...], Array]:
        """Every expert, restarts included, and their weights now."""
        bank, n = self.bank, len(self.seen)
        base = bank.experts
        fits = bank.fits(base, self.seen)
        forecasts = np.array([f.forecasts for f in fits]).reshape(len(base), n)
        prior, never = np.full(len(base), 1 / len(base)), np.full(len(base), -1)
        w = shared(forecasts, prior, prior, never, hazard=0.0)
        again = self._restarts(base, w)
        if not again:
            return base, w
        young = bank.fits(again, self.seen)
        rows = np.zeros((len(again), n))
        for row, each in zip(rows, young, strict=True):
            row[each.first :] = each.forecasts
            row[: each.first] = -np.inf  # it was not there
        births = np.concatenate([never, [f.first for f in young]])
        padded = np.concatenate([prior, np.zeros(len(again))])
        ages = len({f.first for f in young})
        hazard = min(HAZARD * n / ages, 0.5)
        return base + again, shared(np.vstack([forecasts, rows]), padded, padded, births, hazard=hazard)

    @cached_property
    def live(self) -> tuple[tuple[Expert, ...], Array]:
        """The heaviest experts and their weights, which add up to 1."""
        experts, w = self.weighted
        order = np.argsort(-w, kind="stable")[: self.bank.most]
        kept = order[w[order] >= self.bank.least * w[order[0]]]
        return tuple(experts[i] for i in kept), w[kept] / w[kept].sum()

    def _restarts(self, base: tuple[Expert, ...], w: Array) -> tuple[Expert, ...]:
        """Restarts of the best pairs of kernel and noise, standing still or nearly so, at a few ages."""
        if not self.bank.restarts or len(self.seen) < 2 * GAP:
            return ()
        pairs: dict[tuple[int, float], float] = {}
        for e, weight in zip(base, w, strict=True):
            pairs[e.kernel, e.noise] = pairs.get((e.kernel, e.noise), 0.0) + float(weight)
        best = sorted(pairs, key=lambda pair: -pairs[pair])[:PAIRS]
        return tuple(
            Expert(kernel, time, noise, since)
            for kernel, noise in best
            for time in self.bank.times[:2]
            for since in births(self.seen)
        )


GAP = 4  # numbers between two births of restarts
AGES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160)
PAIRS = 2


def births(seen: Seen) -> list[int]:
    """The numbers at which restarts are considered: multiples of GAP, at AGES, that begin inside the window."""
    now = int(seen.numbers[-1]) // GAP * GAP
    first = int(seen.numbers[0])
    return [now - age for age in AGES if now - age > first + GAP]
