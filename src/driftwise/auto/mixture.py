"""The belief of all rows together: a mixture of Gaussian processes on several scales, and of far readings.

For row e and warp w, with forgetting ρ_e = k_T(now, t_s), k_e = ρ_e∘k(x) and the row's scale s² = (1 + CAUTION/p) b/a
after readings at p places:

    μ_ew = k_eᵀA_e⁻¹t_w,    σ_ew² = s_ew² (k(x, x) − |W_e k_e|²),    f = value_w(μ_ew + σ_ew·Student's t)

and with probability π(x) the function is far instead.

A level that moves on its own is in all of these: how large it is beside the function is uncertain, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from driftwise.auto.data import Observations
from driftwise.auto.far import place_rate
from driftwise.auto.follow import covariances
from driftwise.auto.horizon import horizon
from driftwise.auto.rows import Row
from driftwise.auto.sheaf import Sheaf
from driftwise.auto.window import SHIFT, Readings, in_time
from driftwise.gp.kernels import Kernel
from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower, times_lower
from driftwise.gp.noise import LEAST
from driftwise.gp.slopes import weighted_gradient
from driftwise.records import Array, Point

BLOCK = 200_000  # entries of all k_e(X) computed at a time
MOST = 8  # rows that choose
# A few places at which rewards differ little do not show that they are alike elsewhere, however often they are read,
# and a policy reads where the function is flat: with p places the variance is 1 + CAUTION/p times the row's.
CAUTION = 4.0
NODES, PARTS = (-(3**0.5), 0.0, 3**0.5), (1 / 6, 2 / 3, 1 / 6)  # of Gauss and Hermite
BISECTIONS = 36  # of an interval of 120 in arsinh units: to 2e-9


@dataclass(frozen=True, eq=False)
class Predictors:
    """E rows at one time, on w warps, n readings and pending settings; 0 before a row's first reading."""

    kernels: tuple[Kernel, ...]
    which: NDArray[np.intp]  # the kernel of each row: (E,)
    weight: Array  # (E, w)
    alpha: Array  # A⁻¹t: (E, w, n)
    scale: Array  # s: (E, w)
    freedom: Array  # 2a: (E,)
    decay: Array  # ρ: (E, n)
    level: Array  # v k_h(now, t_s), the same
    level_variance: Array  # (E,)
    W: Array  # (E, n, n)
    horizon: Array  # H: (E,)

    def heaviest(self, count: int) -> Predictors:
        parts = {each.name: getattr(self, each.name)[:count] for each in fields(self) if each.name != "kernels"}
        return replace(self, **parts)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Rows at some settings X: μ (E, w, m), σ (E, w, m), v (E, m, n), σ without scale (E, m)."""

    predictors: Predictors
    mean: Array
    std: Array
    v: Array
    plain: Array

    @property
    def weight(self) -> Array:
        """(E, w, 1)."""
        return self.predictors.weight[:, :, None]


@dataclass(frozen=True, eq=False)
class Mixture:
    """The belief at time `now`. A `Belief`, in standardised rewards."""

    sheaf: Sheaf
    W: Array  # (R, n, n)
    weights: Array  # (R, w), heaviest rows first
    now: float
    pending: tuple[Point, ...] = ()
    exact: int = 0  # so many of the last pending settings are known exactly
    jitter: float = 0.0

    def __len__(self) -> int:
        return len(self.window)

    @property
    def window(self) -> Readings:
        return self.sheaf.window

    @property
    def data(self) -> Observations:
        return self.window.data

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.sheaf.rows

    @cached_property
    def shares(self) -> Array:
        """The weight of each row: (R,)."""
        return np.asarray(self.weights.sum(axis=1))

    def imagine(self, points: Sequence[Point]) -> Mixture:
        """As if the pending `points` had been answered now, at each row's mean: σ shrinks, μ stays."""
        return replace(self, pending=(*self.pending, *map(tuple, points)))

    def given(self, x: Array) -> Mixture:
        """As if the function were known to be each row's mean at x."""
        return replace(self.imagine([tuple(x.tolist())]), exact=self.exact + 1)

    def long_ago(self) -> Mixture:
        """The belief, now, about the time of the oldest reading, of the rows that use it."""
        rows = np.flatnonzero([not row.since for row in self.rows])
        if not len(self) or not len(rows):
            return self
        weights = self.weights[rows] / self.weights[rows].sum()
        then = float(self.data.at[0])
        return replace(self, sheaf=self.sheaf.only(rows), W=self.W[rows], weights=weights, now=then)

    @property
    def units(self) -> tuple[float, float]:
        return self.window.units.location, self.window.units.scale

    @property
    def observed(self) -> Array:
        return self.data.X

    @property
    def noise(self) -> float:
        """The noise variance of a reading, in standardised rewards, where the function is typical."""
        a, b = self.sheaf.scales
        noise = np.array([row.noise for row in self.rows])
        slopes = np.array([float(warp.value(np.array([0.0]))[1][0]) for warp in self.window.warps])
        return float((self.weights * noise[:, None] * b[:, :, -1] / a[:, None, -1] * slopes**2).sum())

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), averaged over the rows."""
        ratios = self.sheaf.pivots / self.sheaf.noises
        gains = [0.5 * float(np.log(ratios[i, f:]).sum()) for i, f in enumerate(self.sheaf.first.tolist())]
        return max(float(self.shares @ gains), 0.0)

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the function at the rows of X, its level included."""
        mean, std, _, _ = self._moments(X, slopes=False)
        return mean, std

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """The same and their gradients in x: (m,), (m,), (m, d), (m, d)."""
        return self._moments(X, slopes=True)

    def _moments(self, X: Array, *, slopes: bool) -> tuple[Array, Array, Array, Array]:
        m = len(X)
        first, second = np.empty(m), np.empty(m)
        dfirst, dsecond = np.zeros_like(X), np.zeros_like(X)
        for rows, seen in self.evaluated(X, 1.0):
            of_mean = [np.zeros_like(seen.mean) for _ in range(4)]
            total, squares = np.zeros(seen.mean.shape[2]), np.zeros(seen.mean.shape[2])
            freedom = seen.predictors.freedom[:, None, None]
            wide = np.sqrt(freedom / np.maximum(freedom - 2, 0.5))
            for node, part in zip(NODES, PARTS, strict=True):
                value, slope = self._value(seen.mean + node * wide * seen.std)
                weight = part * seen.weight
                total += (weight * value).sum(axis=(0, 1))
                squares += (weight * value * value).sum(axis=(0, 1))
                if slopes:
                    for k, each in enumerate((weight * slope, weight * 2 * value * slope)):
                        of_mean[2 * k] += each
                        of_mean[2 * k + 1] += node * wide * each
            first[rows], second[rows] = total, squares
            if slopes:
                dfirst[rows] = self.sloped(X[rows], seen, of_mean[0], of_mean[1])
                dsecond[rows] = self.sloped(X[rows], seen, of_mean[2], of_mean[3])
        return self._with_far(X, first, second, dfirst, dsecond)

    def _with_far(
        self, X: Array, first: Array, second: Array, dfirst: Array, dsecond: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Mean and deviation of the mixture with the far readings that are the function."""
        if self.far is not None:
            pi, dpi = place_rate(self.window, self.far[0], X)
            value = self.far[1]
            dfirst = (1 - pi)[:, None] * dfirst + (value - first)[:, None] * dpi
            dsecond = (1 - pi)[:, None] * dsecond + (value**2 - second)[:, None] * dpi
            first, second = first + pi * (value - first), second + pi * (value**2 - second)
        std = np.sqrt(np.maximum(second - first * first, 1e-24))
        return first, std, dfirst, (0.5 * dsecond - first[:, None] * dfirst) / std[:, None]

    def tails(self, X: Array, values: Array) -> tuple[Array, Array]:
        """The probabilities that the function is less, and more, than each value: (m,) both."""
        return self._tails_of(self._whole(X), X, values)

    def _whole(self, X: Array) -> list[tuple[slice, Evaluated]]:
        return list(self.evaluated(X, 1.0))

    def _tails_of(self, parts: list[tuple[slice, Evaluated]], X: Array, values: Array) -> tuple[Array, Array]:
        less, more = np.empty(len(X)), np.empty(len(X))
        for rows, seen in parts:
            t = np.array([warp.target(values[rows]) for warp in self.window.warps])  # (w, m)
            freedom = seen.predictors.freedom[:, None, None]
            with np.errstate(invalid="ignore"):
                z = np.clip((t[None] - seen.mean) / np.maximum(seen.std, 1e-12), -1e12, 1e12)
            less[rows] = (seen.weight * stdtr(freedom, z)).sum(axis=(0, 1))
            more[rows] = (seen.weight * stdtr(freedom, -z)).sum(axis=(0, 1))
        if self.far is not None:
            pi, _ = place_rate(self.window, self.far[0], X)
            far = np.average(self.sheaf.judged.scale.below(np.arcsinh(values)), axis=0, weights=self.shares)
            less, more = less + pi * (far - less), more + pi * (1 - far - more)
        return less, more

    def interval(self, X: Array, level: float) -> tuple[Array, Array]:
        """The ends of the interval that holds the function with this probability: (m,) both."""
        return self.quantile(X, 0.5 - 0.5 * level), self.quantile(X, 0.5 + 0.5 * level)

    def quantile(self, X: Array, probability: float) -> Array:
        """By bisection in arsinh units."""
        parts = self._whole(X)
        low, high = np.full(len(X), -60.0), np.full(len(X), 60.0)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            less, _ = self._tails_of(parts, X, np.sinh(middle))
            low, high = np.where(less < probability, middle, low), np.where(less < probability, high, middle)
        return np.sinh(0.5 * (low + high))

    # --- machinery ----------------------------------------------------------------------------------------------

    def _value(self, t: Array) -> tuple[Array, Array]:
        """Targets (E, w, m) as standardised rewards, and the slopes."""
        each = [warp.value(t[:, w]) for w, warp in enumerate(self.window.warps)]
        return np.stack([v for v, _ in each], axis=1), np.stack([s for _, s in each], axis=1)

    @cached_property
    def errors(self) -> Array:
        """The weight of the rows that call each reading far, and an error rather than the function: (n,)."""
        return np.asarray(self.shares @ (self.sheaf.labels * (self.sheaf.judged.share < 0.5)))

    @cached_property
    def far(self) -> tuple[Array, float] | None:
        """q of each reading, (n,), and the value of far readings; None if there are none.

        It is one that was read, no better than the best that is not far, and no worse than the worst that is no error.
        """
        judged = self.sheaf.judged
        share = self.shares @ judged.share
        if not share.sum() > 1e-3:
            return None
        _, location, _ = judged.scale.moments
        v, labels = self.window.units.standard(self.data.y), self.shares @ self.sheaf.labels
        value = float(np.sinh(np.clip(self.shares @ location, -60.0, 60.0)))
        return share, min(max(value, float(v[self.errors < 0.5].min())), float(v[labels < 0.5].max()))

    @cached_property
    def _with_pending(self) -> Observations:
        """The data, and the pending settings as if they had been answered now."""
        if not self.pending:
            return self.data
        p, (location, _) = len(self.pending), self.units
        numbers = np.arange(1, p + 1) + (self.data.numbers[-1] if len(self) else 0)
        X, at, y = np.array(self.pending), np.full(p, self.now), np.full(p, location)
        return self.data.followed_by(Observations(numbers, at, X, y, self.data.frame))

    @cached_property
    def predictors(self) -> Predictors:
        now, data, rows = self.data.clock_at(self.now), self._with_pending, self.rows
        n, window = len(self.data), replace(self.window, data=data)
        T, first = in_time(rows, np.array([now]), data.clock), self.sheaf.first
        alive = np.arange(len(data)) >= first[:, None]
        level, variance = np.zeros((len(rows), len(data))), np.zeros(len(rows))
        for i, row in enumerate(rows):
            if row.level is not None:
                level[i], variance[i] = row.level.variance * T[row.level.time][0], row.level.variance
            if row.shift and len(data):
                place = data.place(row.shift)
                if place < len(data) and data.clock[place] <= now:
                    level[i, place:] += SHIFT
                    variance[i] += SHIFT
        alpha = np.zeros((*self.weights.shape, len(data)))
        alpha[:, :, :n] = self.sheaf.z @ self.W
        newest = int(data.numbers[n - 1]) if n else 0
        ages = [newest - int(data.numbers[f]) if n > f else 0 for f in first.tolist()]
        keys = [(row.kernel, row.bends) for row in rows]
        kernels = {key: self.sheaf.table.kernel(row) for key, row in zip(keys, rows, strict=True)}
        a, b = self.sheaf.scales
        return Predictors(
            kernels=tuple(kernels.values()),
            which=np.array([list(kernels).index(key) for key in keys], dtype=np.intp),
            weight=self.weights,
            alpha=alpha,
            scale=np.sqrt(b[:, :, -1] / a[:, -1, None] * (1 + CAUTION / self.window.places)),
            freedom=2 * a[:, -1],
            decay=np.array([T[row.time][0] for row in rows]) * alive,
            level=level * alive,
            level_variance=variance,
            W=self._imagined(window) if self.pending else self.W,
            horizon=np.array([horizon(row, age) for row, age in zip(rows, ages, strict=True)]),
        )

    def _imagined(self, window: Readings) -> Array:
        """W with the pending settings: (R, n + p, n + p)."""
        n, W = len(self.data), np.zeros((len(self.rows), len(window), len(window)))
        A = covariances(self.sheaf.table, window, self.rows, n)
        for i, (row, old, new) in enumerate(zip(self.rows, self.W, A, strict=True)):
            V = new[:, :n] @ old.T
            noise = np.where(np.arange(len(new)) < len(new) - self.exact, row.noise, LEAST)
            C, _ = cholesky(new[:, n:] - V @ V.T, noise)
            W[i] = extend_inverse_lower(old, V, invert_lower(C))
        return W

    def _heaviest(self, least: float) -> Predictors:
        if least >= 1.0:
            return self.predictors
        enough = 1 + int(np.searchsorted(np.cumsum(self.shares), least - 1e-9))
        return self.predictors.heaviest(min(enough, MOST))

    def evaluated(self, X: Array, least: float) -> Iterator[tuple[slice, Evaluated]]:
        predictors, points = self._heaviest(least), self._with_pending.X
        size = max(BLOCK // (len(predictors.which) * max(len(points), 1)), 1)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            yield rows, self._at(X[rows], points, predictors)

    def _at(self, X: Array, points: Array, p: Predictors) -> Evaluated:
        used = np.unique(p.which)
        K, prior = np.zeros((len(p.kernels), len(X), len(points))), np.zeros((len(p.kernels), len(X)))
        for g in used.tolist():
            K[g], prior[g] = p.kernels[g](X, points), p.kernels[g].diagonal(X)
        k = K[p.which] * p.decay[:, None, :] + p.level[:, None, :]
        variances = prior[p.which] + p.level_variance[:, None]
        mean = p.alpha @ k.swapaxes(1, 2)
        for e, row in enumerate(self.rows[: len(k)]):
            known = self.sheaf.table.mean(row, X)
            if known is not None:
                mean[e] += known
        v = times_lower(k, p.W)
        left = variances - np.einsum("emn,emn->em", v, v)
        sigma = np.sqrt(np.clip(left, 0.0, variances))  # rounding can leave −1e−17
        return Evaluated(p, mean, p.scale[:, :, None] * sigma[:, None, :], v, sigma)

    def sloped(self, X: Array, seen: Evaluated, on_mean: Array, on_std: Array) -> Array:
        """Σ on_mean ∇μ + on_std ∇σ, with ∇μ = αᵀ∂k and ∇σ = s (½∂k(x, x) − (A⁻¹k)ᵀ∂k)/σ: (m, d)."""
        p, points = seen.predictors, np.vstack([self._with_pending.X, X])
        steep = (on_std * p.scale[:, :, None]).sum(axis=1) / np.maximum(seen.plain, 1e-12)  # (E, m)
        c = on_mean.swapaxes(1, 2) @ p.alpha - steep[:, :, None] * times_lower(seen.v, p.W, transposed=True)
        c *= p.decay[:, None, :]
        total = np.zeros_like(X)
        for g in np.unique(p.which).tolist():
            its = p.which == g
            whole = np.hstack([c[its].sum(axis=0), np.diag(steep[its].sum(axis=0))])
            total += weighted_gradient(p.kernels[g], X, points, whole)
        return total
