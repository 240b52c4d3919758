"""A bank of experts on one window of observations, each weighted by how well it predicted.

An expert is a Gaussian process over space and time on standardised rewards: a kernel of space, a kernel of time, a
noise ratio λ and, where it is a restart, the first observation it believes in. Its signal has variance s², which is
learned: 1/s² is gamma with shape a and rate b, both `sure` at first. With A = K_S∘K_T + λI = LLᵀ in the order of the
log, z = L⁻¹y has the expert's forecasts in it, made one step ahead (the chain rule): a = sure + (i − 1)/2 and
b = sure + ½(z_1² + … + z_{i−1}²) before the i-th, and

    p(y_i | y_1 … y_{i−1}) = Γ(a + ½)/Γ(a) (2πb)^−½ (1 + z_i²/2b)^−(a+½) / L_ii        (Student's t)

Weights follow by fixed share (Herbster & Warmuth 1998). Experts with the same kernel of space and the same noise are a
family. How the world moves may change at any time, so a part s of the weight is shared within the family at each
observation; what kind of function it is hardly ever does, so that a much smaller part r goes to other families: what
was learned of the lengthscale while exploring is not forgotten while staying at the top. All is a function of the
window alone, so that it costs the same for ever and a replay gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftwise.kernels import Kernel
from driftwise.linalg import cholesky, invert_lower, solve_lower
from driftwise.records import Array
from driftwise.seen import Memory, Seen
from driftwise.time_kernels import TimeKernel

SHARE = 0.01  # of the weight goes back to the prior within its family at each observation
RARE = 0.0005  # and so much to all families
HAZARD = 0.001  # how likely an abrupt change is, an observation
DOUBT = 0.01  # how likely an observation is to be an outlier, which says nothing about an expert
FAR = 5.0  # the standard deviation of outliers, in units of standardised rewards
SURE = 5.0  # twice as many observations are worth what is believed of the signal's variance beforehand
GAP = 4  # numbers between two births of restarts, after a survey
STEP = 8  # observations between two dates of restarts in a survey
YOUNG = (4, 8, 12, 16, 20, 24)  # observations after which there is one in any case
FAMILIES = 4  # of which there are restarts


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
    sure: float
    jitter: float = 0.0

    @cached_property
    def _variance(self) -> tuple[Array, Array, Array]:
        """z, and a and b of the signal's variance before each observation and after the last: (n,), (n + 1,) twice."""
        z = solve_lower(self.L, self.targets)
        a = self.sure + 0.5 * np.arange(len(z) + 1.0)
        return z, a, self.sure + 0.5 * np.concatenate([[0.0], np.cumsum(z * z)])

    @property
    def scale(self) -> float:
        """s, the standard deviation of the signal."""
        _, a, b = self._variance
        return float(np.sqrt(b[-1] / a[-1]))

    @property
    def one_ahead(self) -> Array:
        """log p(y_i | those before) + ½ log 2π: (n − first,)."""
        z, a, b = self._variance
        a, b = a[:-1], b[:-1]
        norm = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(b)
        return norm - (a + 0.5) * np.log1p(z * z / (2 * b)) - np.log(np.diagonal(self.L))

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


def fit(expert: Expert, first: int, K: Array, targets: Array, sure: float) -> Fit:
    """`expert` on the observations from `first` on, whose correlation without noise is K."""
    L, jitter = cholesky(K, expert.noise)
    return Fit(expert, first, L, targets, sure, jitter)


def shared(
    forecasts: Array, prior: Array, start: Array, births: Array, families: NDArray[np.int64], *, hazard: float
) -> Array:
    """The weights after all the forecasts, (E, n), from the weights `start` before them: (E,).

    w ← (1 − s − r)·v + s·V_F∘prior(e|F) + r·prior, v = w∘p/Σ(w∘p), V_F the weight of e's family. `births`, (E,), says
    where in the window a restart comes into being: there all restarts together get `hazard`, taken from all, each
    family's according to its weight; −1 for those that are in `start`.

    >>> p = np.log([[0.8, 0.8], [0.2, 0.2]])
    >>> half = np.array([0.5, 0.5])
    >>> shared(p[:, :1], half, half, np.array([-1, -1]), np.array([0, 0]), hazard=0.0).round(3).tolist()
    [0.797, 0.203]
    """

    def of_family(w: Array) -> Array:
        return np.bincount(families, w)[families].astype(float)

    p = np.exp(forecasts - forecasts.max(axis=0, initial=-np.inf))
    w, prior = start / start.sum(), prior / prior.sum()
    within = prior / np.maximum(of_family(prior), 1e-300)
    born: dict[int, Array] = {int(i): (births == i).astype(float) for i in np.unique(births) if i >= 0}
    for i in range(p.shape[1]):
        if i in born:
            parts = born[i] * of_family(w) / np.maximum(of_family(born[i]), 1.0)
            w = (1 - hazard) * w + hazard * parts / parts.sum()
        w = w * p[:, i]
        w = w / w.sum()
        w = (1 - SHARE - RARE) * w + SHARE * of_family(w) * within + RARE * prior
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
    sure: float = SURE
    most: int = 8
    least: float = 0.05

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        each = range(len(self.kernels))
        return tuple(Expert(k, time, noise) for k in each for time in self.times for noise in self.noises)

    def families(self, experts: Sequence[Expert]) -> NDArray[np.int64]:
        """To which family each belongs: (E,)."""
        return np.array([e.kernel * len(self.noises) + self.noises.index(e.noise) for e in experts], dtype=np.int64)

    def fits(self, experts: Sequence[Expert], seen: Seen) -> list[Fit]:
        """The experts on a window; what they have in common is computed once."""
        K = {k: self.kernels[k](seen.X, seen.X) for k in {e.kernel for e in experts}}
        T = {t: t(seen.clock, seen.clock) for t in {e.time for e in experts}}
        made = []
        for e in experts:
            f = seen.place(e.since)
            made.append(fit(e, f, K[e.kernel][f:, f:] * T[e.time][f:, f:], seen.targets[f:], self.sure))
        return made

    def weights(self, fits: Sequence[Fit], prior: Array, new: int, *, hazard: float) -> Array:
        """The weights of `fits` after what came from place `new` on, from those in `prior` before it.

        Those that have none there are restarts, born where their memory begins.
        """
        n = fits[0].first + len(fits[0].targets)
        forecasts = np.full((len(fits), n), -np.inf)
        for row, each in zip(forecasts, fits, strict=True):
            row[each.first :] = each.forecasts
        births = np.array([-1 if w > 0 else f.first - new for f, w in zip(fits, prior, strict=True)])
        families = self.families([f.expert for f in fits])
        return shared(forecasts[:, new:], prior, prior, births, families, hazard=hazard)


@dataclass(frozen=True, eq=False)
class Survey:
    """The whole bank on what is remembered: which experts to follow until the next survey, and their weights."""

    bank: Bank
    memory: Memory

    @property
    def seen(self) -> Seen:
        return self.memory.kept

    @cached_property
    def weighted(self) -> tuple[tuple[Expert, ...], Array]:
        """Every expert, restarts included, and their weights now."""
        base = self.bank.experts
        fits = self.bank.fits(base, self.seen)
        w = self.bank.weights(fits, np.ones(len(base)), 0, hazard=0.0)
        again = self._restarts(w)
        if not again:
            return base, w
        fits += self.bank.fits(again, self.seen)
        w = self._with_restarts(fits)
        again += self._around(again, w[len(base) :])
        fits += self.bank.fits(again[len(fits) - len(base) :], self.seen)
        return base + again, self._with_restarts(fits)

    def _with_restarts(self, fits: Sequence[Fit]) -> Array:
        """The weights of the bank's experts and of the restarts behind them; an abrupt change is as likely anywhere."""
        old = len(self.bank.experts)
        dates = len({f.first for f in fits[old:]})
        prior = np.concatenate([np.ones(old), np.zeros(len(fits) - old)])
        return self.bank.weights(fits, prior, 0, hazard=min(HAZARD * len(self.seen) / dates, 0.5))

    @cached_property
    def live(self) -> tuple[tuple[Expert, ...], Array]:
        """The heaviest experts and their weights, which add up to 1."""
        experts, w = self.weighted
        order = np.argsort(-w, kind="stable")[: self.bank.most]
        kept = order[w[order] >= self.bank.least * w[order[0]]]
        return tuple(experts[i] for i in kept), w[kept] / w[kept].sum()

    def _restarts(self, w: Array) -> tuple[Expert, ...]:
        """Restarts of the heaviest families, standing still, at dates all over the window."""
        n = len(self.seen)
        if not self.bank.restarts or n < 2 * GAP:
            return ()
        families = self.bank.families(self.bank.experts)
        heads = dict(zip(families.tolist(), self.bank.experts, strict=True))
        heaviest = np.argsort(-np.bincount(families, w), kind="stable")[:FAMILIES].tolist()
        places = sorted({*range(STEP, n, STEP), *(n - age for age in YOUNG if age < n)})
        return tuple(self._restart(heads[f], place) for f in heaviest for place in places)

    def _around(self, again: tuple[Expert, ...], w: Array) -> tuple[Expert, ...]:
        """The best restart, at dates around it."""
        best = again[int(np.argmax(w))]
        place = self.seen.place(best.since)
        dates = {e.since for e in again}
        places = range(max(place - STEP, 0) + 1, min(place + STEP, len(self.seen)))
        return tuple(e for e in (self._restart(best, p) for p in places) if e.since not in dates)

    def _restart(self, expert: Expert, place: int) -> Expert:
        return Expert(expert.kernel, self.bank.times[0], expert.noise, since=int(self.seen.numbers[place]))
