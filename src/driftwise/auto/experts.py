"""Experts: Gaussian processes over space and time, how well each predicted a window, and the bank of all of them.

An expert has a kernel of space, a kernel of time, a noise ratio λ and, if it is a restart, the first observation it
uses. With a moving level the function is f_t(x) + h(t); with a noise change λ is another before it. The variance s² of
its signal is learned: 1/s² is gamma with shape a and rate b, both `prior_strength` at first. With A = K_S∘K_T + vK_h +
diag(λ) = LLᵀ in the order of the log, z = L⁻¹y has the expert's one-step-ahead forecasts in it (the chain rule):
a = prior_strength + (i − 1)/2 and b = prior_strength + ½(z_1² + … + z_{i−1}²) before the i-th observation, and

    p(y_i | y_1 … y_{i−1}) = Γ(a + ½)/Γ(a) (2πb)^−½ (1 + z_i²/2b)^−(a+½) / L_ii        (Student's t)

An observation of known noise variance κ (`gp/noise.py`) has the noise ratio κ/s² in place of λ, with the s of a first
pass in which s = 1, and one that is the mean of r readings has λ/r. Noise of a known size says nothing about s: with
p = 1 − κ/(s²L_ii²), the part of the forecast variance that is not such noise, a grows by ½p² and b by
½p(z² − (1 − p)s²).

Everything is a function of the window alone, so that its cost is bounded and a replay gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftwise.auto.data import Observations
from driftwise.gp.kernels import Kernel, Stretched
from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower, solve_lower
from driftwise.gp.noise import LEAST
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

OUTLIER_PROBABILITY = 0.01  # of an observation, which then says nothing about an expert
OUTLIER_SD = 5.0  # the standard deviation of outliers, in units of standardised rewards
IGNORED = 1e4  # the noise ratio of an observation that is ignored
PRIOR_STRENGTH = 5.0  # of the prior of the signal's variance, worth 2·PRIOR_STRENGTH observations
FAINTEST = 0.01  # s² at least, where noise of a known size may be all that there is
WHOLE = 4096.0  # gaps up to which kernels of time are tabulated if all gaps are whole numbers


Stretch = tuple[float, ...]
Shape = tuple[int, Stretch]  # a kernel's index in the bank, and the factors of its length scales


@dataclass(frozen=True)
class MovingLevel:
    """A level h(t) that moves on its own, alike for all settings: variance relative to the signal's, and k_h."""

    variance: float
    time: TimeKernel


@dataclass(frozen=True)
class Expert:
    """What one expert assumes; `kernel` is an index in the bank, `since` the number of the first observation it uses.

    `noise` is the noise ratio now; `earlier` are the ones before, each with the number up to which it held.

    >>> from driftwise.gp.time_kernels import Forgetting
    >>> Expert(0, Forgetting(0.0), 0.1, earlier=((3, 0.01),)).noises(np.arange(1, 5)).tolist()
    [0.01, 0.01, 0.1, 0.1]
    """

    kernel: int
    time: TimeKernel
    noise: float
    since: int = 0
    earlier: tuple[tuple[int, float], ...] = ()
    level: MovingLevel | None = None
    stretch: Stretch = ()  # factors of the kernel's length scales, along each coordinate

    @property
    def shape(self) -> Shape:
        """What it assumes about the function in space."""
        return self.kernel, self.stretch

    @property
    def last_change(self) -> int:
        """The number of its last change, of the function or of the noise; 0 if there was none."""
        return max(self.since, self.earlier[-1][0] if self.earlier else 0)

    @property
    def ignores_outlier(self) -> bool:
        """Whether its last change is an observation that it ignores."""
        return bool(self.earlier) and self.earlier[-1][1] == IGNORED

    def without(self, number: int) -> Expert:
        """A copy that ignores observation `number`, which comes after all its changes."""
        return replace(self, earlier=(*self.earlier, (number, self.noise), (number + 1, IGNORED)))

    def dated(self, number: int) -> Expert:
        """A copy whose last change was at observation `number`: of the noise if that ever changed, else a restart."""
        if not self.earlier:
            return replace(self, since=number)
        *earlier, (_, noise) = self.earlier
        return replace(self, earlier=(*earlier, (number, noise)))

    @property
    def first_noise(self) -> float:
        return self.earlier[0][1] if self.earlier else self.noise

    def noises(self, numbers: NDArray[np.int64]) -> Array:
        """The noise ratio of each observation: (n,)."""
        noises = np.full(len(numbers), self.noise)
        for until, noise in reversed(self.earlier):
            noises[numbers < until] = noise
        return noises


@dataclass(frozen=True, eq=False)
class Known:
    """The known noise of the observations of a forecast, 0 where none is known: (n − first,) both."""

    variance: Array  # κ, in the units of the targets
    ratio: Array  # κ/s², as it was used
    signal: float  # s²

    def followed_by(self, k: int) -> Known:
        """And k more, of which nothing is known."""
        none = np.zeros(k)
        return Known(np.append(self.variance, none), np.append(self.ratio, none), self.signal)


@dataclass(frozen=True, eq=False)
class Forecast:
    """An expert's one-step-ahead forecasts of the last n − first observations of a window."""

    expert: Expert
    first: int  # the index in the window from which on it uses observations
    pivots: Array = field(repr=False)  # L's diagonal: (n − first,)
    z: Array = field(repr=False)  # L⁻¹y: (n − first,)
    targets: Array = field(repr=False)  # y: (n − first,)
    noises: Array = field(repr=False)  # (n − first,)
    prior_strength: float
    jitter: float
    known: Known | None = field(default=None, repr=False)

    @cached_property
    def _variance(self) -> tuple[Array, Array]:
        """a and b of the signal's variance before each observation and after the last: (n + 1,) each."""
        if self.known is None:
            a, squares = np.arange(len(self.z) + 1.0), self.z * self.z
        else:
            p = np.maximum(1 - self.known.ratio / np.square(self.pivots), 0.0)
            a, squares = np.concatenate([[0.0], np.cumsum(p * p)]), p * (self.z * self.z - (1 - p) * self.known.signal)
        a = self.prior_strength + 0.5 * a
        b = self.prior_strength + 0.5 * np.concatenate([[0.0], np.cumsum(squares)])
        return a, b if self.known is None else np.maximum(b, FAINTEST * a)

    @property
    def scale(self) -> float:
        """s, the standard deviation of the signal."""
        a, b = self._variance
        return float(np.sqrt(b[-1] / a[-1]))

    @property
    def one_ahead(self) -> Array:
        """log p(y_i | those before) + ½ log 2π: (n − first,)."""
        z, (a, b) = self.z, self._variance
        a, b = a[:-1], b[:-1]
        log_variance = np.log(b * np.square(self.pivots))
        gammas = _gammas(self.prior_strength, len(z)) if self.known is None else gammaln(a + 0.5) - gammaln(a)
        return gammas - (a + 0.5) * np.log1p(z * z / (2 * b)) - 0.5 * log_variance

    @cached_property
    def log_predictive(self) -> Array:
        """The same if an observation is an outlier, N(0, OUTLIER_SD² + κ), with OUTLIER_PROBABILITY: (n − first,)."""
        return np.logaddexp(*self._regular_or_outlier)

    @property
    def outliers(self) -> NDArray[np.intp]:
        """The indices, among its observations, of those that are more likely outliers than not."""
        regular, outlying = self._regular_or_outlier
        return np.flatnonzero(outlying > regular)

    @property
    def _regular_or_outlier(self) -> tuple[Array, Array]:
        sd = OUTLIER_SD if self.known is None else np.sqrt(OUTLIER_SD**2 + self.known.variance)
        outlying = -0.5 * (self.targets / sd) ** 2 - np.log(sd)
        return math.log1p(-OUTLIER_PROBABILITY) + self.one_ahead, math.log(OUTLIER_PROBABILITY) + outlying

    @property
    def log_likelihood(self) -> float:
        """log p(y_1 … y_n), by the chain rule."""
        return float(self.log_predictive.sum())


@dataclass(frozen=True, eq=False)
class Fit(Forecast):
    """The same with W = L⁻¹, from which the expert predicts."""

    W: Array = field(repr=False, kw_only=True)  # (n − first, n − first)

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y = Wᵀz."""
        return self.z @ self.W

    def extended(self, K: Array, targets: Array, noises: Array) -> Fit:
        """The fit after k further observations, whose correlations with all, without noise, are K: (k, n + k).

        [[A, Bᵀ], [B, D]] has the factor [[L, 0], [V, C]] with V = BWᵀ and CCᵀ = D − VVᵀ. `targets` are those of all
        n + k, since with more rewards the old ones may be standardised differently; `noises` are those of the new ones.
        Those of the old ones stay, and that of none of the new ones may be known.
        """
        n = len(self.z)
        V = K[:, :n] @ self.W.T
        C, jitter = cholesky(K[:, n:] - V @ V.T, noises)
        W = extend_inverse_lower(self.W, V, invert_lower(C))
        pivots, noises = np.concatenate([self.pivots, np.diagonal(C)]), np.concatenate([self.noises, noises])
        jitter, known = max(self.jitter, jitter), self.known and self.known.followed_by(len(K))
        z, strength = W @ targets, self.prior_strength
        return Fit(self.expert, self.first, pivots, z, targets, noises, strength, jitter, known, W=W)


@lru_cache(maxsize=512)
def _gammas(prior_strength: float, n: int) -> Array:
    """log Γ(a + ½)/Γ(a) for a = prior_strength + (i − 1)/2: (n,)."""
    a = prior_strength + 0.5 * np.arange(n)
    gammas: Array = gammaln(a + 0.5) - gammaln(a)
    gammas.flags.writeable = False  # it is shared
    return gammas


@dataclass(frozen=True, eq=False)
class FittedWindow:
    """What one expert makes its forecasts of: its observations, from index `first` on, and their correlations."""

    expert: Expert
    first: int
    K: Array  # (n − first, n − first), without noise
    targets: Array  # (n − first,)
    noises: Array  # (n − first,): the expert's own ratios, divided by the number of readings
    known: Array | None  # (n − first,): κ, 0 where it is not known
    prior_strength: float

    def forecast(self) -> tuple[Forecast, Array]:
        """The forecasts, and L."""
        made, L = self._with_signal(1.0)
        return (made, L) if self.known is None else self._with_signal(made.scale**2)

    def fit(self) -> Fit:
        """The same, ready to predict."""
        made, L = self.forecast()
        shared = {each.name: getattr(made, each.name) for each in fields(made)}
        return Fit(**shared, W=invert_lower(L))

    def _with_signal(self, square: float) -> tuple[Forecast, Array]:
        """With the known noises relative to this variance of the signal."""
        noises, known = self.noises, None
        if self.known is not None:
            known = Known(self.known, self.known / square, square)
            least = np.where(self.noises == IGNORED, IGNORED, LEAST)
            noises = np.where(self.known > 0, np.maximum(known.ratio, least), self.noises)
        L, jitter = cholesky(self.K, noises)
        # a copy, so that L, which takes far more memory, is not held
        pivots, z = np.diagonal(L).copy(), solve_lower(L, self.targets)
        made = Forecast(self.expert, self.first, pivots, z, self.targets, noises, self.prior_strength, jitter, known)
        return made, L


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
    ard: bool = True
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

    def forecasts(self, experts: Sequence[Expert], data: Observations) -> list[Forecast]:
        return [window.forecast()[0] for window in self._windows(experts, data)]

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

    def extended(self, fits: Sequence[Fit], data: Observations, *, known: int) -> list[Fit]:
        """The fits after further observations: they are fits to the first `known` of `data`."""
        rows = self._correlations([f.expert for f in fits], data, known)
        return [
            f.extended(A, self.targets(f.expert.kernel, data)[f.first :], noises_of(f.expert, data)[known:])
            for f, A in zip(fits, rows, strict=True)
        ]

    def _correlations(self, experts: Sequence[Expert], data: Observations, new: int = 0) -> Iterator[Array]:
        """K_S∘K_T + vK_h of what each expert uses: rows from index `new` on, columns all. Parts are computed once."""
        X, clock = data.X[new:], data.clock[new:]
        K = {shape: self.kernel(shape)(X, data.X) for shape in {e.shape for e in experts}}
        T = dict(_in_time({e.time for e in experts} | {e.level.time for e in experts if e.level}, clock, data.clock))
        for e in experts:
            f = data.place(e.since)
            rows = slice(max(f - new, 0), None)
            A = K[e.shape][rows, f:] * T[e.time][rows, f:]
            if e.level:
                A += e.level.variance * T[e.level.time][rows, f:]
            yield A

    def covariance(self, expert: Expert, X: Array, clock: Array) -> Array:
        """K_S∘K_T + vK_h: (n, n)."""
        A = self.kernel(expert.shape)(X, X) * expert.time(clock, clock)
        return A + expert.level.variance * expert.level.time(clock, clock) if expert.level else A


def noises_of(expert: Expert, data: Observations) -> Array:
    """The expert's noise ratio of each observation, for the mean of r readings a rth of it: (n,)."""
    noises = expert.noises(data.numbers)
    if data.own is None:
        return noises
    shared = (data.own[:, 1] > 0) & (noises != IGNORED)
    return np.where(shared, noises * data.own[:, 1], noises)


def _in_time(kernels: Iterable[TimeKernel], now: Array, clock: Array) -> Iterator[tuple[TimeKernel, Array]]:
    """k_T of all pairs; if gaps are whole numbers, as those between steps are, each gap is computed once."""
    gaps = np.abs(now[:, None] - clock[None, :])
    longest = float(gaps.max(initial=0.0))
    whole = gaps.astype(np.int64) if longest < WHOLE else None
    if whole is None or not np.array_equal(whole, gaps):
        yield from ((kernel, kernel(now, clock)) for kernel in kernels)
        return
    ages = np.arange(longest + 1)
    yield from ((kernel, kernel(np.zeros(1), ages)[0][whole]) for kernel in kernels)
