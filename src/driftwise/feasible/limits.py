"""Limits on what is measured beside the reward, for example a latency: the probability that each holds at a setting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.records import Array

RATE = 1.0  # by which a violation adds to the backoff, in its own size


@dataclass(frozen=True)
class Limit:
    """A measure must be `low` or more and `high` or less, as far as these are given.

    Args:
        low: the smallest value that is allowed; None if there is none.
        high: the largest value that is allowed; None if there is none.

    >>> Limit(high=200.0).holds(180.0), Limit(low=0.99).holds(0.5)
    (True, False)
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        checks.settle(self, low=checks.optional(checks.size), high=checks.optional(checks.size))
        if self.low is None and self.high is None:
            raise InvalidInput("a limit needs low, high or both, got neither; use at_most(200) or at_least(0.99)")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InvalidInput(f"low must be below high, got low={self.low!r} and high={self.high!r}")

    def holds(self, value: float) -> bool:
        """Whether a value is within."""
        low, high = self.ends
        return low <= value <= high

    @property
    def ends(self) -> tuple[float, float]:
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high

    def excess(self, value: float) -> float:
        """By how much a value is outside, 0 if it is within."""
        low, high = self.ends
        return max(low - value, value - high, 0.0)

    def margin(self, value: float) -> float:
        """The distance of a value to the nearer end."""
        low, high = self.ends
        return min(abs(value - low), abs(high - value))

    def __str__(self) -> str:
        parts = (("at least", self.low), ("at most", self.high))
        return " and ".join(f"{words} {end:g}" for words, end in parts if end is not None)


def at_most(high: float) -> Limit:
    """The limit that a measure must not be above `high`.

    Args:
        high: the largest value that is allowed.

    Returns:
        A `Limit`, for `limits` of a study.

    >>> print(at_most(200))
    at most 200
    """
    return Limit(high=high)


def at_least(low: float) -> Limit:
    """The limit that a measure must not be below `low`.

    Args:
        low: the smallest value that is allowed.

    Returns:
        A `Limit`, for `limits` of a study.

    >>> print(at_least(0.99))
    at least 0.99
    """
    return Limit(low=low)


def as_limits(name: str, given: Any) -> tuple[tuple[str, Limit], ...]:
    """Limits by the name of their measure, from a dict or from pairs."""
    pairs = () if given is None else tuple(given.items()) if isinstance(given, dict) else given
    return checks.each(name, pairs, _pair, "{'p99_ms': at_most(200)}")


def _pair(name: str, given: Any) -> tuple[str, Limit]:
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[1], Limit):
        raise InvalidInput(f"{name} must be limits by name, as {{'p99_ms': at_most(200)}}, got {checks.shown(given)}")
    return checks.name("a measure's name", given[0]), given[1]


def probability(belief: Belief, limit: Limit, X: Array, *, backoff: float = 0.0, freedom: float = math.inf) -> Array:
    """P(low + backoff ≤ g(x) ≤ high − backoff) for the rows of X: (m,).

    Where measures are standardised, their scale is that of the settings tried so far, which says little about others.
    It is taken to be at least the distance from their mean to the limit: of a setting without any tried one nearby,
    nobody knows by more than one standard deviation that it is within. `freedom` are the degrees of freedom of that
    scale: with few the deviation is Student's, and with infinitely many it is Gaussian.
    """
    mean, std = belief.predict(X)
    location, scale = belief.units
    spread = scale if belief.units == (0.0, 1.0) else max(scale, limit.margin(location))
    centre, width = location + scale * mean, np.maximum(spread * std, 1e-300)
    low, high = limit.ends
    below, above = ((end - centre) / width for end in (low + backoff, high - backoff))
    within = ndtr(above) - ndtr(below) if freedom == math.inf else stdtr(freedom, above) - stdtr(freedom, below)
    return np.asarray(np.maximum(within, 0.0))


def kept_back(values: Iterable[float], limit: Limit, delta: float) -> float:
    """The backoff q ≥ 0 of safe choices from a limit after `values` were measured, oldest first.

    A model may be wrong, most of all about how fast the world drifts. So q ← max(q + RATE·s·(violated − δ), 0), where s
    is the largest excess so far: it grows with every violation and shrinks slowly, as in adaptive conformal inference
    (Gibbs & Candès 2021).

    >>> kept_back([150.0, 210.0, 150.0], at_most(200), 0.125)
    7.5
    """
    backoff = largest = 0.0
    for value in values:
        excess = limit.excess(value)
        largest = max(largest, excess)
        backoff = max(backoff + RATE * largest * ((excess > 0) - delta), 0.0)
    return backoff
