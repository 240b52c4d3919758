"""The same posterior on finitely many candidates, updated at all of them while the window slides.

Forgetting the oldest point and observing a new one each change mean and variance along one vector over the candidates:

    forget:   a = Kᵀp,          mean −= a (pᵀy)/p₀,           var += a²/p₀,       p = A⁻¹e₁
    observe:  c = Kᵀv − k(x,·),  mean −= c (y − vᵀy)/s,        var −= c²/s,        v = A⁻¹k(x), s = k(x,x) + λ − k(x)ᵀv

With K and y the window's kernel rows and rewards, those of the new observation last, and Z and D of
`linalg.WindowInverse`, that is

    C = Z K,    mean += (Z y)ᵀ D C,    var −= the diagonal of Cᵀ D C

where the product Z K, of two rows with w + 1, is nearly all the cost of a step. The same Z, D and C turn α = A⁻¹K, the
weights of the observations, into the next: with a row of zeros behind, α += Zᵀ D C, and forgetting drops the first row.

While the window has an observation with a noise of its own (`gp/noise.py`), everything is computed afresh at each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.buffers import SharedRows
from driftwise.gp.kernels import Kernel
from driftwise.gp.linalg import Factor, Inverse, WindowInverse, add_outer, cholesky, solve_lower
from driftwise.gp.noise import PLAIN, Own, Pair, appended, location_scale, log_total, pair_of, selected, variances
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Observation, Point

Index = NDArray[np.intp]
Units = tuple[float, float]

REFRESH = 512  # everything is computed afresh when the observation's number passes a multiple of this
# the noise, as a part of the largest prior variance:
WELL_CONDITIONED = 5e-3  # from here on, updating the inverse is accurate enough
SINGULAR = 1e-7  # below this nothing is updated: every step computes everything afresh
SPARE = 64  # observations that fit behind a window before its buffers are copied
LARGEST_MATRIX = 2500  # candidates up to which the whole kernel matrix is stored (50 MB)


@dataclass(frozen=True, eq=False)
class Grid:
    """Candidates with a kernel and a noise variance: what every posterior over them shares."""

    points: Array  # (n, d)
    kernel: Kernel
    noise: float
    standardise: bool = False

    def __post_init__(self) -> None:
        checks.positive("noise", self.noise, fix="it is a variance, e.g. 0.01")

    def index(self, x: Sequence[float]) -> int:
        """Which candidate x is."""
        try:
            return self._index[tuple(x)]
        except KeyError:
            raise InvalidInput(f"{tuple(x)} is none of the {len(self.points)} candidates") from None

    def is_all(self, X: Array) -> bool:
        """Whether the rows of X are the candidates, all of them and in their order."""
        return X is self.points or np.array_equal(X, self.points)

    def target(self, y: float) -> Array:
        """A reward and, if rewards are standardised, a one: (q,)."""
        return np.array([y, 1.0]) if self.standardise else np.array([y])

    def row(self, i: int) -> Array:
        """k(x_i, ·) at every candidate: (n,)."""
        if self._matrix is not None:
            return self._matrix[i]
        return self.kernel(self.points[i : i + 1], self.points)[0]

    def rows(self, indices: Index) -> Array:
        """k(x_i, ·) for several i: (w, n)."""
        if self._matrix is not None:
            return self._matrix[indices]
        return self.kernel(self.points[indices], self.points)

    @cached_property
    def prior(self) -> Array:
        """k(x, x) at every candidate: (n,)."""
        return self.kernel.diagonal(self.points)

    @cached_property
    def relative_noise(self) -> float:
        """λ / max k(x, x), which bounds the condition number of a window."""
        return self.noise / max(float(self.prior.max()), 1e-300)

    @cached_property
    def _matrix(self) -> Array | None:
        small = len(self.points) <= LARGEST_MATRIX
        return np.ascontiguousarray(self.kernel(self.points, self.points)) if small else None

    @cached_property
    def _index(self) -> dict[Point, int]:
        return {tuple(x): i for i, x in reversed(list(enumerate(self.points.tolist())))}


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """GP(0, k) given a window of observations, at every candidate. The same interface as `Posterior`."""

    grid: Grid
    contents: SharedRows  # the candidates observed, (w,), Y, (w, q), and K, (w, n): oldest first
    window: WindowInverse  # A⁻¹
    mean: Array  # (q, n): what Y's columns predict
    var: Array  # (n,)
    information_gain: float  # ½ ln det(I + K/λ)
    last: int  # the number of the newest observation
    fixed_units: tuple[float, float] | None = None
    alpha: Array | None = None  # (w, n): A⁻¹K, updated if `weighing` asked for it
    own: Own = None  # (w, 2): the noises of the observations' own, if any has one

    @classmethod
    def prior(cls, grid: Grid) -> GridPosterior:
        """Nothing observed."""
        nothing = np.zeros((0, 2 if grid.standardise else 1))
        return cls._from_contents(grid, np.zeros(0, dtype=np.intp), nothing, 0)

    @classmethod
    def _from_contents(
        cls, grid: Grid, where: Index, Y: Array, last: int, *, own: Own = None, units: Units | None = None
    ) -> GridPosterior:
        K = grid.rows(where)
        inner = K[:, where]
        noises = _noises(grid, Y, own, units)
        L, _ = cholesky(inner, noises)
        V = solve_lower(L, K)
        well = own is None and grid.relative_noise >= WELL_CONDITIONED
        return cls(
            grid=grid,
            contents=SharedRows.of(where, Y, K, room=SPARE),
            window=Inverse.of(inner, grid.noise) if well else Factor.of(inner, noises),
            mean=solve_lower(L, Y).T @ V,
            var=grid.prior - np.einsum("wn,wn->n", V, V),
            information_gain=float(np.log(np.diagonal(L)).sum() - 0.5 * log_total(noises, len(inner))),
            last=last,
            fixed_units=units,
            own=own,
        )

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def where(self) -> Index:
        """The candidates observed, oldest first: (w,)."""
        return self.contents.views[0]

    @property
    def Y(self) -> Array:
        """The rewards and, if they are standardised, a column of ones: (w, q)."""
        return self.contents.views[1]

    def weighing(self) -> GridPosterior:
        """The same, with α(x) = A⁻¹k(x) updated at every candidate along with mean and variance."""
        return replace(self, alpha=self.window.solve(self.contents.views[2]))

    # --- the fold -----------------------------------------------------------------------------------------------

    def observe(self, seen: Observation, *, keep: int | None = None) -> GridPosterior:
        """The posterior after `seen`, of the last `keep` observations if that is given.

        When the number passes a multiple of REFRESH the posterior is computed from its contents alone, so that a
        replay of the last keep + REFRESH observations gives the same bits.
        """
        i = self.grid.index(seen.x)
        if not math.isfinite(seen.y):
            raise InvalidInput(f"a reward must be finite, got {seen.y!r}")
        drop = 0 if keep is None else max(len(self) + 1 - keep, 0)
        own = pair_of(seen)
        if drop > 1 or self._due(seen.number) or self.own is not None or own != PLAIN:
            return self._afresh(i, seen.y, seen.number, own, drop=drop)
        return self._change(i, seen.y, seen.number, drop=drop)

    def _due(self, number: int) -> bool:
        """Whether everything is computed afresh at this number."""
        return number // REFRESH != self.last // REFRESH or self.grid.relative_noise < SINGULAR

    def _afresh(
        self, i: int, y: float, number: int, own: Pair, *, drop: int, units: Units | None = None
    ) -> GridPosterior:
        """Observe candidate i and forget the oldest `drop`: computed from the contents alone."""
        where, Y = np.append(self.where[drop:], i), np.vstack([self.Y[drop:], self.grid.target(y)])
        pairs = selected(appended(self.own, len(self), own), slice(drop, None))
        fresh = self._from_contents(self.grid, where, Y, number, own=pairs, units=units)
        return fresh if self.alpha is None else fresh.weighing()

    def _change(self, i: int, y: float, number: int, *, drop: int) -> GridPosterior:
        """Observe candidate i and, if drop is 1, forget the oldest."""
        row, kxx = self.grid.row(i), float(self.grid.prior[i])
        grown = self.contents.append(i, self.grid.target(y), row)
        where, Y, K = grown.views
        step = self.window.slide if drop else self.window.append
        window, Z, D = step(row[where[drop:-1]], kxx)
        C = Z @ K  # (1 + drop, n)
        # Σ ln|D| is what ln det A loses
        loss = sum(math.log(abs(weight)) for weight in D.tolist()) + (1 - drop) * math.log(self.noise)
        return GridPosterior(
            grid=self.grid,
            contents=grown.drop(drop),
            window=window,
            mean=self.mean + ((Z @ Y).T * D) @ C,
            var=self.var - D @ (C * C),
            information_gain=self.information_gain - 0.5 * loss,
            last=number,
            fixed_units=self.fixed_units,
            alpha=None if self.alpha is None else add_outer(self.alpha[drop:], Z[:, drop:], D[:, None] * C),
        )

    def imagine(self, points: Sequence[Point]) -> GridPosterior:
        """As if the pending `points` had been answered at the mean: the mean stays, the variance shrinks."""
        if not points:
            return self
        imagined = replace(self, fixed_units=self.units)
        location, scale = self.units
        for x in points:
            i = self.grid.index(x)
            mean = float(imagined.predict(self.grid.points)[0][i])
            y = location + scale * mean
            if self.own is None:
                imagined = imagined._change(i, y, self.last, drop=0)
            else:
                imagined = imagined._afresh(i, y, self.last, PLAIN, drop=0, units=self.units)
        return imagined

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ at the rows of X; at all candidates they are up to date already."""
        if not self.grid.is_all(X):
            return self.general.predict(X)
        location, scale = self.units
        mean = (self.mean[0] - location * self.mean[1]) / scale if self.grid.standardise else self.mean[0]
        # two ufuncs are twice as fast as np.clip
        return mean, np.sqrt(np.minimum(np.maximum(self.var, 0.0), self.grid.prior))

    def weights(self, X: Array) -> Array:
        """α(x) = A⁻¹k(x), so that μ(x) = α(x)ᵀy: (m, w)."""
        if self.alpha is not None and self.grid.is_all(X):
            return self.alpha.T
        return self.general.weights(X)

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x."""
        return self.general.predict_gradient(X)

    @property
    def noise(self) -> float:
        return self.grid.noise

    @property
    def observed(self) -> Array:
        """The points observed, oldest first: (w, d)."""
        return self.grid.points[self.where]

    @cached_property
    def units(self) -> tuple[float, float]:
        """(location, scale) of the standardised rewards: a reward is location + scale · target."""
        if self.fixed_units is not None:
            return self.fixed_units
        return _units(self.grid, self.Y, self.own)

    @cached_property
    def general(self) -> Posterior:
        """The same posterior, to be asked anywhere."""
        X, grid = self.observed, self.grid
        y, K = self.Y[:, 0].copy(), grid.kernel(X, X)
        return Posterior(grid.kernel, grid.noise, grid.standardise, X, y, K, self.fixed_units, own=self.own)

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal, relative to its largest entry: 0 nearly always."""
        return self.window.jitter


def _units(grid: Grid, Y: Array, own: Own) -> Units:
    """(location, scale) of rewards Y."""
    return location_scale(Y[:, 0], own) if grid.standardise else (0.0, 1.0)


def _noises(grid: Grid, Y: Array, own: Own, units: Units | None) -> float | Array:
    """λ, or that of each observation: (w,). The scale is that of the rewards, or of `units` if these are given."""
    if own is None:
        return grid.noise
    scale = (units or _units(grid, Y, own))[1] if grid.standardise else 1.0
    return variances(own, grid.noise, scale=scale, prior=float(grid.prior.max()))
