"""Rows folded over a window: their one-step forecasts of every reading, and which readings each calls far.

With A = K + diag(noise) = LLᵀ in the order of the log and z = L⁻¹t, the forecast of t_i given those before is
t_i − z_i L_ii with variance (b/a) L_ii². The scale b/a of a row is conjugate: a = S + ½n and b = S + ½Σz² of the
readings before, so that the forecast is Student's t with 2a degrees of freedom, and no scale is fitted. All warps share
the factor, since they change the right-hand side alone. A far reading has a noise of FAR and 0 in its place, so that it
says nothing, however large it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftwise.auto.far import Judged, judge
from driftwise.auto.pieces import Pieces
from driftwise.auto.rows import Hypotheses, Row
from driftwise.auto.window import Readings
from driftwise.gp.linalg import cholesky, solve_lower, whitened
from driftwise.gp.noise import LEAST
from driftwise.records import Array

FAR = 1e4  # the noise of a far reading, relative to the function's variance
PASSES = 12  # over the readings of a row, each of which gets at least one more label right
CLOSE = 20.0  # nats behind the best: further back, what is called far makes no difference
FAINTEST = 0.01  # b/a at least where noise of a known size may be all that there is
Labels = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sheaf:
    """R rows on one window of n readings and w warps."""

    table: Hypotheses
    window: Readings
    rows: tuple[Row, ...]
    variances: Array  # L_ii² without FAR: (R, n)
    errors: Array  # t_i less its forecast: (R, w, n)
    labels: Labels  # which readings a row calls far: (R, n)
    known: Array | None = None  # the known noise of each reading relative to its forecast's variance: (R, n)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def first(self) -> NDArray[np.intp]:
        return np.array([self.window.first(row) for row in self.rows], dtype=np.intp)

    @cached_property
    def _alive(self) -> Labels:
        return np.arange(len(self.window)) >= self.first[:, None]

    @cached_property
    def scales(self) -> tuple[Array, Array]:
        """a, (R, n + 1), and b, (R, w, n + 1), before each reading and after the last."""
        counts = np.where(self._alive & ~self.labels, 1.0, 0.0)
        squares = counts[:, None, :] * np.square(self.errors) / self.variances[:, None, :]
        if self.known is not None:  # noise of a known size says nothing about the scale
            p = np.maximum(1 - self.known, 0.0)
            squares = p[:, None, :] * (squares - (counts * self.known)[:, None, :])
            counts = counts * p * p
        a, b = (self.table.strength + 0.5 * _sums_before(each) for each in (counts, squares))
        return a, b if self.known is None else np.maximum(b, FAINTEST * a[:, None, :])

    @cached_property
    def regular(self) -> Array:
        """log p(y_i | those before) if it is regular, in the reward's unit: (R, w, n)."""
        a, b = self.scales[0][:, None, :-1], self.scales[1][:, :, :-1]
        squares = np.square(self.errors) / self.variances[:, None, :]
        log_normal = gamma_ratio(a) - 0.5 * np.log(2 * math.pi * b * self.variances[:, None, :])
        return log_normal - (a + 0.5) * np.log1p(squares / (2 * b)) + self.window.log_slopes

    @cached_property
    def judged(self) -> Judged:
        return judge(self.window, self.regular, self.first)

    @property
    def log_density(self) -> Array:
        """log p(y_i | those before), far or not: (R, w, n), 0 before a row's first reading."""
        return self.judged.log_density

    @cached_property
    def pivots(self) -> Array:
        """L_ii²: (R, n)."""
        return self.variances + FAR * self.labels

    @cached_property
    def z(self) -> Array:
        """L⁻¹t, with 0 in the place of far readings and before a row's first: (R, w, n)."""
        z = self.errors / np.sqrt(self.pivots)[:, None, :]
        for i in np.flatnonzero(self.labels.any(axis=1)).tolist():
            far = self.labels[i]
            left = targets_of(self.table, self.window, self.rows[i])[:, far]
            z[i][:, far] = (self.errors[i][:, far] - left) / np.sqrt(self.pivots[i, far])
        return z * self._alive[:, None, :]

    @cached_property
    def noises(self) -> Array:
        """What is on the diagonal of each row's matrix beside the covariance: (R, n)."""
        assumed = np.array([self.window.noises(row) for row in self.rows])
        if self.known is not None:
            known = self.known * self.variances
            assumed = np.where(known > 0, known, assumed)
        return assumed + FAR * self.labels

    def only(self, rows: Sequence[int] | NDArray[np.intp]) -> Sheaf:
        rows = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            rows=tuple(self.rows[i] for i in rows),
            variances=self.variances[rows],
            errors=self.errors[rows],
            labels=self.labels[rows],
            known=None if self.known is None else self.known[rows],
        )

    def beside(self, other: Sheaf) -> Sheaf:
        """The rows of both, on the same window."""
        return replace(
            self,
            rows=self.rows + other.rows,
            variances=np.vstack([self.variances, other.variances]),
            errors=np.concatenate([self.errors, other.errors]),
            labels=np.vstack([self.labels, other.labels]),
            known=None if self.known is None or other.known is None else np.vstack([self.known, other.known]),
        )


def _sums_before(terms: Array) -> Array:
    """The sum of the terms before each one, and of all."""
    sums = np.zeros((*terms.shape[:-1], terms.shape[-1] + 1))
    np.cumsum(terms, axis=-1, out=sums[..., 1:])
    return sums


_GAMMAS = gammaln(0.5 * np.arange(1, 6000))


def gamma_ratio(a: Array) -> Array:
    """log Γ(a + ½) − log Γ(a); from a table where 2a is a whole number."""
    twice = np.rint(2 * a).astype(np.intp)
    if twice.max(initial=0) < len(_GAMMAS) - 1 and np.array_equal(twice, 2 * a):
        return _GAMMAS[twice] - _GAMMAS[twice - 1]
    return gammaln(a + 0.5) - gammaln(a)


def nothing(table: Hypotheses, window: Readings) -> Sheaf:
    n, w = len(window), len(window.warps)
    return Sheaf(table, window, (), np.ones((0, n)), np.zeros((0, w, n)), np.zeros((0, n), dtype=bool))


def fold(
    table: Hypotheses, window: Readings, rows: Sequence[Row], labels: Labels, best: float = -math.inf
) -> Pieces[Sheaf]:
    """These rows on a window. `labels` are a first guess of what is far, (n,); `best` is a log likelihood to beat.

    What is far follows from the forecasts, and these from what is far. In the order of the log both are determined by
    what was before, so that guesses that agree with themselves are right; each pass gets at least one more right.
    """
    n, w, R = len(window), len(window.warps), len(rows)
    variances, errors, guess = np.ones((R, n)), np.zeros((R, w, n)), np.tile(labels, (R, 1))
    if not R:
        return nothing(table, window)
    T = window.in_time(rows)
    space: dict[tuple[int, tuple[int, ...]], Array] = {}
    todo, known = np.arange(R), None
    ratio = np.zeros((R, n)) if window.data.known_std is not None else None
    first = np.array([window.first(row) for row in rows], dtype=np.intp)
    guess &= np.arange(n) > first[:, None]
    for _ in range(PASSES):
        for i in todo.tolist():
            row, f = rows[i], int(first[i])
            key = row.kernel, row.bends
            if key not in space:
                space[key] = window.in_space(table, row)
            A = window.covariance(row, space[key], T)
            variances[i, f:], errors[i, :, f:], known = factor(table, window, row, A, guess[i, f:])
            if ratio is not None and known is not None:
                ratio[i, f:] = known
            yield float((n - f) ** 3 + 30 * (n - f) ** 2 + 1_000_000)
        made = Sheaf(table, window, tuple(rows), variances, errors, guess, ratio)
        found = made.judged.far
        likely = made.log_density.sum(axis=2).max(axis=1)
        best = max(best, float(likely.max()))
        todo = np.flatnonzero((found != guess).any(axis=1) & (likely > best - CLOSE))
        if not len(todo):
            break
        guess = guess.copy()
        guess[todo] = found[todo]
    return made


def factor(table: Hypotheses, window: Readings, row: Row, A: Array, far: Labels) -> tuple[Array, Array, Array | None]:
    """L_ii² without FAR, the errors of the forecasts, and the part of the variance that is noise of a known size."""
    f = window.first(row)
    targets = targets_of(table, window, row)[:, f:]
    left = np.where(far, targets, 0.0)
    targets, noises, known = targets - left, window.noises(row)[f:], None
    if window.data.known_std is not None:
        square, given = 1.0, window.data.known_std[f:] / window.units.scale**2
        for _ in range(2):  # the scale of a first pass, to compare the known noise with
            noises = np.where(given > 0, np.maximum(given / square, LEAST), window.noises(row)[f:])
            pivots, z = _whitened(A, noises + FAR * far, targets)
            known = np.where(given > 0, noises / np.maximum(np.square(pivots) - FAR * far, 1e-300), 0.0)
            p = np.maximum(1 - known, 0.0) * ~far
            rate = table.strength + 0.5 * float(np.maximum(p * (np.square(z[0]) - known), 0.0).sum())
            square = max(rate / (table.strength + 0.5 * float(p @ p)), FAINTEST)
    else:
        pivots, z = _whitened(A, noises + FAR * far, targets)
    return np.maximum(np.square(pivots) - FAR * far, LEAST), z * pivots + left, known


def targets_of(table: Hypotheses, window: Readings, row: Row) -> Array:
    """Less what is known of the row's mean: (w, n)."""
    mean = table.mean(row, window.data.X)
    return window.targets if mean is None else window.targets - mean


def _whitened(A: Array, noises: Array, targets: Array) -> tuple[Array, Array]:
    """L's diagonal, and z = L⁻¹t: (w, n)."""
    noisy = A.copy()
    noisy.ravel()[:: len(A) + 1] += noises
    found = whitened(noisy, targets.T)
    if found is None:  # too close to singular
        L, _ = cholesky(A, noises)
        found = L, solve_lower(L, targets.T)
    L, z = found
    return np.diagonal(L).copy(), z.T
