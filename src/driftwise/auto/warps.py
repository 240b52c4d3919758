"""The scales on which a reward may be a Gaussian process, and the robust location and scale of rewards.

A warp takes a reward y to a target t. What is said in targets is carried back: `value` gives it in standardised
rewards v = (y − location)/scale. Beyond the targets that were seen `value` goes on as a straight line, so that an
acquisition function neither explodes nor ends in a plateau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from driftwise.records import Array

MAD = 1.4826  # standard deviations in a median deviation, of a normal distribution
DEAD = -1e3  # log slope of a reading that a warp cannot take: the warp has no weight from then on


@dataclass(frozen=True)
class Standard:
    """v = (y − location)/scale."""

    location: float = 0.0
    scale: float = 1.0

    def standard(self, y: Array) -> Array:
        return (y - self.location) / self.scale


def robust(y: Array, weights: Array) -> Standard:
    """The weighted median and 1.48 times the weighted median deviation of rewards."""
    if not len(y):
        return Standard()
    location = _median(y, weights)
    scale = MAD * _median(np.abs(y - location), weights)
    tiny = 1e-12 * abs(location)
    if not scale > tiny:  # most are equal: the others are all the information there is
        scale = float(np.sqrt(weights @ np.square(y - location) / weights.sum()))
    return Standard(location, scale if scale > max(tiny, 1e-300) else 1.0)


def _median(values: Array, weights: Array) -> float:
    """The mean of the lower and the upper weighted median."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = 0.5 * below[-1]
    low, high = np.searchsorted(below, [half * (1 - 1e-9), half * (1 + 1e-9)])
    return float(0.5 * (values[order[low]] + values[order[min(high, len(order) - 1)]]))


@dataclass(frozen=True)
class Warp:
    """t = (u(y) − middle)/spread, from a monotone u."""

    name: str
    units: Standard
    middle: float = 0.0
    spread: float = 1.0
    low: float = -np.inf  # the targets that were seen
    high: float = np.inf

    def targets(self, y: Array) -> tuple[Array, Array]:
        """t and log dt/dy: (n,) both."""
        u, log_slope = self._warped(y)
        return (u - self.middle) / self.spread, log_slope - np.log(self.spread)

    def reaching(self, y: Array) -> Warp:
        """The same, with these rewards among those that were seen."""
        t, _ = self.targets(y)
        return replace(self, low=min(self.low, float(t.min())), high=max(self.high, float(t.max())))

    def _warped(self, y: Array) -> tuple[Array, Array]:
        v = self.units.standard(y)
        return v, np.full(len(v), -np.log(self.units.scale))

    def _back(self, u: Array) -> tuple[Array, Array]:
        """v and dv/du."""
        return u, np.ones_like(u)

    def value(self, t: Array) -> tuple[Array, Array]:
        """v and dv/dt; beyond the targets that were seen a straight line."""
        inside = np.clip(t, self.low, self.high)
        v, slope = self._back(self.middle + self.spread * inside)
        slope = self.spread * slope
        return v + slope * (t - inside), slope

    def target(self, v: Array) -> Array:
        """The target of standardised rewards, exactly: ±∞ beyond those that the warp can take."""
        return (v - self.middle) / self.spread


class Logarithm(Warp):
    """u = log y of rewards above 0, −log(−y) of costs."""

    @property
    def _sign(self) -> float:
        return 1.0 if self.units.location > 0 else -1.0

    def _warped(self, y: Array) -> tuple[Array, Array]:
        size = self._sign * y
        able = size > 0
        u = self._sign * np.log(np.where(able, size, 1.0))
        return np.where(able, u, self.middle), np.where(able, -np.log(np.where(able, size, 1.0)), DEAD)

    def _back(self, u: Array) -> tuple[Array, Array]:
        size = np.exp(np.clip(self._sign * u, -690.0, 690.0))
        return self.units.standard(self._sign * size), size / self.units.scale

    def target(self, v: Array) -> Array:
        size = self._sign * (self.units.location + self.units.scale * v)
        with np.errstate(divide="ignore"):
            u = self._sign * np.log(np.maximum(size, 0.0))
        return (u - self.middle) / self.spread


class Arsinh(Warp):
    """u = arsinh of the standardised reward: far from the middle, a logarithm to both sides."""

    def _warped(self, y: Array) -> tuple[Array, Array]:
        v = self.units.standard(y)
        return np.arcsinh(v), -np.log(self.units.scale) - 0.5 * np.log1p(v * v)

    def _back(self, u: Array) -> tuple[Array, Array]:
        u = np.clip(u, -690.0, 690.0)
        return np.sinh(u), np.cosh(u)

    def target(self, v: Array) -> Array:
        return (np.arcsinh(v) - self.middle) / self.spread


def warps_of(y: Array, weights: Array, *, known: Standard | None = None) -> tuple[Warp, ...]:
    """The warps for these rewards; with `known` units none but the identity."""
    if known is not None:
        return (Warp("identity", known),)
    units = robust(y, weights)
    made: list[Warp] = [Warp("identity", units), Arsinh("arsinh", units)]
    if (len(y) and (y > 0).all()) or ((y < 0).all() and len(y)):
        made.append(Logarithm("log", units))
    return tuple(_fitted(warp, y, weights) for warp in made)


def _fitted(warp: Warp, y: Array, weights: Array) -> Warp:
    if not len(y):
        return warp
    if warp.name != "identity":
        u, _ = warp._warped(y)
        of_u = robust(u, weights)
        warp = replace(warp, middle=of_u.location, spread=of_u.scale)
    t, _ = warp.targets(y)
    return replace(warp, low=float(t.min()), high=float(t.max()))
