"""Maximum information gain, γ_n = max_{|A| = n} ½ ln det(I + K_A/λ): Eq. (3). A may hold a point more than once.

The gain is a sum of ½ ln(1 + σ²(x_i)/λ), each σ given the points before, and it is submodular: always to take the
point of largest variance reaches at least 1 − 1/e of the maximum, so γ_n lies between this greedy value and e/(e − 1)
times it. A second certificate is nearly always much smaller: the gain of a design with weights w, ½ ln det(I + Σ w_x
φφᵀ/λ), is concave in w, so that it lies below each of its tangents, and the slope towards x is σ²(x)/2λ. With the
tangent at any design of n points, γ_n ≤ gain + (n max_x σ²(x) − Σ_i σ²(x_i))/2λ (docs/theory.md). `upper` is the
smaller of the two.

One pick at a time is too slow for a million: a search ends after `most_picks`, and beyond, its design A of m points is
repeated s times, at the cost of a sum over eigenvalues. That is γ from below still: with e the eigenvalues of A's
kernel matrix, s copies gain ½ Σ ln(1 + s e/λ), and of the next copy's m points some r gain r/m of its gain at least, by
submodularity. From above γ_n is below the tangent at A taken n/m times, is at most ½ Σ ln(1 + n e/λ) over the
eigenvalues of all N points, each taken n times, and ½ N ln(1 + n k/Nλ), k the largest k(x, x), as no matrix of this
trace and rank gains more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Kernel, as_kernel
from driftwise.gp.linalg import solve_lower
from driftwise.records import Array, Point

CERTIFICATE = math.e / (math.e - 1)  # γ_n is at most this times the greedy value
EPOCH = 32  # picks after which every candidate is brought up to date, in one matrix product
TANGENTS = 40  # of a curve
BATCH = 64  # stale candidates that are updated together
PICKS, WORK = 8192, 2_500_000  # a search ends after PICKS picks, or where picks times candidates are WORK


@dataclass(frozen=True, eq=False)
class GainCurve:
    """lower[i] ≤ γ_{i+1} ≤ upper[i], and which candidates the greedy search took."""

    lower: Array  # (n,)
    upper: Array  # (n,)
    picks: NDArray[np.intp]  # (n,)


def greedy_gain(kernel: Kernel, points: Sequence[Sequence[float]] | Array, noise: float, n: int) -> GainCurve:
    """γ_1 … γ_n over finitely many points, from below and from above.

    >>> from driftwise.gp.kernels import RBF
    >>> curve = greedy_gain(RBF(0.2), [[0.0], [9.0]], noise=1.0, n=4)
    >>> (curve.lower / math.log(2)).round(4).tolist()
    [0.5, 1.0, 1.2925, 1.585]
    """
    given = _points(points)
    search = _Greedy(kernel, given, checks.positive("noise", noise, fix="it is a variance, e.g. 0.01"))
    search.extend(
        checks.count("n", n, most=most_picks(len(given)), fix="MaximumGain(kernel, noise, points)(n) goes on")
    )
    lower, sizes = np.array(search.curve[1:]), np.arange(1, n + 1)
    at = np.unique(np.geomspace(1, n, TANGENTS).round().astype(int))  # a tangent bounds every γ, not only its own
    tangents = np.array([search.tangent(m, m) for m in at.tolist()])  # (k, 2)
    upper = (tangents[:, :1] + tangents[:, 1:] * sizes).min(axis=0)
    upper = np.minimum.reduce([upper, CERTIFICATE * lower, sizes * lower[0]])  # no point gains more than the first
    return GainCurve(lower, upper, np.array(search.picks))


@dataclass(frozen=True)
class MaximumGain:
    """n ↦ γ_n over finitely many points, from below; the search goes on from where it was when more is asked.

    >>> from driftwise.gp.kernels import RBF
    >>> gain = MaximumGain(RBF(0.2), 1.0, ((0.0,), (9.0,)))
    >>> round(gain(2), 4), round(gain.upper(2), 4)
    (0.6931, 0.6931)
    """

    kernel: Kernel
    noise: float
    points: tuple[Point, ...] = field(repr=False)

    def __post_init__(self) -> None:
        points = _points(self.points)
        checks.settle(
            self,
            kernel=as_kernel,
            noise=partial(checks.positive, fix="it is a variance, e.g. 0.01"),
            points=lambda *_: tuple(map(tuple, points.tolist())),
        )
        self.kernel(points[:1], points[:1])  # one for another number of dimensions is refused

    def __call__(self, n: int) -> float:
        search, most = self._search, most_picks(len(self.points))
        if checks.count("n", n, least=0) > most:
            return search.repeated(n, most)
        if n >= len(search.curve):  # doubling: asked for 1, 2, 3, … it works in whole epochs
            search.extend(min(max(n, 2 * len(search.curve)), most))
        return search.curve[n]

    def upper(self, n: int) -> float:
        """At least γ_n of these points."""
        searched = min(checks.count("n", n, least=0), most_picks(len(self.points)))
        if n == 0:
            return 0.0
        constant, slope = self._search.tangent(n, searched)
        other = CERTIFICATE * self(n) if n == searched else self._search.ceiling(n)
        return min(constant + slope * n, other, n * self._search.curve[1])  # no point gains more than the first

    @property
    def _search(self) -> _Greedy:
        return _search(self.kernel, self.noise, self.points)  # type: ignore[arg-type]  # kernels are frozen


def most_picks(candidates: int) -> int:
    """How many points a search picks one by one."""
    return min(PICKS, max(256, WORK // candidates))


@lru_cache(maxsize=16)
def _search(kernel: Kernel, noise: float, points: tuple[Point, ...]) -> _Greedy:
    """One search for each γ, shared by all runs of a policy."""
    return _Greedy(kernel, np.array(points), noise)


class _Greedy:
    """Lazy greedy search. A variance only shrinks, so one computed earlier is an upper bound, and it is computed again
    only if the bound is the largest.

    With V = L⁻¹k(·) of the closed epochs, cov(x, x′) = k(x, x′) − v(x)ᵀv(x′) is what the open epoch starts from.
    """

    def __init__(self, kernel: Kernel, points: Array, noise: float) -> None:
        self.curve = [0.0]  # greedy γ_0, γ_1, …
        self.picks: list[int] = []
        self._kernel, self._points, self._noise = as_kernel("kernel", kernel), points, noise
        self._tangents: dict[tuple[int, int], tuple[float, float]] = {}
        self._matrix: Array | None = None  # the covariance V starts from, once it is no longer the kernel
        self._V = np.empty((len(points), 0))  # (N, m)
        self._var = kernel.diagonal(points).astype(float)  # (N,): given the closed epochs

    def extend(self, n: int) -> None:
        while len(self.picks) < n:
            self._epoch(min(EPOCH, n - len(self.picks)))

    def repeated(self, n: int, m: int) -> float:
        """γ_n from below for n ≥ m: the first m picks, over and over."""
        self.extend(m)
        copies, rest = divmod(n, m)
        return (1 - rest / m) * self._copied(copies) + rest / m * self._copied(copies + 1)

    def ceiling(self, n: int) -> float:
        """γ_n from above."""
        N, largest = len(self._points), float(self._kernel.diagonal(self._points).max())
        by_trace = 0.5 * N * math.log1p(n * largest / (N * self._noise))
        if N > WORK**0.5:
            return by_trace
        return min(by_trace, 0.5 * float(np.log1p(n / self._noise * self._spectrum).sum()))

    def tangent(self, n: int, m: int) -> tuple[float, float]:
        """(a, b) with γ_j ≤ a + b j for every j, touching where the first m picks weigh n together."""
        if (n, m) not in self._tangents:
            self.extend(m)
            where, counts = np.unique(self.picks[:m], return_counts=True)
            weights = counts * (n / m)
            X, root = self._points[where], np.sqrt(weights)
            L = np.linalg.cholesky(root[:, None] * self._kernel(X, X) * root + self._noise * np.eye(len(X)))
            W = solve_lower(L, root[:, None] * self._kernel(X, self._points))  # (u, N)
            prior = self._kernel.diagonal(self._points)
            var = np.maximum(prior - np.einsum("un,un->n", W, W), 0.0)
            rounding = 8 * len(X) * np.finfo(float).eps * prior.max()  # of a variance, so that the bound stays one
            gained = float(np.log(np.diagonal(L)).sum() - 0.5 * len(X) * math.log(self._noise))
            slope = float(var.max() + rounding) / (2 * self._noise)
            self._tangents[n, m] = (
                gained - float(weights @ np.maximum(var[where] - rounding, 0)) / (2 * self._noise),
                slope,
            )
        return self._tangents[n, m]

    def _copied(self, copies: int) -> float:
        """½ Σ ln(1 + s e/λ)."""
        return 0.5 * float(np.log1p(copies / self._noise * self._design).sum())

    @cached_property
    def _design(self) -> Array:
        """The eigenvalues of the kernel matrix of all picks, of which equal ones are counted: (≤ N,)."""
        where, counts = np.unique(self.picks, return_counts=True)
        root = np.sqrt(counts)
        X = self._points[where]
        return np.maximum(np.linalg.eigvalsh(root[:, None] * self._kernel(X, X) * root), 0.0)

    @cached_property
    def _spectrum(self) -> Array:
        """The eigenvalues of the kernel matrix of all points: (N,)."""
        return np.maximum(np.linalg.eigvalsh(self._kernel(self._points, self._points)), 0.0)

    def _epoch(self, size: int) -> None:
        """`size` picks, after which every candidate is brought up to date."""
        epoch = _OpenEpoch(self._var, self._covariance, self._noise, size)
        for _ in range(size):
            i, variance = epoch.pick()
            self.picks.append(i)
            self.curve.append(self.curve[-1] + 0.5 * math.log1p(variance / self._noise))
        self._close(epoch.L, epoch.picks)

    def _close(self, L: Array, taken: NDArray[np.intp]) -> None:
        W = solve_lower(L, self._covariance(taken, np.arange(len(self._var))))  # (size, N)
        self._V = np.hstack([self._V, W.T])
        self._var = np.maximum(self._var - np.einsum("jn,jn->n", W, W), 0.0)
        if self._V.shape[1] >= len(self._var):  # the rank is N at most: start again from an N×N covariance
            start = self._kernel(self._points, self._points) if self._matrix is None else self._matrix
            self._matrix, self._V = start - self._V @ self._V.T, self._V[:, :0]

    def _covariance(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """cov(x_r, x_c) given the closed epochs: (r, c)."""
        if not len(rows):
            return np.zeros((0, len(columns)))
        if self._matrix is None:
            start = self._kernel(self._points[rows], self._points[columns])
        else:
            start = self._matrix[np.ix_(rows, columns)]
        return start - self._V[rows] @ self._V[columns].T


class _OpenEpoch:
    """The picks of one epoch. A candidate's variance given these is computed only when it may be the largest."""

    def __init__(self, var: Array, covariance: Callable[..., Array], noise: float, size: int) -> None:
        self.L = np.zeros((size, size))  # of the picks' covariance and noise
        self.picks = np.empty(0, dtype=np.intp)
        self._var, self._covariance, self._noise = var, covariance, noise  # given the closed epochs
        self._bound = var.copy()  # (N,): at least the variance given the picks
        self._given = np.zeros(len(var), dtype=int)  # (N,): how many of the picks a bound takes into account

    def pick(self) -> tuple[int, float]:
        """Takes the candidate of largest variance, and says which it is and its variance."""
        j, i = len(self.picks), int(np.argmax(self._bound))
        while self._given[i] < j:
            self._update(_largest(self._bound, np.flatnonzero(self._given < j)))
            i = int(np.argmax(self._bound))
        self.L[j, :j] = self._solved(np.array([i]))[:, 0]
        self.L[j, j] = math.sqrt(self._bound[i] + self._noise)
        self.picks = np.append(self.picks, i)
        return i, float(self._bound[i])

    def _update(self, stale: NDArray[np.intp]) -> None:
        W = self._solved(stale)
        self._bound[stale] = np.maximum(self._var[stale] - np.einsum("js,js->s", W, W), 0.0)
        self._given[stale] = len(self.picks)

    def _solved(self, where: NDArray[np.intp]) -> Array:
        """L⁻¹cov(picks, ·): (j, len(where))."""
        j = len(self.picks)
        return solve_lower(self.L[:j, :j], self._covariance(self.picks, where))


# --- growth orders of the literature, without their constants -------------------------------------------------------


def rbf_order(n: int, dim: int) -> float:
    """γ_n = O((ln n)^{d+1}) for the squared exponential (Srinivas et al. 2009)."""
    return math.log(_n(n)) ** (_dim(dim) + 1)


def matern_order(n: int, dim: int, nu: float) -> float:
    """γ_n = O(n^{d/(2ν+d)} (ln n)^{2ν/(2ν+d)}) for Matérn (Vakili, Khezeli & Picheny 2021), the smallest known."""
    share = _dim(dim) / (2 * checks.positive("nu", nu) + dim)
    return float(_n(n) ** share * math.log(n) ** (1 - share))


def matern_order_2009(n: int, dim: int, nu: float) -> float:
    """γ_n = O(n^{d(d+1)/(2ν+d(d+1))} ln n) for Matérn, as the paper quotes it (Srinivas et al. 2009)."""
    share = _dim(dim) * (dim + 1) / (2 * checks.positive("nu", nu) + dim * (dim + 1))
    return float(_n(n) ** share * math.log(n))


def linear_order(n: int, dim: int) -> float:
    """γ_n = O(d ln n) for the linear kernel (Srinivas et al. 2009)."""
    return _dim(dim) * math.log(_n(n))


def _n(n: int) -> int:
    """Orders are for n of any size."""
    return checks.count("n", n, most=10**300)


def _dim(dim: int) -> int:
    """Beyond a hundred dimensions (ln n)^{d+1} is soon no number."""
    return checks.count("dim", dim, most=100)


def _largest(values: Array, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """The BATCH of `among` with the largest values; never empty, so that every look makes progress."""
    return among if len(among) <= BATCH else among[np.argpartition(-values[among], BATCH)[:BATCH]]


def _points(given: Sequence[Sequence[float]] | Array) -> Array:
    points = checks.table("points", given)
    if not len(points):
        raise InvalidInput(f"points must be a finite table of n ≥ 1 rows and d ≥ 1 columns, got shape {points.shape}")
    return points


def as_gain(name: str, given: Any) -> Callable[[int], float]:
    """n ↦ γ_n: a `MaximumGain`, or a function of your own."""
    if isinstance(given, MaximumGain):
        return given
    example = "n ↦ γ_n, as MaximumGain(kernel, 0.01, points)"
    gain: Callable[[int], float] = checks.like(name, given, ("__call__",), example)
    try:
        checks.nonnegative(name, gain(1))
    except Exception as error:  # whatever a function does that is no gain
        raise InvalidInput(f"{name} must give γ_n ≥ 0 of a number n; {checks.shown(given)}: {error}") from None
    return gain
