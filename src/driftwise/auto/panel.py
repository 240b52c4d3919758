"""The forecasts that many experts make of one window, as a table: what a search compares.

What experts have in common is computed once: kernels, and factors up to the date from which on two experts differ. If
[[L₁, 0], [L₂, L₃]] is the factor of A, an expert whose noise or level is another from a date on has the same L₁ and L₂,
and from there on the factor of L₃L₃ᵀ plus what is new.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.bank import SHIFT, Bank, correlations, in_time, noises_of
from driftwise.auto.data import Observations
from driftwise.auto.experts import Expert, Shape
from driftwise.auto.forecasts import OUTLIER_PROBABILITY, OUTLIER_SD, Forecast, gammas, student
from driftwise.auto.pieces import Pieces
from driftwise.gp.linalg import cholesky, solve_lower, whitened
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

CLOSE = 6.0  # nats behind the best: further back, no outlier makes a difference
Times = Mapping[TimeKernel, Array]  # k_T of all pairs
Places = NDArray[np.intp]
Noises = tuple[float, tuple[tuple[int, float], ...]]


@dataclass(frozen=True, eq=False)
class ForecastPanel:
    """Experts, and the log density of each observation given those before: (E, n), −∞ before an expert's first."""

    experts: tuple[Expert, ...]
    log_predictive: Array
    gain: float = 0.0  # nats that one of them gained by ignoring outliers, at most

    @cached_property
    def log_likelihoods(self) -> Array:
        """log p(y_1 … y_n), by the chain rule: (E,)."""
        return np.where(np.isneginf(self.log_predictive), 0.0, self.log_predictive).sum(axis=1)

    def followed_by(self, later: ForecastPanel) -> ForecastPanel:
        log_predictive = np.vstack([self.log_predictive, later.log_predictive])
        return ForecastPanel(self.experts + later.experts, log_predictive, max(self.gain, later.gain))

    def best_since(self) -> Array:
        """The largest log likelihood of the observations from each one on: (n,)."""
        return np.cumsum(self.log_predictive[:, ::-1], axis=1)[:, ::-1].max(axis=0, initial=-np.inf)


def nobody(n: int) -> ForecastPanel:
    """No expert, of a window of n."""
    return ForecastPanel((), np.zeros((0, n)))


def _cost(n: int) -> float:
    """About that of an expert with n observations: the factor, the matrix, and what does not depend on n."""
    return float(n**3 + 30 * n**2 + 2_500_000)


def panel_of(forecasts: Sequence[Forecast], n: int) -> ForecastPanel:
    """Forecasts that were made one by one, of a window of n."""
    found = np.full((len(forecasts), n), -np.inf)
    for row, each in zip(found, forecasts, strict=True):
        row[each.first :] = each.log_predictive
    return ForecastPanel(tuple(each.expert for each in forecasts), found)


@dataclass(frozen=True, eq=False)
class Branch:
    """What experts have in common that differ from `base` from one date on."""

    base: Expert
    date: int
    pivots: Array  # L₁'s diagonal
    z: Array  # z₁
    A: Array  # L₃L₃ᵀ
    rest: Array  # L₃z₃

    @classmethod
    def of(cls, e: Expert, data: Observations, L: Array, z: Array) -> Branch:
        """That of `e`, if L and z are those of its base."""
        p = max(data.place(e.last_change) - data.place(e.since), 0)
        L3 = np.tril(L[p:, p:])
        return cls(e.unchanged, e.last_change, np.diagonal(L)[:p], z[:p], L3 @ L3.T, L3 @ z[p:])

    def bears(self, e: Expert) -> bool:
        return e.last_change == self.date and e.unchanged == self.base


@dataclass(frozen=True, eq=False)
class Forecaster:
    """A bank on one window."""

    bank: Bank
    data: Observations
    _in_space: dict[Shape, Array] = field(default_factory=dict)  # K_S of all pairs, needed again and again
    _known_targets: dict[int, Array] = field(default_factory=dict)  # of each kernel
    _known_noises: dict[Noises, Array] = field(default_factory=dict)  # of each noise, and those before it

    def panel(self, experts: Sequence[Expert], rivals: ForecastPanel) -> Pieces[ForecastPanel]:
        """The forecasts of each, searched for outliers wherever that could make it win against its `rivals`.

        It could if it gained twice what others gained, and a little more. The likeliest are looked at first.
        """
        n, first = len(self.data), self._places([e.since for e in experts])
        times, unseen = dict(in_time(experts, self.data.clock, self.data.clock)), np.arange(n) < first[:, None]
        if self.data.known_noise is None:
            regular, outlying = yield from self._densities(experts, first, times)
            found = np.where(unseen, -np.inf, np.logaddexp(regular, outlying))
            suspect = ((outlying > regular) & (np.arange(n) > first[:, None])).any(axis=1)
        else:
            found, suspect = np.where(unseen, -np.inf, 0.0), np.ones(len(experts), dtype=bool)
        made = ForecastPanel(tuple(experts), found)
        best, gain, likelihoods = rivals.followed_by(made).best_since(), rivals.gain, made.log_likelihoods
        rows = np.flatnonzero(suspect)
        for row in rows[np.argsort(best[first[rows]] - likelihoods[rows], kind="stable")].tolist():
            e, f, before = experts[row], int(first[row]), likelihoods[row]
            if before + 2 * gain + CLOSE < best[f]:
                continue
            window = self.bank.window(e, self._correlations(e, times), self.data, slice(f, n))
            found[row, f:] = window.forecast().log_predictive
            after = float(found[row, f:].sum())
            gain, best[f] = max(gain, after - before), max(best[f], after)
            yield 2 * _cost(n - f)
        return ForecastPanel(tuple(experts), found, gain)

    def _densities(self, experts: Sequence[Expert], first: Places, times: Times) -> Pieces[tuple[Array, Array]]:
        """The log density of each observation and of its being regular, none ignored, and of its being an outlier."""
        n, strength = len(self.data), self.bank.prior_strength
        pivots, z = np.ones((len(experts), n)), np.zeros((len(experts), n))
        new = (n - self._places([e.last_change for e in experts])).tolist()  # observations since the last change
        for row, (its_pivots, its_z) in enumerate(self._factors(experts, new, times)):
            pivots[row, n - len(its_z) :], z[row, n - len(its_z) :] = its_pivots, its_z
            yield _cost(new[row])
        squares, before = z * z, np.maximum(np.arange(n) - first[:, None], 0)
        a, b = strength + 0.5 * before, strength + 0.5 * (np.cumsum(squares, axis=1) - squares)
        regular = student(squares, pivots, a, b, gammas(strength, n)[before])
        y = np.array([self._targets(e.kernel) for e in experts])
        outlying = -0.5 * (y / OUTLIER_SD) ** 2 - math.log(OUTLIER_SD)
        return math.log1p(-OUTLIER_PROBABILITY) + regular, math.log(OUTLIER_PROBABILITY) + outlying

    def _factors(self, experts: Sequence[Expert], new: Sequence[int], times: Times) -> Iterator[tuple[Array, Array]]:
        """L's diagonal, and z, of each; `new` is how many observations there are since its last change."""
        bases, branch = dict[Expert, tuple[Array, Array]](), None
        late = [2 * k < len(self.data) for k in new]  # else a branch takes as long as the whole
        shared = Counter(e.unchanged for e in experts) if any(late) else Counter()
        for e, is_late in zip(experts, late, strict=True):
            if not (is_late and shared[e.unchanged] > 1):
                L, z = self._factor(e, times)
                yield np.diagonal(L), z
                continue
            if branch is None or not branch.bears(e):
                if e.unchanged not in bases:
                    bases[e.unchanged] = self._factor(e.unchanged, times)
                branch = Branch.of(e, self.data, *bases[e.unchanged])
            yield self._changed(e, branch, times)

    def _factor(self, e: Expert, times: Times) -> tuple[Array, Array]:
        """L, with anything above its diagonal, and z."""
        f = self.data.place(e.since)
        A, y, noises = self._correlations(e, times), self._targets(e.kernel)[f:], self._noises(e)[f:]
        A.ravel()[:: len(A) + 1] += noises
        found = whitened(A, y)
        if found is None:  # too close to singular
            L, _ = cholesky(self._correlations(e, times), noises)
            found = L, solve_lower(L, y)
        return found

    def _changed(self, e: Expert, branch: Branch, times: Times) -> tuple[Array, Array]:
        """L's diagonal, and z, of an expert on a branch."""
        A = branch.A + SHIFT if e.shifts != branch.base.shifts else branch.A.copy()
        new = self._noises(e) - self._noises(branch.base)
        A.ravel()[:: len(A) + 1] += new[len(new) - len(A) :]
        found = whitened(A, branch.rest)
        if found is None:
            L, z = self._factor(e, times)
            return np.diagonal(L), z
        return np.append(branch.pivots, np.diagonal(found[0])), np.append(branch.z, found[1])

    def _correlations(self, e: Expert, times: Times) -> Array:
        if e.shape not in self._in_space:
            self._in_space[e.shape] = self.bank.kernel(e.shape)(self.data.X, self.data.X)
        return correlations(e, self._in_space[e.shape], times, self.data)

    def _targets(self, kernel: int) -> Array:
        if kernel not in self._known_targets:
            self._known_targets[kernel] = self.bank.targets(kernel, self.data)
        return self._known_targets[kernel]

    def _noises(self, e: Expert) -> Array:
        key = e.noise, e.earlier
        if key not in self._known_noises:
            self._known_noises[key] = noises_of(e, self.data)
        return self._known_noises[key]

    def _places(self, numbers: Sequence[int]) -> Places:
        """The index of the first observation from each of these numbers on."""
        return np.searchsorted(self.data.numbers, numbers)
