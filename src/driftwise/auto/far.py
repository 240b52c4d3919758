"""Far readings: errors, and places where the function itself is far (a cliff, a failure, a timeout).

Any reading may be far: drawn from a broad Student's t of its own, in arsinh units, instead of from the function. Then
it is an error, at a rate r with a Beta prior, or the function itself, at a rate that depends on the place,

    π(x) = (SEEDED + Σ q_j g(x, x_j)) / (1 + Σ g(x, x_j)),     q_j = P(far) π/(π + r)  when reading j arrived.

One wrong reading among many good ones is thus an error, and three in a corner are a cliff.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr

from driftwise.auto.window import Readings
from driftwise.records import Array

SEEDED = 0.02  # π where nothing was read
ERRORS, REGULAR = 0.5, 49.5  # readings that the Beta prior of the rate of errors is worth
SHAPE, BROAD, FEW = 1.5, 2.5, 0.1  # of far readings: the prior's shape, scale in arsinh units, and worth of its mean
CAPPED = 0.95  # the rate of far readings at most
SUSPECT = 1.0  # log ratio of densities, far to regular, below which a reading is as expected


@dataclass(frozen=True, eq=False)
class Scale:
    """A normal-inverse-gamma belief about the location and the scale of far readings, one for each of R rows."""

    n: Array
    mean: Array
    squares: Array

    @classmethod
    def prior(cls, rows: int) -> Scale:
        return cls(np.zeros(rows), np.zeros(rows), np.zeros(rows))

    @property
    def moments(self) -> tuple[Array, Array, Array]:
        """Degrees of freedom, location and scale of the next far reading: (R,) each."""
        k, a = FEW + self.n, SHAPE + 0.5 * self.n
        location = self.n * self.mean / k
        b = SHAPE * BROAD**2 + 0.5 * self.squares + 0.5 * FEW * self.n / k * self.mean**2
        return 2 * a, location, np.sqrt(b / a * (k + 1) / k)

    def log_density(self, u: float | Array) -> Array:
        df, location, scale = self.moments
        z = (u - location) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        return constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df)

    def after(self, u: float, weight: Array) -> Scale:
        """After a reading that is far with this probability."""
        n = self.n + weight
        step = np.where(n > 0, weight / np.maximum(n, 1e-300), 0.0) * (u - self.mean)
        return Scale(n, self.mean + step, self.squares + weight * (u - self.mean) * (u - self.mean - step))

    def below(self, u: Array) -> Array:
        """P(far reading < u): (R, m)."""
        df, location, scale = self.moments
        return stdtr(df[:, None], (u[None, :] - location[:, None]) / scale[:, None])


@dataclass(frozen=True, eq=False)
class Judged:
    """What R rows make of n readings: log densities (R, w, n), which are far, and how much of that is the function."""

    log_density: Array  # of each reading, on each warp
    far: NDArray[np.bool_]  # (R, n)
    share: Array  # q: (R, n)
    scale: Scale


def judge(window: Readings, regular: Array, first: NDArray[np.intp]) -> Judged:
    """The mixture of `regular` log densities in the reward's unit, (R, w, n), with those of far readings.

    A row's first reading is as it is. Only readings that are not as a row expects are looked at one by one.
    """
    R, _, n = regular.shape
    u, log_slope = window.far
    alive = np.arange(n) >= first[:, None]
    mixed, far = np.where(alive[:, None, :], regular, 0.0), np.zeros((R, n), dtype=bool)
    share, wrong = np.zeros((R, n)), np.zeros((R, n))
    scale, evidence, done = Scale.prior(R), np.zeros(regular.shape[:2]), 0
    suspects = (_broad(u) + log_slope - regular.max(axis=1) > SUSPECT) & alive  # (R, n)
    before = np.tril(window.around, -1)
    total = 1 + before.sum(axis=1)
    worth = ERRORS + REGULAR + np.maximum(np.arange(n) - first[:, None], 0)
    for i in np.flatnonzero(suspects.any(axis=0)).tolist():
        evidence += mixed[:, :, done:i].sum(axis=2)
        r = (ERRORS + wrong[:, :i].sum(axis=1)) / worth[:, i]
        place = (SEEDED + share[:, :i] @ before[i, :i]) / total[i]
        rate = np.minimum(r + place, CAPPED)
        log_far = scale.log_density(float(u[i])) + log_slope[i] + np.log(rate)
        both = np.logaddexp(log_far[:, None], regular[:, :, i] + np.log1p(-rate)[:, None])
        of_warp = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        of_warp /= of_warp.sum(axis=1, keepdims=True)
        judged = suspects[:, i] & (i > first)
        p = np.where(judged, (of_warp * np.exp(log_far[:, None] - both)).sum(axis=1), 0.0)
        share[:, i], wrong[:, i], far[:, i] = p * place / (place + r), p * r / (place + r), p > 0.5
        scale = scale.after(float(u[i]), p)
        mixed[:, :, i] = np.where(judged[:, None], both, mixed[:, :, i])
        evidence, done = evidence + mixed[:, :, i], i + 1
    errors = np.cumsum(wrong, axis=1) - wrong
    rates = (ERRORS + errors) / worth + (SEEDED + share @ before.T) / total
    usual = np.log1p(-np.minimum(rates, CAPPED))
    mixed += np.where(alive & ~suspects, usual, 0.0)[:, None, :]
    return Judged(mixed, far, share, scale)


def _broad(u: Array) -> Array:
    """The log density of a first far reading."""
    return np.asarray(Scale.prior(len(u)).log_density(u))


def place_rate(window: Readings, share: Array, X: Array) -> tuple[Array, Array]:
    """π at the rows of X and its gradient, for one vector of shares q: (m,), (m, d)."""
    g = window.near(X)
    total, far = 1 + g.sum(axis=1), SEEDED + g @ share
    pi = far / total
    # ∇g_j = −g_j (x − x_j)/(sides² width²)
    C = g * (share[None, :] - pi[:, None]) / total[:, None]
    scales = np.square(np.array(window.data.frame.sides) * window.data.frame.neighbourhood)
    return pi, (C @ window.data.X - C.sum(axis=1)[:, None] * X) / scales
