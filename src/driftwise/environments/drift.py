"""Paths t ↦ f_t, as coefficients on a basis. A drift is a description; its functions g_0, g_1, … come from a seed."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array

Draw = Callable[[int], Array]  # j ↦ coefficients of g_j, (m,): independent of one another, and the same at every call


class Drift(Protocol):
    """How the function changes over time. `chained` is true if f_t is computed from f_{t−1}.

    Those that combine draws by weights of time alone also know their `covariance(s, t)`, in units of one draw's.
    """

    chained: ClassVar[bool] = False

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        """The coefficients of f_t, t ≥ 1: (m,). `before` are those of f_{t−1}, for chained drifts from t = 2 on."""
        ...


@dataclass(frozen=True)
class Still(Drift):
    """f_t = g_0."""

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        return draw(0)

    def covariance(self, s: Array, t: Array) -> Array:
        return np.ones(np.broadcast_shapes(s.shape, t.shape))


@dataclass(frozen=True)
class Abrupt(Drift):
    """f_t = g_j, where j is the number of `times` before t. A time τ is the last step of the old function.

    >>> [Abrupt((2, 3)).piece(t) for t in (1, 2, 3, 4, 5)]
    [0, 0, 1, 2, 2]
    """

    times: tuple[int, ...]

    def __post_init__(self) -> None:
        checks.settle(self, times=partial(_increasing, least=0))

    def piece(self, t: int) -> int:
        return bisect_left(self.times, t)

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        return draw(self.piece(t))

    def covariance(self, s: Array, t: Array) -> Array:
        """1 within a piece, and 0 across a change."""
        return (np.searchsorted(self.times, s) == np.searchsorted(self.times, t)).astype(float)


@dataclass(frozen=True)
class Slow(Drift):
    """Linear from g_j at the j-th of `knots` to g_{j+1} at the next; constant outside them."""

    knots: tuple[int, ...]

    def __post_init__(self) -> None:
        checks.settle(self, knots=partial(_increasing, least=1))

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        j = bisect_right(self.knots, t) - 1  # the last knot not after t
        if j < 0:
            return draw(0)
        if j == len(self.knots) - 1:
            return draw(j)
        share = (t - self.knots[j]) / (self.knots[j + 1] - self.knots[j])
        return (1 - share) * draw(j) + share * draw(j + 1)

    def covariance(self, s: Array, t: Array) -> Array:
        hats = np.eye(len(self.knots))
        return sum(np.interp(s, self.knots, hat) * np.interp(t, self.knots, hat) for hat in hats)  # type: ignore[return-value]


@dataclass(frozen=True)
class Rotating(Drift):
    """f_t = cos(θ) g_0 + sin(θ) g_1, θ = 2π(t − 1)/period: periodic. If the g are Gaussian, so is every f_t."""

    period: float

    def __post_init__(self) -> None:
        checks.settle(self, period=checks.positive)

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        angle = 2 * math.pi * (t - 1) / self.period
        return math.cos(angle) * draw(0) + math.sin(angle) * draw(1)

    def covariance(self, s: Array, t: Array) -> Array:
        return np.cos((2 * math.pi / self.period) * (s - t))


@dataclass(frozen=True)
class Chain(Drift):
    """f_1 = g_1, f_{t+1} = √(1−ε) f_t + √ε g_{t+1} (Bogunovic et al. 2016): stationary if the g are Gaussian."""

    epsilon: float

    chained: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, epsilon=checks.real)
        if not 0 <= self.epsilon <= 1:
            got = checks.shown(self.epsilon)
            raise InvalidInput(f"epsilon must be from 0 to 1, got {got}; 0 stands still, 1 forgets at once")

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        if before is None:
            return draw(1)
        return math.sqrt(1 - self.epsilon) * before + math.sqrt(self.epsilon) * draw(t)

    def covariance(self, s: Array, t: Array) -> Array:
        return np.power(1 - self.epsilon, np.abs(s - t) / 2)


@dataclass(frozen=True)
class Storm(Drift):
    """Constant to t = `calm`, f_t = g_1; from then on a chain of rate ε."""

    calm: int
    epsilon: float

    chained: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, calm=checks.count, epsilon=lambda _, given: Chain(given).epsilon)

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        if before is not None and t <= self.calm:
            return before
        return Chain(self.epsilon).at(t, draw, before)

    def covariance(self, s: Array, t: Array) -> Array:
        return Chain(self.epsilon).covariance(np.maximum(s, self.calm), np.maximum(t, self.calm))


@dataclass(frozen=True)
class Trend(Drift):
    """Periodic with a trend: f_t = (cos(θ) g_0 + sin(θ) g_1 + (1 − s) g_2 + s g_3)/√2, θ = 2π(t − 1)/period.

    The share s rises from 0 at t = 1 to 1 at t = `over` and stays there.
    """

    period: float
    over: int

    def __post_init__(self) -> None:
        checks.settle(self, period=checks.positive, over=partial(checks.count, least=2))

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        share = float(self.share(np.array(t)))
        season = Rotating(self.period).at(t, draw, None)
        return (season + (1 - share) * draw(2) + share * draw(3)) / math.sqrt(2)

    def share(self, t: Array) -> Array:
        return np.minimum((t - 1) / (self.over - 1), 1.0)

    def covariance(self, s: Array, t: Array) -> Array:
        a, b = self.share(s), self.share(t)
        return (Rotating(self.period).covariance(s, t) + (1 - a) * (1 - b) + a * b) / 2


@dataclass(frozen=True)
class Waves(Drift):
    """θ_t = (.5 + .3 sin(5Bπt/T), .5 + .3 sin(π + 5Bπt/T)) (Cheung et al. 2019): the same for every seed.

    >>> Waves(budget=1.0, over=10).at(5, lambda j: np.zeros(2), None).round(3).tolist()
    [0.8, 0.2]
    """

    budget: float
    over: int

    def __post_init__(self) -> None:
        checks.settle(self, budget=checks.nonnegative, over=checks.count)

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        angle = 5 * self.budget * math.pi * t / self.over
        return np.array([0.5 + 0.3 * math.sin(angle), 0.5 + 0.3 * math.sin(math.pi + angle)])


as_drift = partial(checks.like, parts=("chained", "at"), example="a drift, as Abrupt((100,))")


def _increasing(name: str, given: Any, *, least: int) -> tuple[int, ...]:
    times = checks.each(name, given, lambda which, t: checks.count(which, t, least=least), "(100, 200)")
    if any(a >= b for a, b in pairwise(times)):
        raise InvalidInput(f"{name} must increase, got {times}")
    if not times:
        raise InvalidInput(f"{name} must not be empty; use Still for a world that does not move")
    return times
