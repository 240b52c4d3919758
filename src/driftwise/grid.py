"""The same posterior on finitely many candidates, kept up to date at all of them while the window slides.

Forgetting the oldest point and observing a new one each change mean and variance along one vector over the candidates:

    forget:   a = Kᵀp,          mean −= a (pᵀy)/p₀,           var += a²/p₀,       p = A⁻¹e₁
    observe:  c = k(x,·) − Kᵀv,  mean += c (y − mean(x))/s,    var −= c²/s,        v = A⁻¹k(x), s = k(x,x) + λ − k(x)ᵀv

with K the window's (w, n) kernel rows; both vectors come out of one product with K, which is the cost of a step.
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
from driftwise.kernels import Kernel
from driftwise.linalg import Factor, Inverse, Window, cholesky, solve_lower
from driftwise.posterior import Posterior, location_scale
from driftwise.records import Array, Observation, Point

Index = NDArray[np.intp]

REFRESH = 512  # everything is computed afresh when the observation's number passes a multiple of this
WELL_CONDITIONED = 5e-3  # noise from which updating the inverse keeps all the digits we promise
LARGEST_MATRIX = 2500  # candidates up to which the whole kernel matrix is kept (50 MB)


@dataclass(frozen=True, eq=False)
class Grid:
    """Candidates with a kernel and a noise variance: what every posterior over them shares."""

    points: Array  # (n, d)
    kernel: Kernel
    noise: float
    standardise: bool = False

    def __post_init__(self) -> None:
        checks.positive("noise", self.noise, fix="it is a variance, as 0.01")

    def index(self, x: Sequence[float]) -> int:
        """Which candidate x is."""
        try:
            return self._index[tuple(x)]
        except KeyError:
            raise InvalidInput(f"{tuple(x)} is none of the {len(self.points)} candidates") from None

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
    def _matrix(self) -> Array | None:
        small = len(self.points) <= LARGEST_MATRIX
        return np.ascontiguousarray(self.kernel(self.points, self.points)) if small else None

    @cached_property
    def _index(self) -> dict[Point, int]:
        return {tuple(x): i for i, x in reversed(list(enumerate(self.points.tolist())))}


class _Rows:
    """The window's kernel rows, in an append-only buffer that successive states share.

    Each state sees its own slice [start, stop). A row is written behind a slice only if nobody wrote there before, and
    otherwise into a copy: no state ever sees another's rows.
    """

    def __init__(self, rows: Array) -> None:
        self._buffer = np.empty((len(rows) + REFRESH, rows.shape[1]))
        self._buffer[: len(rows)] = rows
        self._filled = [len(rows)]  # one cell, shared by all who share the buffer
        self._start, self._stop = 0, len(rows)

    @property
    def view(self) -> Array:
        return self._buffer[self._start : self._stop]  # (w, n)

    def append(self, row: Array, *, drop: int) -> _Rows:
        """With `row` behind, and without the first `drop` rows."""
        shareable = self._filled[0] == self._stop < len(self._buffer)
        rows = _Rows.__new__(_Rows) if shareable else _Rows(self.view)
        if shareable:
            rows.__dict__.update(self.__dict__)
        rows._buffer[rows._stop] = row
        rows._stop += 1
        rows._filled[0] = rows._stop
        rows._start += drop
        return rows


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """GP(0, k) given a window of observations, at every candidate. The same interface as `Posterior`."""

    grid: Grid
    where: Index  # (w,): the candidates observed, oldest first
    Y: Array  # (w, q): the rewards and, where they are to be standardised, ones beside them
    window: Window  # A⁻¹
    rows: _Rows  # K: (w, n)
    mean: Array  # (q, n): what Y's columns predict
    var: Array  # (n,)
    information_gain: float  # ½ ln det(I + K/λ)
    last: int  # the number of the newest observation
    fixed_units: tuple[float, float] | None = None

    @classmethod
    def prior(cls, grid: Grid) -> GridPosterior:
        """Nothing observed."""
        nothing = np.zeros((0, 2 if grid.standardise else 1))
        return cls._from_contents(grid, np.zeros(0, dtype=np.intp), nothing, 0)

    @classmethod
    def _from_contents(cls, grid: Grid, where: Index, Y: Array, last: int) -> GridPosterior:
        K = grid.rows(where)
        own = K[:, where]
        L, _ = cholesky(own + grid.noise * np.eye(len(own)))
        V = solve_lower(L, K)
        engine = Inverse if grid.noise >= WELL_CONDITIONED else Factor
        return cls(
            grid=grid,
            where=where,
            Y=Y,
            window=engine.of(own, grid.noise),
            rows=_Rows(K),
            mean=solve_lower(L, Y).T @ V,
            var=grid.prior - np.einsum("wn,wn->n", V, V),
            information_gain=float(np.log(np.diagonal(L)).sum() - 0.5 * len(own) * np.log(grid.noise)),
            last=last,
        )

    def __len__(self) -> int:
        return len(self.where)

    # --- the fold -----------------------------------------------------------------------------------------------

    def observe(self, seen: Observation, *, keep: int | None = None) -> GridPosterior:
        """The posterior after `seen`, of the last `keep` observations where that is given.

        When the number passes a multiple of REFRESH the posterior is computed from its contents alone, so that a
        replay of the last keep + REFRESH observations ends in the same bits.
        """
        i = self.grid.index(seen.x)
        full = keep is not None and len(self) >= keep
        if seen.number // REFRESH != self.last // REFRESH:
            kept = slice(int(full), None)
            Y = np.vstack([self.Y[kept], self._target(seen.y)])
            return self._from_contents(self.grid, np.append(self.where[kept], i), Y, seen.number)
        return (self._slide if full else self._append)(i, seen.y, seen.number)

    def _append(self, i: int, y: float, number: int) -> GridPosterior:
        row = self.grid.row(i)
        window, v, s = self.window.append(row[self.where], float(self.grid.prior[i]))
        c = row - v @ self.rows.view
        target = self._target(y)
        return replace(
            self,
            where=np.append(self.where, i),
            Y=np.vstack([self.Y, target]),
            window=window,
            rows=self.rows.append(row, drop=0),
            mean=self.mean + ((target - self.mean[:, i]) / s)[:, None] * c,
            var=self.var - c * c / s,
            information_gain=self.information_gain + 0.5 * math.log(s / self.grid.noise),
            last=number,
        )

    def _slide(self, i: int, y: float, number: int) -> GridPosterior:
        """Forget the oldest and observe candidate i, with one product of the window's rows."""
        row = self.grid.row(i)
        window, p, v, s = self.window.slide(row[self.where[1:]], float(self.grid.prior[i]))
        M = np.zeros((2, len(p)))
        M[0] = p
        M[1, 1:] = v
        changes = M @ self.rows.view  # (2, n): a, and what c is short of
        np.subtract(row, changes[1], out=changes[1])
        forgotten = (p @ self.Y) / -p[0]  # (q,)
        target = self._target(y)
        gained = (target - self.mean[:, i] - forgotten * changes[0, i]) / s
        steps = np.array([forgotten, gained]).T  # (q, 2)
        return GridPosterior(
            grid=self.grid,
            where=np.append(self.where[1:], i),
            Y=np.concatenate([self.Y[1:], target[None]]),
            window=window,
            rows=self.rows.append(row, drop=1),
            mean=self.mean + steps @ changes,
            var=self.var + np.array([1 / p[0], -1 / s]) @ (changes * changes),
            information_gain=self.information_gain + 0.5 * math.log(float(p[0]) * s),
            last=number,
        )

    def imagine(self, points: Sequence[Point]) -> GridPosterior:
        """As if the pending `points` had been answered at the mean: the mean stays, the variance shrinks."""
        imagined = replace(self, fixed_units=self.units)
        location, scale = self.units
        for x in points:
            i = self.grid.index(x)
            mean = float(imagined.predict(self.grid.points)[0][i])
            imagined = imagined._append(i, location + scale * mean, self.last)
        return imagined

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ at the rows of X; at the grid's own points they are already there."""
        if X is not self.grid.points:
            return self.general.predict(X)
        location, scale = self.units
        mean = (self.mean[0] - location * self.mean[1]) / scale if self.grid.standardise else self.mean[0]
        return mean, np.sqrt(np.clip(self.var, 0.0, self.grid.prior))

    def weights(self, X: Array) -> Array:
        """α(x) = A⁻¹k(x), so that μ(x) = α(x)ᵀy: (m, w)."""
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
        return location_scale(self.Y[:, 0]) if self.grid.standardise else (0.0, 1.0)

    @cached_property
    def general(self) -> Posterior:
        """The same posterior, to be asked anywhere."""
        X = self.grid.points[self.where]
        K = self.grid.kernel(X, X)
        return Posterior(self.grid.kernel, self.grid.noise, self.grid.standardise, X, self.Y[:, 0].copy(), K)

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal, relative to its largest entry: 0 nearly always."""
        return self.general.jitter

    def _target(self, y: float) -> Array:
        return np.array([y, 1.0]) if self.grid.standardise else np.array([y])
