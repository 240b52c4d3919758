"""The readings that rows are folded over: settings, times, and rewards on every warp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.rows import Hypotheses, Row
from driftwise.auto.warps import Standard, Warp, robust, warps_of
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

SHIFT = 4.0  # variance of another level, relative to the function's
WIDTH = 0.25  # of the neighbourhood in which far readings are expected again, in parts of the space, times √(d/2)
WHOLE = 4096.0  # gaps up to which kernels of time are tabulated if all gaps are whole numbers


@dataclass(frozen=True, eq=False)
class Readings:
    """n readings on w warps."""

    data: Observations
    warps: tuple[Warp, ...]
    units: Standard

    @classmethod
    def of(cls, data: Observations, known: Standard | None) -> Readings:
        weights = data.place_weights if len(data) else np.zeros(0)
        units = robust(data.y, weights) if known is None else known
        plain = data.known_std is not None
        return cls(data, warps_of(data.y, weights, known=units if known is not None or plain else None), units)

    def __len__(self) -> int:
        return len(self.data)

    def followed_by(self, later: Observations) -> Readings:
        """With further readings, on the same warps, which now reach to these."""
        warps = tuple(warp.reaching(later.y) for warp in self.warps)
        return replace(self, data=self.data.followed_by(later), warps=warps)

    @cached_property
    def _warped(self) -> tuple[Array, Array]:
        each = [warp.targets(self.data.y) for warp in self.warps]
        return np.array([t for t, _ in each]), np.array([s for _, s in each])

    @cached_property
    def places(self) -> float:
        """How many places were read: 1 at least, and infinitely many where the scale is known."""
        known = not self.data.frame.standardise or self.data.frame.past is not None
        return np.inf if known else max(float(self.data.place_weights.sum()), 1.0) if len(self.data) else 1.0

    @property
    def targets(self) -> Array:
        """t: (w, n)."""
        return self._warped[0]

    @property
    def log_slopes(self) -> Array:
        """log dt/dy: (w, n)."""
        return self._warped[1]

    @cached_property
    def far(self) -> tuple[Array, Array]:
        """Where far readings are: arsinh of the standardised rewards, and its log slope: (n,) both."""
        v = self.units.standard(self.data.y)
        return np.arcsinh(v), -np.log(self.units.scale) - 0.5 * np.log1p(v * v)

    def near(self, X: Array) -> Array:
        """g(x, x_j), a Gaussian of the distance: (m, n)."""
        sides = np.array(self.data.frame.sides)
        U, V = X / sides, self.data.X / sides
        squares = np.square(U).sum(axis=1)[:, None] + np.square(V).sum(axis=1)[None, :] - 2 * (U @ V.T)
        return np.exp(-0.5 * np.maximum(squares, 0.0) / self.data.frame.neighbourhood**2)

    @cached_property
    def around(self) -> Array:
        """The same between the readings: (n, n)."""
        return self.near(self.data.X)

    def noises(self, row: Row) -> Array:
        """The noise of each reading relative to the function's variance, where it is not known: (n,)."""
        return np.full(len(self), row.noise) if self.data.own is None else row.noise * self.data.own[:, 1]

    # --- covariances ----------------------------------------------------------------------------------------------

    def first(self, row: Row) -> int:
        return self.data.place(row.since) if row.since else 0

    def covariance(self, row: Row, K: Array, T: Mapping[TimeKernel, Array], new: int = 0) -> Array:
        """Of what the row uses: rows from index `new` on, columns all; K and T are those in space and in time."""
        f = self.first(row)
        rows = slice(max(f - new, 0), None)
        A: Array = K[rows, f:] * T[row.time][rows, f:]
        if row.level is not None:
            A += row.level.variance * T[row.level.time][rows, f:]
        if row.shift:
            place = self.data.place(row.shift)
            A[max(place - new, 0) :, place:] += SHIFT
        return A

    def in_space(self, table: Hypotheses, row: Row, new: int = 0) -> Array:
        return table.kernel(row)(self.data.X[new:], self.data.X)

    def in_time(self, rows: Iterable[Row], new: int = 0) -> dict[TimeKernel, Array]:
        return in_time(rows, self.data.clock[new:], self.data.clock)


def in_time(rows: Iterable[Row], now: Array, clock: Array) -> dict[TimeKernel, Array]:
    """k_T of all pairs; if gaps are whole numbers, as those between steps are, each gap is computed once."""
    kernels = dict.fromkeys(time for row in rows for time in (row.time, *((row.level.time,) if row.level else ())))
    gaps = np.abs(now[:, None] - clock[None, :])
    longest = float(gaps.max(initial=0.0))
    whole = gaps.astype(np.int64) if longest < WHOLE else None
    if whole is None or not np.array_equal(whole, gaps):
        return {kernel: kernel(now, clock) for kernel in kernels}
    ages = np.arange(longest + 1)
    return {kernel: kernel(np.zeros(1), ages)[0].take(whole) for kernel in kernels}
