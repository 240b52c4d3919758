"""One parameter of a space: the user's values to and from coordinates in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array

Value = Any


@dataclass(frozen=True)
class Float:
    """A real number from `low` to `high`; with `log`, on a logarithmic scale.

    >>> Float(1, 100, log=True).decode((0.5,))
    10.0
    """

    low: float
    high: float
    log: bool = False

    size = 1  # coordinates it takes
    continuous = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", checks.real("low", self.low))
        object.__setattr__(self, "high", checks.real("high", self.high))
        _check_bounds(self.low, self.high, self.log)

    def encode(self, value: Value) -> tuple[float, ...]:
        number = checks.real("value", value)
        if not self.low <= number <= self.high:
            raise InvalidInput(f"must be from {self.low:g} to {self.high:g}, got {value!r}")
        low, high = _ends(self.low, self.high, self.log)
        unit = ((math.log(number) if self.log else number) - low) / (high - low)
        return (min(max(unit, 0.0), 1.0),)

    def decode(self, unit: tuple[float, ...]) -> float:
        low, high = _ends(self.low, self.high, self.log)
        # a weighted mean, not low + u (high − low): that overflows for the widest ranges
        mixed = (1 - unit[0]) * low + unit[0] * high
        return min(max(math.exp(mixed) if self.log else mixed, self.low), self.high)

    def snap(self, U: Array) -> Array:
        return np.clip(U, 0.0, 1.0)

    @property
    def levels(self) -> None:
        return None


@dataclass(frozen=True)
class Int:
    """A whole number from `low` to `high`, both included; with `log`, on a logarithmic scale.

    >>> Int(1, 4).decode((0.35,))
    2
    """

    low: int
    high: int
    log: bool = False

    size = 1
    continuous = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checks.count(name, getattr(self, name), least=-(2**53)))
        if self.high > 2**53:
            raise InvalidInput(f"high must be at most 2⁵³, got {self.high}")
        _check_bounds(self.low, self.high, self.log)

    def encode(self, value: Value) -> tuple[float, ...]:
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        number = checks.count("value", value, least=-(2**53))
        if not self.low <= number <= self.high:
            raise InvalidInput(f"must be from {self.low} to {self.high}, got {value!r}")
        low, high = _ends(self.low, self.high, self.log)
        return (((math.log(number) if self.log else number) - low) / (high - low),)

    def decode(self, unit: tuple[float, ...]) -> int:
        low, high = _ends(self.low, self.high, self.log)
        mixed = (1 - unit[0]) * low + unit[0] * high
        return min(max(round(math.exp(mixed) if self.log else mixed), self.low), self.high)

    def snap(self, U: Array) -> Array:
        """To the coordinates that whole numbers have."""
        low, high = _ends(self.low, self.high, self.log)
        mixed = low + np.clip(U, 0.0, 1.0) * (high - low)
        whole = np.clip(np.rint(np.exp(mixed) if self.log else mixed), self.low, self.high)
        return ((np.log(whole) if self.log else whole) - low) / (high - low)

    @property
    def levels(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class Choice:
    """One of several values , none nearer to another: a coordinate for each, of which one is 1.

    >>> Choice(["a", "b"]).encode("b")
    (0.0, 1.0)
    """

    values: tuple[Value, ...]

    continuous = False

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not hasattr(self.values, "__iter__"):
            raise InvalidInput(f"a Choice takes a list of values, got {self.values!r}")
        values = tuple(self.values)
        if not values:
            raise InvalidInput("a Choice needs at least one value, got none")
        for value in values:
            if not isinstance(value, str | int | float | bool | None):
                raise InvalidInput(f"a Choice takes text, numbers, booleans or None, got {value!r}")
            if isinstance(value, float):
                checks.real("a Choice's value", value)
        if len({_identity(v) for v in values}) < len(values):
            raise InvalidInput(f"a Choice's values must differ, got {list(values)!r}")
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def levels(self) -> int:
        return len(self.values)

    def encode(self, value: Value) -> tuple[float, ...]:
        known = [_identity(v) for v in self.values]
        if _identity(value) not in known:
            raise InvalidInput(f"must be one of {list(self.values)!r}, got {value!r}")
        return tuple(float(i == known.index(_identity(value))) for i in range(self.size))

    def decode(self, unit: tuple[float, ...]) -> Value:
        return self.values[int(np.argmax(unit))]

    def snap(self, U: Array) -> Array:
        snapped = np.zeros_like(U)
        snapped[np.arange(len(U)), np.argmax(U, axis=1)] = 1.0
        return snapped


Parameter = Float | Int | Choice


def _identity(value: Value) -> tuple[bool, Value]:
    """1 and True are equal in Python and different choices to a user."""
    return (isinstance(value, bool), value)


def _ends(low: float, high: float, log: bool) -> tuple[float, float]:
    return (math.log(low), math.log(high)) if log else (low, high)


def _check_bounds(low: float, high: float, log: bool) -> None:
    if not low < high:
        raise InvalidInput(f"low must be below high, got low={low!r} and high={high!r}")
    if log and low <= 0:
        raise InvalidInput(f"a log scale needs low > 0, got {low!r}; drop log=True or raise low")
    if not math.isfinite(high - low):
        raise InvalidInput(f"the range must be finite, got low={low!r} and high={high!r}")
