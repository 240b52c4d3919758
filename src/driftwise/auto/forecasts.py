"""How well an expert predicted a window: its one-step-ahead forecasts, without the observations that it ignores.

With a moving level the function is f_t(x) + h(t); with a noise change λ is another before it. The variance s² of an
expert's signal is learned: 1/s² is gamma with shape a and rate b, both `prior_strength` at first. With
A = K_S∘K_T + vK_h + diag(λ) = LLᵀ in the order of the log, z = L⁻¹y has the expert's one-step-ahead forecasts in it
(the chain rule): a = prior_strength + (i − 1)/2 and b = prior_strength + ½(z_1² + … + z_{i−1}²) before the i-th
observation, and

    p(y_i | y_1 … y_{i−1}) = Γ(a + ½)/Γ(a) (2πb)^−½ (1 + z_i²/2b)^−(a+½) / L_ii        (Student's t)

An observation is an outlier with OUTLIER_PROBABILITY. If that is more likely than not it is ignored (`unlikely`): it
then says nothing about the function, and nothing about s. The next choice is thus the same as before it, and a second
look at the same setting tells an outlier from a change.

An observation of known noise variance κ (`gp/noise.py`) has the noise ratio κ/s² in place of λ, with the s of a first
pass in which s = 1, and one that is the mean of r readings has λ/r. Noise of a known size says nothing about s: with
p = 1 − κ/(s²L_ii²), the part of the forecast variance that is not such noise, a grows by ½p² and b by
½p(z² − (1 − p)s²).

Everything is a function of the window alone, so that its cost is bounded and a replay gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftwise.auto.experts import Expert
from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower, solve_lower
from driftwise.gp.noise import LEAST
from driftwise.records import Array

OUTLIER_PROBABILITY = 0.01  # of an observation, which then says nothing about an expert
BURST = 0.5  # probability of another one after a bad outlier, off by about as much
STEADY = 0.3  # the standard deviation of the difference between the two, without noise, in the same units
LOW = -1.3  # standardised reward below which that is so: few places have less
OUTLIER_SD = 5.0  # the standard deviation of outliers, in units of standardised rewards
IGNORED = 1e4  # the noise ratio of an observation that is ignored
LOOK = 3  # observations that may take the side of one before them
MOST = 16  # outliers in a window, at most
FAINTEST = 0.01  # s² at least, where noise of a known size may be all that there is


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
    ignored: tuple[int, ...] = ()  # the indices of outliers, among its observations

    @cached_property
    def _variance(self) -> tuple[Array, Array]:
        """a and b of the signal's variance before each observation and after the last: (n + 1,) each."""
        counts, squares = np.ones(len(self.z)), self.z * self.z
        if self.known is not None:
            p = np.maximum(1 - self.known.ratio / np.square(self.pivots), 0.0)
            counts, squares = p * p, p * (squares - (1 - p) * self.known.signal)
        if self.ignored:
            counts[list(self.ignored)], squares[list(self.ignored)] = 0.0, 0.0
        a, b = (self.prior_strength + 0.5 * _sums_before(each) for each in (counts, squares))
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
        if self.known is None:
            counts = np.rint(2 * (a - self.prior_strength)).astype(np.intp) if self.ignored else slice(None)
            known = gammas(self.prior_strength, len(z))[counts]
        else:
            known = gammaln(a + 0.5) - gammaln(a)
        return student(z * z, self.pivots, a, b, known)

    @cached_property
    def log_predictive(self) -> Array:
        """The same if an observation is an outlier, N(0, OUTLIER_SD² + κ), with OUTLIER_PROBABILITY: (n − first,)."""
        regular, outlying = self.regular_or_outlier
        both = np.logaddexp(regular, outlying)
        both[list(self.ignored)] = outlying[list(self.ignored)]
        return both

    @cached_property
    def regular_or_outlier(self) -> tuple[Array, Array]:
        """The log density of each observation and of its being regular, and of its being an outlier: (n − first,).

        Bad outliers come in bursts: with probability BURST one that is off by about as much comes after it.
        """
        sd = OUTLIER_SD if self.known is None else np.sqrt(OUTLIER_SD**2 + self.known.variance)
        outlying = math.log(OUTLIER_PROBABILITY) - 0.5 * (self.targets / sd) ** 2 - np.log(sd)
        regular = math.log1p(-OUTLIER_PROBABILITY) + self.one_ahead
        again = [i + 1 for i in self.ignored if i + 1 < len(self.z) and self.targets[i] < LOW]
        if again:
            after, off = np.array(again), self.z * self.pivots  # y less what was expected
            square = STEADY**2 + 2 * self.expert.noise
            alike = -0.5 * np.square(off[after] - off[after - 1]) / square - 0.5 * math.log(square)
            regular[after] += math.log1p(-BURST) - math.log1p(-OUTLIER_PROBABILITY)
            outlying[after] = np.logaddexp(outlying[after], math.log(BURST) + alike)
        return regular, outlying

    def suspects(self, first: int) -> NDArray[np.intp]:
        """The indices, from `first` on, of observations that are more likely outliers than not; of known noise none."""
        regular, outlying = (each[first:] for each in self.regular_or_outlier)
        likely = outlying > regular
        return first + np.flatnonzero(likely if self.known is None else likely & (self.known.variance[first:] == 0))

    def surprises(self, first: int) -> list[int]:
        """The indices, from `first` on, of observations that are ignored or more likely outliers than not."""
        return sorted({*(i for i in self.ignored if i >= first), *self.suspects(first).tolist()})

    def density(self, i: int) -> float:
        """The log density of observation i, regular or ignored, and of the next few."""
        regular, outlying = (each[i : i + 1 + LOOK] for each in self.regular_or_outlier)
        return float(outlying[0] if i in self.ignored else regular[0]) + float(
            np.logaddexp(regular, outlying)[1:].sum()
        )

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

    def shifted(self, number: int) -> Fit:
        """The same fit, of an expert whose level is another from `number` on, which is still to come."""
        return replace(self, expert=replace(self.expert, shifts=(*self.expert.shifts, number)))

    def noisier(self, number: int, noise: float) -> Fit:
        """The same fit, of an expert whose noise is another from `number` on, which is still to come."""
        earlier = (*self.expert.earlier, (number, self.expert.noise))
        return replace(self, expert=replace(self.expert, noise=noise, earlier=earlier))

    def extended(self, K: Array, targets: Array, noises: Array, *, imagined: bool = False) -> Fit:
        """The fit after k further observations, whose correlations with all, without noise, are K: (k, n + k).

        [[A, Bᵀ], [B, D]] has the factor [[L, 0], [V, C]] with V = BWᵀ and CCᵀ = D − VVᵀ. `targets` are those of all
        n + k, since with more rewards the old ones may be standardised differently; `noises` are those of the new ones.
        Those of the old ones stay, and that of none of the new ones may be known. What is `imagined` is no outlier.
        """
        n = len(self.z)
        V = K[:, :n] @ self.W.T
        S = K[:, n:] - V @ V.T
        made, C = self._joined(V, S, targets, noises)
        new = () if imagined else unlikely(made, C).ignored[len(self.ignored) :]
        if new:
            made, _ = self._joined(V, S, targets, as_ignored(noises, [i - n for i in new]))
            made = replace(made, ignored=(*self.ignored, *new))
        return made

    def _joined(self, V: Array, S: Array, targets: Array, noises: Array) -> tuple[Fit, Array]:
        """This and further observations, with S = D − VVᵀ but for their noises; and C."""
        C, jitter = cholesky(S, noises)
        W = extend_inverse_lower(self.W, V, invert_lower(C))
        made = replace(
            self,
            pivots=np.concatenate([self.pivots, np.diagonal(C)]),
            z=W @ targets,
            targets=targets,
            noises=np.concatenate([self.noises, noises]),
            jitter=max(self.jitter, jitter),
            known=self.known and self.known.followed_by(len(C)),
            W=W,
        )
        return made, C


def _sums_before(terms: Array) -> Array:
    """The sum of the terms before each one, and of all: (n + 1,)."""
    sums = np.zeros(len(terms) + 1)
    terms.cumsum(out=sums[1:])
    return sums


def student(squares: Array, pivots: Array, a: Array, b: Array, gammas: Array) -> Array:
    """log p(y_i | those before) + ½ log 2π, from z², L_ii, a, b and log Γ(a + ½)/Γ(a), all of one shape."""
    return gammas - (a + 0.5) * np.log1p(squares / (2 * b)) - 0.5 * np.log(b * np.square(pivots))


@lru_cache(maxsize=512)
def gammas(prior_strength: float, n: int) -> Array:
    """log Γ(a + ½)/Γ(a) for a = prior_strength + (i − 1)/2: (n,)."""
    a = prior_strength + 0.5 * np.arange(n)
    made: Array = gammaln(a + 0.5) - gammaln(a)
    made.flags.writeable = False  # it is shared
    return made


def unlikely(made: Forecast, tail: Array) -> Forecast:
    """`made` without its outliers, found one after the other; `tail` is the last part of L, with which to look.

    An outlier is read as what was expected. z_i is then 0 for all that comes after it, whose z grow by L⁻¹(l z_i), l
    the rest of column i. It is one if its density as an outlier, and those of the next LOOK observations without it,
    are together more than with it: so a second look at the same setting tells an outlier from a surprise. More than
    LOOK in a row are none, since it is the expert that is wrong. Where the noise is known the user has vouched for it.
    """
    n, before = len(made.z) - len(tail), made
    suspects = made.suspects(max(n, 1))  # before anything was seen nothing is unlikely
    while len(suspects) and len(made.ignored) < MOST:
        i = int(suspects[0])
        if i - 1 not in made.ignored:
            before = made
        elif {i - step for step in range(1, LOOK + 1)} <= set(made.ignored):
            return before
        column = tail[:, i - n] * made.z[i]
        column[: i - n + 1] = 0.0
        z = made.z.copy()
        z[n:] += solve_lower(tail, column)
        without = replace(made, z=z, ignored=(*made.ignored, i))
        if without.density(i) > made.density(i):
            made = without
        suspects = made.suspects(i + 1)
    return made


def as_ignored(noises: Array, rows: Sequence[int]) -> Array:
    """The noises with those of the rows that are ignored."""
    noises = noises.copy()
    noises[list(rows)] = IGNORED
    return noises


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

    def forecast(self) -> Forecast:
        return self._forecast()[0]

    def fit(self) -> Fit:
        """The same, ready to predict: what is ignored has so much noise that it says nothing."""
        made, L = self._forecast()
        if made.ignored:
            L, jitter = cholesky(self.K, as_ignored(made.noises, made.ignored))
            pivots, z = np.diagonal(L).copy(), solve_lower(L, self.targets)
            made = replace(made, pivots=pivots, z=z, jitter=max(jitter, made.jitter))
        shared = {each.name: getattr(made, each.name) for each in fields(made)}
        return Fit(**shared, W=invert_lower(L))

    def _forecast(self) -> tuple[Forecast, Array]:
        """The forecasts, and L."""
        made, L = self._with_signal(1.0)
        return (made, L) if self.known is None else self._with_signal(made.scale**2)

    def _with_signal(self, square: float) -> tuple[Forecast, Array]:
        """With the known noises relative to this variance of the signal."""
        noises, known = self.noises, None
        if self.known is not None:
            known = Known(self.known, self.known / square, square)
            noises = np.where(self.known > 0, np.maximum(known.ratio, LEAST), self.noises)
        L, jitter = cholesky(self.K, noises)
        # a copy, so that L, which takes far more memory, is not held
        pivots, z = np.diagonal(L).copy(), solve_lower(L, self.targets)
        made = Forecast(self.expert, self.first, pivots, z, self.targets, noises, self.prior_strength, jitter, known)
        return unlikely(made, L), L
