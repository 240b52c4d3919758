"""The same posterior on finitely many candidates, updated at all of them while the window slides.

With K the kernel rows of the distinct candidates in the window, (m, n), c how often each was observed, ȳ the means of
its rewards, and A = K + diag(λ/c) among themselves,

    mean = Kᵀ A⁻¹ ȳ,    var = k(x, x) − the diagonal of Kᵀ A⁻¹ K

which a slide changes as `gp/window` has it. Its vectors also turn A⁻¹K, of which the weights α of the observations are
made, into the next: it changes by ∓ u (Kᵀu)ᵀ.

While the window has an observation with a noise of its own (`gp/noise.py`), everything is computed afresh at each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Kernel
from driftwise.gp.linalg import add_outer, cholesky, solve_lower
from driftwise.gp.noise import PLAIN, Own, Pair, appended, location_scale, log_total, pair_of, selected, variances
from driftwise.gp.posterior import Posterior
from driftwise.gp.window.inverse import Factor, Inverse, WindowInverse
from driftwise.gp.window.slots import Exchange, Index, Slots, distinct
from driftwise.gp.window.sweep import Move, swept
from driftwise.records import Array, Observation, Point

Units = tuple[float, float]

REFRESH = 512  # everything is computed afresh when the observation's number passes a multiple of this
# the noise, as a part of the largest prior variance:
WELL_CONDITIONED = 5e-3  # from here on, updating the inverse is accurate enough
SINGULAR = 1e-7  # below this nothing is updated: every step computes everything afresh
COMPILED_FROM = 256  # candidates from which on a compiled step pays for loading Numba
COMPILED_TO = 128  # distinct candidates in a window up to which it is the faster one with every BLAS
LARGEST_MATRIX = 2500  # candidates up to which the whole kernel matrix is stored (50 MB)


@cache
def compiled_functions() -> ModuleType | None:
    """`gp/window/compiled_slots.py` if Numba is installed, else None."""
    return import_module("driftwise.gp.window.compiled_slots") if find_spec("numba") else None


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

    @property
    def columns(self) -> int:
        """q: the mean is that of rewards and, if these are standardised, of ones."""
        return 2 if self.standardise else 1

    def target(self, y: float) -> Array:
        """A reward and, if rewards are standardised, a one: (q,)."""
        return np.array([y, 1.0])[: self.columns]

    def row(self, i: int) -> Array:
        """k(x_i, ·) at every candidate: (n,)."""
        if self.matrix is not None:
            return self.matrix[i]
        return self.kernel(self.points[i : i + 1], self.points)[0]

    def rows(self, indices: Index) -> Array:
        """k(x_i, ·) for several i: (w, n)."""
        if self.matrix is not None:
            return self.matrix[indices]
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
    def matrix(self) -> Array | None:
        """k(x, x′) of all pairs of candidates, if these are few: (n, n)."""
        small = len(self.points) <= LARGEST_MATRIX
        return np.ascontiguousarray(self.kernel(self.points, self.points)) if small else None

    @cached_property
    def compiled(self) -> ModuleType | None:
        """Functions of Numba, if that is installed and pays here; a rule of the grid alone, so that replay is exact."""
        if self.relative_noise < WELL_CONDITIONED or not COMPILED_FROM <= len(self.points) <= LARGEST_MATRIX:
            return None
        return compiled_functions()

    @cached_property
    def _index(self) -> dict[Point, int]:
        return {tuple(x): i for i, x in reversed(list(enumerate(self.points.tolist())))}


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """GP(0, k) given a window of observations, at every candidate. The same interface as `Posterior`."""

    grid: Grid
    held: Slots  # the observations
    inverse: WindowInverse  # A⁻¹, with a row for each slot
    mean: Array  # (q, n): what Y's columns predict
    var: Array  # (n,)
    information_gain: float  # ½ ln det(I + K/λ), with a row for each observation
    last: int  # the number of the newest observation
    fixed_units: tuple[float, float] | None = None
    solved: Array | None = None  # (m, n): A⁻¹K, updated if `weighing` asked for it
    own: Own = None  # (w, 2): the noises of the observations' own, if any has one; then each has its own slot

    @classmethod
    def prior(cls, grid: Grid) -> GridPosterior:
        """Nothing observed."""
        return cls._from_contents(grid, np.zeros(0, dtype=np.intp), np.zeros(0), 0)

    @classmethod
    def _from_contents(
        cls, grid: Grid, where: Index, y: Array, last: int, *, own: Own = None, units: Units | None = None
    ) -> GridPosterior:
        candidates, slots = distinct(where) if own is None else (where, np.arange(len(where)))
        K = grid.rows(candidates)
        held, inner = Slots.of(slots, y, candidates, K, q=grid.columns), K[:, candidates]
        counts = held.counts
        noises = grid.noise / counts if own is None else _noises(grid, y, own, units)
        L, jitter = cholesky(inner, noises)
        V = solve_lower(L, K)
        well = own is None and grid.relative_noise >= WELL_CONDITIONED
        factor = Factor(inner, noises, grid.noise, (L, jitter))
        return cls(
            grid=grid,
            held=held,
            inverse=Inverse.of(inner, grid.noise, counts) if well else factor,
            mean=np.ascontiguousarray(solve_lower(L, held.means.T).T @ V),
            var=grid.prior - np.einsum("mn,mn->n", V, V),
            information_gain=float(np.log(np.diagonal(L)).sum() - 0.5 * log_total(noises, len(inner))),
            last=last,
            fixed_units=units,
            own=own,
        )

    def __len__(self) -> int:
        return len(self.held.log)

    @property
    def where(self) -> Index:
        """The candidates observed, oldest first: (w,)."""
        return self.held.where

    @property
    def y(self) -> Array:
        """The rewards, oldest first: (w,)."""
        return self.held.log.column(1)

    def weighing(self) -> GridPosterior:
        """The same, with α(x) = A⁻¹k(x) updated at every candidate along with mean and variance."""
        solved = self.inverse.solve(self.held.rows.column(1))
        return replace(self, solved=np.ascontiguousarray(solved) * (self.held.counts > 0)[:, None])

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
        where, rewards = np.append(self.where[drop:], i), np.append(self.y[drop:], y)
        pairs = selected(appended(self.own, len(self), own), slice(drop, None))
        fresh = self._from_contents(self.grid, where, rewards, number, own=pairs, units=units)
        return fresh if self.solved is None else fresh.weighing()

    def _change(self, i: int, y: float, number: int, *, drop: int) -> GridPosterior:
        """Observe candidate i and, if drop is 1, forget the oldest."""
        grid, solved, forget = self.grid, self.solved, drop == 1
        held, how = self.held.exchange(i, y, grid.row, forget=forget)
        inverse: WindowInverse
        if solved is None and grid.compiled is not None and len(how.candidates) <= COMPILED_TO:
            inverse, mean, var, gain = self._compiled(how)
        else:
            inverse, U, roots = self.inverse.exchange(how)
            move = Move.of(how, U, roots, grid.noise)
            mean, var, C = swept(self.mean, self.var, move, how.K)
            solved, gain = None if solved is None else _solved(solved, how, U, C), move.gain
        if held.crowded():
            used = held.counts.nonzero()[0]
            held, inverse, solved = held.only(used), inverse.select(used), None if solved is None else solved[used]
        after = object.__new__(GridPosterior)  # a frozen dataclass takes three times as long to set its fields
        after.__dict__.update(
            grid=grid,
            held=held,
            inverse=inverse,
            mean=mean,
            var=var,
            information_gain=self.information_gain + gain,
            last=number,
            fixed_units=self.fixed_units,
            solved=solved,
            own=None,
        )
        return after

    def _compiled(self, how: Exchange) -> tuple[Inverse, Array, Array, float]:
        """A⁻¹, mean and variance after a slide, and what the information gain grows by, by one function of Numba."""
        grid, inverse, leaving, (entering, stay, gain) = self.grid, self.inverse, how.leaving, how.entering
        assert grid.compiled is not None
        assert isinstance(inverse, Inverse)
        out, left, loss = (-1, 0, 0.0) if leaving is None else leaving
        P, mean, var, grown = grid.compiled.slide(
            *(inverse.P, grid.matrix, how.candidates, how.means, self.mean, self.var, grid.noise),
            *(out, left, loss, entering, stay, gain, how.gone),
        )
        return Inverse(P, grid.noise), mean, var, grown

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
            if self.own is not None or self._due(self.last):
                imagined = imagined._afresh(i, y, self.last, PLAIN, drop=0, units=self.units)
            else:
                imagined = imagined._change(i, y, self.last, drop=0)
        return imagined

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ at the rows of X; at all candidates they are up to date already."""
        if not self.grid.is_all(X):
            return self.general.predict(X)
        return self._target_mean(), self._std()

    def upper(self, X: Array, beta: float) -> Array:
        """μ + βσ at the rows of X: (m,)."""
        if not self.grid.is_all(X):
            mean, std = self.predict(X)
            return mean + beta * std
        if self.grid.compiled is not None:
            bound: Array = self.grid.compiled.upper(self._target_mean(), self.var, self.grid.prior, float(beta))
            return bound
        bound = self._std()
        bound *= beta
        bound += self._target_mean()
        return bound

    def _std(self) -> Array:
        """σ at every candidate: (n,)."""
        std = np.maximum(self.var, 0.0)  # two ufuncs are twice as fast as np.clip
        np.minimum(std, self.grid.prior, out=std)
        np.sqrt(std, out=std)
        return std

    def _target_mean(self) -> Array:
        """μ at all candidates, of rewards that are standardised or not: (n,)."""
        if not self.grid.standardise:
            return self.mean[0]
        location, scale = self.units
        return (self.mean[0] - location * self.mean[1]) / scale

    def weights(self, X: Array) -> Array:
        """α(x) = A⁻¹k(x), so that μ(x) = α(x)ᵀy: (m, w)."""
        if self.solved is not None and self.grid.is_all(X):
            return self.solved[self.held.slots].T / self.held.counts[self.held.slots]
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
        return _units(self.grid, self.y, self.own)

    @cached_property
    def general(self) -> Posterior:
        """The same posterior, to be asked anywhere."""
        X, grid = self.observed, self.grid
        y, K = self.y.copy(), grid.kernel(X, X)
        return Posterior(grid.kernel, grid.noise, grid.standardise, X, y, K, self.fixed_units, own=self.own)

    @property
    def jitter(self) -> float:
        """What had to be added to the diagonal, relative to its largest entry: 0 nearly always."""
        return self.inverse.jitter


def _solved(before: Array, how: Exchange, U: Array, C: Array) -> Array:
    """A⁻¹K, (m, n), after a slide: it is 0 where a slot is free."""
    after = np.zeros((U.shape[1], C.shape[1]))
    after[: len(before)] = before
    if len(U) > 1:
        after = add_outer(after, U[0], C[0], sign=-1.0)
    if how.freed is not None:
        after[how.freed] = 0.0
    return add_outer(after, U[-1], C[-1], sign=1.0)[how.gone :]


def _units(grid: Grid, y: Array, own: Own) -> Units:
    """(location, scale) of rewards y."""
    return location_scale(y, own) if grid.standardise else (0.0, 1.0)


def _noises(grid: Grid, y: Array, own: Array, units: Units | None) -> Array:
    """The noise variance of each observation: (w,). The scale is that of the rewards, or of `units` if given."""
    scale = (units or _units(grid, y, own))[1] if grid.standardise else 1.0
    return np.asarray(variances(own, grid.noise, scale=scale, prior=float(grid.prior.max())))
