"""The effect of a candidate by randomisation alone: an interval that holds at all times, under any drift.

A reading goes to the candidate (A = 1) with a known probability p, else to the incumbent. Before it is known its reward
is forecast by m, and d = y − m is what is left. The scores of augmented inverse-propensity weighting, weighted by their
overlap q = p(1 − p), are

    X(τ) = (A − p) d − q τ,

whose mean given the past is q · (effect − τ), whatever the forecasts are and however the world drifts: good forecasts
only make them smaller. If the effect is τ, X = (A − p) u, where u = d + (1 − A − p) τ does not depend on the role. So

    exp(λ ΣX − λ² V/2),   V = Σ (X² + 2 q u²)/3

is a supermartingale for every λ, noise and drift (Delyon 2009: exponential inequalities for sums of weakly dependent
variables); for λ > 0 also where no effect is above τ, for λ < 0 where none is below. So is its mixture over λ > 0
with a Gaussian of precision η (Howard, Ramdas, McAuliffe and Sekhon 2021: the one-sided normal mixture), which exceeds
1/α at any time with probability α at most. If effects vary about τ, the same holds for their running mean with
V = ΣX², asymptotically (Waudby-Smith and others 2024: time-uniform central limit theory); of a role with few readings
FEW more are added, as large as its mean. The larger V is taken: a larger one is always right.

All functions work on numbers and, of many trials at once, on arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from driftwise.records import Array

TIGHT = 8.0  # η in variances of a reading: the interval is tightest at about 200 readings, half of them the candidate's
FEW = 2.0  # readings of a role by which the sum of its squares is taken to be too small
HALVINGS = 60  # of an interval's end


class Sums(NamedTuple):
    """What the readings of a trial say about the effect: polynomials in τ. Each is a number, or an array of trials."""

    readings: Any = 0.0
    candidates: Any = 0.0  # of these, the candidate's
    overlap: Any = 0.0  # Σ q
    product: Any = 0.0  # Σ (A − p) d
    squares: Any = (0.0, 0.0, 0.0)  # Σ X²: coefficients of 1, τ and τ²
    own: Any = (0.0, 0.0, 0.0)  # the same over the candidate's readings
    spread: Any = (0.0, 0.0, 0.0)  # Σ q u²

    def after(self, role: Any, share: Any, residual: Any) -> Sums:
        """With one more reading: A, p and d."""
        lean, q, other = role - share, share * (1 - share), 1 - role - share
        product = lean * residual
        squares = (product * product, -2 * product * q, q * q)
        spread = (q * residual * residual, 2 * q * residual * other, q * other * other)
        return Sums(
            self.readings + 1,
            self.candidates + role,
            self.overlap + q,
            self.product + product,
            _plus(self.squares, squares),
            _plus(self.own, squares, role),
            _plus(self.spread, spread),
        )

    @property
    def effect(self) -> Any:
        """The estimate: the mean of the scores; 0 before there is any."""
        return self.product / np.maximum(self.overlap, 1e-300)

    def shrunk(self, readings: float) -> Any:
        """The estimate as if as many readings as these, half of them the candidate's, had shown none."""
        return self.product / (self.overlap + readings / 4)

    def evidence(self, effect: Any, eta: Any, *, side: float) -> Any:
        """log of the martingale against `effect` or less (side 1), against `effect` or more (side −1)."""
        total = side * (self.product - self.overlap * effect)
        squares, own, spread = (_at(each, effect) for each in (self.squares, self.own, self.spread))
        others = np.maximum(self.readings - self.candidates, 1)
        few = FEW * (own / np.maximum(self.candidates, 1) + np.maximum(squares - own, 0) / others)
        variance = np.maximum(squares + few, (squares + 2 * spread) / 3) + eta
        z = total / np.sqrt(variance)
        return math.log(2) + 0.5 * np.log(eta / variance) + 0.5 * z * z + log_ndtr(z)

    def interval(self, eta: float, alpha: float) -> tuple[float, float]:
        """The effects that neither side speaks against with α each: infinite at first."""
        return self._end(eta, alpha, 1.0), self._end(eta, alpha, -1.0)

    def _end(self, eta: float, alpha: float, side: float) -> float:
        """The effect nearest to the estimate against which there is evidence, by doubling and halving."""
        against, centre = math.log(1 / alpha), float(self.effect)

        def found(distance: float) -> bool:
            return bool(self.evidence(centre - side * distance, eta, side=side) >= against)

        width = math.sqrt(eta) / max(float(self.overlap), 0.1)
        for _ in range(HALVINGS):
            if found(width):
                break
            width *= 2
        else:
            return -side * math.inf
        low, high = 0.0, width
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if found(middle) else (middle, high)
        return centre - side * high


def _plus(sums: Any, more: Any, times: Any = 1.0) -> Any:
    return tuple(a + times * b for a, b in zip(sums, more, strict=True))


def _at(coefficients: Any, effect: Any) -> Any:
    """A polynomial; rounding can leave −1e−17 of a square."""
    one, linear, square = coefficients
    return np.maximum(one + effect * (linear + effect * square), 0.0)


# --- forecasts --------------------------------------------------------------------------------------------------------

RATES = np.array([0.01, 0.03, 0.1, 0.25, 0.5, 0.8])  # at which a level may follow the readings
FADE = 0.98  # of how well each rate forecast, with every reading
FAR = 3.0  # standard deviations beyond which an error says no more about a rate, or about the scale


class Forecasts(NamedTuple):
    """The level that is common to both roles, forecast by the rates that forecast best so far."""

    levels: Array  # (..., rates)
    losses: Array  # (..., rates)
    variance: Any  # of a reading about the forecast

    @classmethod
    def of(cls, level: Any, scale: Any) -> Forecasts:
        """As it is known before a trial: one, or an array of them."""
        each = np.asarray(level, dtype=float)[..., None]
        return cls(each + 0 * RATES, 0 * each + 0 * RATES, np.asarray(scale, dtype=float) ** 2)

    @property
    def forecast(self) -> Any:
        weights = np.exp(self.losses.min(axis=-1, keepdims=True) - self.losses)
        return (weights * self.levels).sum(axis=-1) / weights.sum(axis=-1)

    def after(self, reading: Any) -> Forecasts:
        """After a reading, without the effect of its role."""
        reading = np.asarray(reading, dtype=float)
        error = reading[..., None] - self.levels
        loss = np.minimum(error * error / self.variance[..., None], FAR**2) / 2
        own = np.minimum((reading - self.forecast) ** 2, FAR**2 * self.variance)
        variance = np.maximum(self.variance + 0.05 * (own - self.variance), 1e-6 * self.variance)
        return Forecasts(self.levels + RATES * error, FADE * self.losses + loss, np.maximum(variance, 1e-300))


SHRINK = 10.0  # readings without an effect, by which forecasts shrink it


class Comparison(NamedTuple):
    """A trial so far: what is forecast next, and what the readings said. `eta` is chosen before the first of them."""

    level: Forecasts
    sums: Sums
    eta: Any

    @classmethod
    def of(cls, level: Any, scale: Any) -> Comparison:
        """Before its first reading, from what the incumbent's readings before it were like."""
        return cls(Forecasts.of(level, scale), Sums(), TIGHT * np.asarray(scale, dtype=float) ** 2 / 4)

    def forecast(self, share: Any) -> Any:
        """Of the next reading, for both roles: (1 − p) m(1) + p m(0), which is all of the forecasts that matters."""
        return self.level.forecast + (1 - share) * self.sums.shrunk(SHRINK)

    def after(self, role: Any, share: Any, reading: Any, forecast: Any = None) -> Comparison:
        """After one more reading and its forecast, by default the one of now. One that has seen it is no forecast."""
        residual = reading - (self.forecast(share) if forecast is None else forecast)
        level = self.level.after(reading - role * self.sums.shrunk(SHRINK))
        return Comparison(level, self.sums.after(role, share, residual), self.eta)

    def evidence(self, effect: Any, *, side: float) -> Any:
        return self.sums.evidence(effect, self.eta, side=side)

    def interval(self, alpha: float) -> tuple[float, float]:
        return self.sums.interval(float(self.eta), alpha)
