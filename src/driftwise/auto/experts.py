"""A bank of experts on one window of observations, each weighted by how well it predicted.

An expert is a Gaussian process over space and time on standardised rewards: a kernel of space, a kernel of time, a
noise ratio λ and, where it is a restart, the first observation it believes in. Where it has a tide, the level of the
function moves on its own, h(t) beside f_t(x); where its noise changed, λ is another before that. Its signal has
variance s², which is learned: 1/s² is gamma with shape a and rate b, both `sure` at first. With A = K_S∘K_T + vK_h +
diag(λ) = LLᵀ in the order of the log, z = L⁻¹y has the expert's forecasts in it, made one step ahead (the chain rule):
a = sure + (i − 1)/2 and b = sure + ½(z_1² + … + z_{i−1}²) before the i-th, and

    p(y_i | y_1 … y_{i−1}) = Γ(a + ½)/Γ(a) (2πb)^−½ (1 + z_i²/2b)^−(a+½) / L_ii        (Student's t)

Weights follow by fixed share (Herbster & Warmuth 1998). Experts with the same kernel of space and the same noise are a
family. How the world moves may change at any time, so a part s of the weight is shared within the family at each
observation; what kind of function it is hardly ever does, so that a much smaller part r goes to other families: what
was learned of the lengthscale while exploring is not forgotten while staying at the top. All is a function of the
window alone, so that it costs the same for ever and a replay gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftwise.auto.data import Seen
from driftwise.gp.kernels import Kernel, Stretched
from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower, solve_lower
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

SHARE = 0.01  # of the weight goes back to the prior within its family at each observation
RARE = 0.0005  # and so much to all families
HAZARD = 0.001  # how likely an abrupt change of the function is, an observation
LOUDER = 0.0005  # and one of the noise alone
TWIN = 0.05  # what part of the weight goes to who leaves out an observation that was taken for an outlier
DOUBT = 0.01  # how likely an observation is to be an outlier, which says nothing about an expert
OUT = 1e4  # the noise of an observation that is left out
FAR = 5.0  # the standard deviation of outliers, in units of standardised rewards
SURE = 5.0  # twice as many observations are worth what is believed of the signal's variance beforehand
TINY = 1e-12  # weight that any family has where experts are born
WHOLE = 4096.0  # gaps up to which kernels of time are tabulated where all gaps are whole


Stretch = tuple[float, ...]
Shape = tuple[int, Stretch]  # a kernel's place in the bank's list, and how it is stretched


@dataclass(frozen=True)
class Tide:
    """The level of the function moves on its own: its variance, of the signal's, and how it moves."""

    variance: float
    time: TimeKernel


@dataclass(frozen=True)
class Expert:
    """What one expert believes; `kernel` is a place in the bank's list, `since` the first number it believes in.

    `noise` is the noise now; `earlier` are those it had before, each with the number up to which it had it.

    >>> from driftwise.gp.time_kernels import Forgetting
    >>> Expert(0, Forgetting(0.0), 0.1, earlier=((3, 0.01),)).noises(np.arange(1, 5)).tolist()
    [0.01, 0.01, 0.1, 0.1]
    """

    kernel: int
    time: TimeKernel
    noise: float
    since: int = 0
    earlier: tuple[tuple[int, float], ...] = ()
    tide: Tide | None = None
    stretch: Stretch = ()  # of the kernel's lengthscales, along each coordinate

    @property
    def shape(self) -> Shape:
        """What it takes for the function's shape in space."""
        return self.kernel, self.stretch

    @property
    def changed(self) -> int:
        """The number of its last change, 0 if there was none."""
        return max(self.since, self.earlier[-1][0] if self.earlier else 0)

    @property
    def leaves_out(self) -> bool:
        """Whether its last change is an observation that it leaves out."""
        return bool(self.earlier) and self.earlier[-1][1] == OUT

    def without(self, number: int) -> Expert:
        """The same, for which observation `number`, after all its changes, says nothing."""
        return replace(self, earlier=(*self.earlier, (number, self.noise), (number + 1, OUT)))

    @property
    def first_noise(self) -> float:
        return self.earlier[0][1] if self.earlier else self.noise

    def noises(self, numbers: NDArray[np.int64]) -> Array:
        """The noise of each observation: (n,)."""
        noises = np.full(len(numbers), self.noise)
        for until, noise in reversed(self.earlier):
            noises[numbers < until] = noise
        return noises


@dataclass(frozen=True, eq=False)
class Forecast:
    """What an expert on a window would have said of each reward before it came, of the last n − first."""

    expert: Expert
    first: int  # the place in the window where its memory begins
    pivots: Array = field(repr=False)  # L's diagonal: (n − first,)
    z: Array = field(repr=False)  # L⁻¹y: (n − first,)
    targets: Array = field(repr=False)  # y: (n − first,)
    noises: Array = field(repr=False)  # (n − first,)
    sure: float
    jitter: float

    @cached_property
    def _variance(self) -> tuple[Array, Array]:
        """a and b of the signal's variance before each observation and after the last: (n + 1,) each."""
        a = self.sure + 0.5 * np.arange(len(self.z) + 1.0)
        return a, self.sure + 0.5 * np.concatenate([[0.0], np.cumsum(self.z * self.z)])

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
        spread = np.log(b * np.square(self.pivots))
        return _gammas(self.sure, len(z)) - (a + 0.5) * np.log1p(z * z / (2 * b)) - 0.5 * spread

    @cached_property
    def forecasts(self) -> Array:
        """The same where an observation may be an outlier, N(0, FAR²), with probability DOUBT: (n − first,)."""
        return np.logaddexp(*self._either)

    @property
    def outliers(self) -> NDArray[np.intp]:
        """The places among its observations of those that are more likely outliers than not."""
        expected, outlying = self._either
        return np.flatnonzero(outlying > expected)

    @property
    def _either(self) -> tuple[Array, Array]:
        outlying = -0.5 * (self.targets / FAR) ** 2 - math.log(FAR)
        return math.log1p(-DOUBT) + self.one_ahead, math.log(DOUBT) + outlying

    @property
    def evidence(self) -> float:
        return float(self.forecasts.sum())


@dataclass(frozen=True, eq=False)
class Fit(Forecast):
    """The same with W = L⁻¹, from which the expert predicts."""

    W: Array = field(repr=False)  # (n − first, n − first)

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y = Wᵀz."""
        return self.z @ self.W

    def more(self, K: Array, targets: Array, noises: Array) -> Fit:
        """The same after k further observations, of which K are the correlations with all, without noise: (k, n + k).

        [[A, Bᵀ], [B, D]] has the factor [[L, 0], [V, C]] with V = BWᵀ and CCᵀ = D − VVᵀ. `targets` are those of all
        n + k, since standardised by all that was seen they may be others; `noises` are those of the new ones.
        """
        n = len(self.z)
        V = K[:, :n] @ self.W.T
        C, jitter = cholesky(K[:, n:] - V @ V.T, noises)
        W = extend_inverse_lower(self.W, V, invert_lower(C))
        pivots, noises = np.concatenate([self.pivots, np.diagonal(C)]), np.concatenate([self.noises, noises])
        jitter = max(self.jitter, jitter)
        return Fit(self.expert, self.first, pivots, W @ targets, targets, noises, self.sure, jitter, W)


@lru_cache(maxsize=512)
def _gammas(sure: float, n: int) -> Array:
    """log Γ(a + ½)/Γ(a) for a = sure + (i − 1)/2: (n,)."""
    a = sure + 0.5 * np.arange(n)
    gammas: Array = gammaln(a + 0.5) - gammaln(a)
    gammas.flags.writeable = False  # it is shared
    return gammas


def forecast(
    expert: Expert, first: int, K: Array, targets: Array, noises: Array, sure: float
) -> tuple[Forecast, Array]:
    """`expert` on the observations from `first` on, whose correlation without noise is K; and L."""
    L, jitter = cholesky(K, noises)
    # a copy, lest L be kept, which takes far more memory
    pivots, z = np.diagonal(L).copy(), solve_lower(L, targets)
    return Forecast(expert, first, pivots, z, targets, noises, sure, jitter), L


def fit(expert: Expert, first: int, K: Array, targets: Array, noises: Array, sure: float) -> Fit:
    """The same, ready to predict."""
    said, L = forecast(expert, first, K, targets, noises, sure)
    return Fit(expert, first, said.pivots, said.z, targets, noises, sure, said.jitter, invert_lower(L))


@dataclass(frozen=True, eq=False)
class Birth:
    """Experts that come into being at one place in the window, and what part of all the weight they get together."""

    place: int
    who: NDArray[np.bool_]  # (E,)
    hazard: float


def shared(
    forecasts: Array, prior: Array, start: Array, families: NDArray[np.int64], births: Iterable[Birth] = ()
) -> Array:
    """The weights before each of the forecasts, (E, n), and after the last, from the weights `start`: (n + 1, E).

    w ← (1 − s − r)·v + s·V_F∘prior(e|F) + r·prior, v = w∘p/Σ(w∘p), V_F the weight of e's family. What is born gets its
    part from all, each family's according to its weight.

    >>> half = np.array([0.5, 0.5])
    >>> shared(np.log([[0.8], [0.2]]), half, half, np.array([0, 0]))[-1].round(3).tolist()
    [0.797, 0.203]
    """

    def of_family(w: Array) -> Array:
        return np.bincount(families, w)[families].astype(float)

    p = np.exp(forecasts - forecasts.max(axis=0, initial=-np.inf))
    w, prior = start / start.sum(), prior / prior.sum()
    within = prior / np.maximum(of_family(prior), 1e-300)
    cradle: dict[int, list[Birth]] = {}
    for birth in births:
        cradle.setdefault(birth.place, []).append(birth)
    path = np.empty((p.shape[1] + 1, len(w)))
    for i in range(p.shape[1]):
        for birth in cradle.get(i, ()):
            born = birth.who.astype(float)
            parts = born * (of_family(w) + TINY) / np.maximum(of_family(born), 1.0)
            w = (1 - birth.hazard) * w + birth.hazard * parts / parts.sum()
        path[i] = w
        w = w * p[:, i]
        w = w / w.sum()
        w = (1 - SHARE - RARE) * w + SHARE * of_family(w) * within + RARE * prior
    path[-1] = w / w.sum()
    return path


@dataclass(frozen=True)
class Bank:
    """The experts there are: all kernels × times × noises. `survey.py` adds those that the window itself suggests.

    `most` experts stay in use between two surveys, fewer where the others have less than `least` of the best's weight.
    """

    kernels: tuple[Kernel, ...]
    times: tuple[TimeKernel, ...]
    noises: tuple[float, ...]
    changes: bool = True  # whether a survey looks for these
    cycles: bool = True
    tides: bool = True
    ard: bool = True
    sure: float = SURE
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
        tide: Tide | None = None,
    ) -> tuple[Expert, ...]:
        """One expert for each of these ways to move, of every family of these shapes and `noises`, else the bank's."""
        each = product(shapes, times, self.noises if noises is None else noises)
        return tuple(Expert(k, time, noise, tide=tide, stretch=stretch) for (k, stretch), time, noise in each)

    def families(self, experts: Sequence[Expert]) -> NDArray[np.int64]:
        """To which family each belongs: (E,). Those whose noise changed stay where they come from."""
        numbers: dict[tuple[Shape, float], int] = {}
        return np.array([numbers.setdefault((e.shape, e.first_noise), len(numbers)) for e in experts], dtype=np.int64)

    @property
    def shapes(self) -> list[Shape]:
        """Those there are beforehand."""
        return [(k, ()) for k in range(len(self.kernels))]

    def kernel(self, shape: Shape) -> Kernel:
        k, stretch = shape
        return Stretched(self.kernels[k], stretch) if stretch else self.kernels[k]

    def fits(self, experts: Sequence[Expert], seen: Seen) -> list[Fit]:
        """The experts on a window."""
        return [fit(*about) for about in self._on(experts, seen)]

    def forecasts(self, experts: Sequence[Expert], seen: Seen) -> list[Forecast]:
        """What they would have said of what was seen."""
        return [forecast(*about)[0] for about in self._on(experts, seen)]

    def _on(self, experts: Sequence[Expert], seen: Seen) -> Iterator[tuple[Expert, int, Array, Array, Array, float]]:
        """What `fit` and `forecast` need of each."""
        for e, A in zip(experts, self._correlations(experts, seen), strict=True):
            f = seen.place(e.since)
            yield e, f, A, seen.targets[f:], e.noises(seen.numbers[f:]), self.sure

    def more(self, fits: Sequence[Fit], seen: Seen, *, known: int) -> list[Fit]:
        """The same after further observations: `seen` begins with the `known` that they are of."""
        rows = self._correlations([f.expert for f in fits], seen, known)
        return [
            f.more(A, seen.targets[f.first :], f.expert.noises(seen.numbers[known:]))
            for f, A in zip(fits, rows, strict=True)
        ]

    def _correlations(self, experts: Sequence[Expert], seen: Seen, new: int = 0) -> Iterator[Array]:
        """K_S∘K_T + vK_h of what each expert knows, from place `new` on, with all it knows; in parts computed once."""
        X, clock = seen.X[new:], seen.clock[new:]
        K = {shape: self.kernel(shape)(X, seen.X) for shape in {e.shape for e in experts}}
        T = dict(_in_time({e.time for e in experts} | {e.tide.time for e in experts if e.tide}, clock, seen.clock))
        for e in experts:
            f = seen.place(e.since)
            rows = slice(max(f - new, 0), None)
            A = K[e.shape][rows, f:] * T[e.time][rows, f:]
            if e.tide:
                A += e.tide.variance * T[e.tide.time][rows, f:]
            yield A

    def covariance(self, expert: Expert, X: Array, clock: Array) -> Array:
        """K_S∘K_T + vK_h: (n, n)."""
        A = self.kernel(expert.shape)(X, X) * expert.time(clock, clock)
        return A + expert.tide.variance * expert.tide.time(clock, clock) if expert.tide else A

    def weights(self, fits: Sequence[Forecast], prior: Array, seen: Seen, new: int = 0) -> Array:
        """The weights of `fits` before each that came from place `new` on, and after the last, from those in `prior`.

        Those that have none there are born at the place of their last change.
        """
        forecasts = np.full((len(fits), len(seen)), -np.inf)
        for row, each in zip(forecasts, fits, strict=True):
            row[each.first :] = each.forecasts
        experts = [f.expert for f in fits]
        births = _births(experts, prior == 0, seen, new)
        return shared(forecasts[:, new:], prior, prior, self.families(experts), births)


def _in_time(kernels: Iterable[TimeKernel], now: Array, clock: Array) -> Iterator[tuple[TimeKernel, Array]]:
    """k_T of all pairs; where gaps are whole numbers, as of steps, each number is computed once."""
    gaps = np.abs(now[:, None] - clock[None, :])
    longest = float(gaps.max(initial=0.0))
    whole = gaps.astype(np.int64) if longest < WHOLE else None
    if whole is None or not np.array_equal(whole, gaps):
        yield from ((kernel, kernel(now, clock)) for kernel in kernels)
        return
    ages = np.arange(longest + 1)
    yield from ((kernel, kernel(np.zeros(1), ages)[0][whole]) for kernel in kernels)


def _births(experts: Sequence[Expert], late: NDArray[np.bool_], seen: Seen, new: int) -> Iterator[Birth]:
    """An abrupt change is as likely anywhere: at each date it has the hazard of all places since the date before."""
    louder, leaving = np.array([(bool(e.earlier), e.leaves_out) for e in experts]).T
    places = np.array([seen.place(e.changed) for e in experts]) - new
    for date in np.unique(places[late & leaving]):
        yield Birth(int(date), late & leaving & (places == date), TWIN)
    for who, hazard in ((late & ~louder, HAZARD), (late & louder & ~leaving, LOUDER)):
        dates = np.unique(places[who])
        for date in dates:
            yield Birth(int(date), who & (places == date), min(hazard * (len(seen) - new) / len(dates), 0.5))
