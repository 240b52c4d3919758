"""One parameter of a space: the user's values to and from coordinates in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array

Value = Any

LARGEST = 2**40  # whole numbers up to here survive the way to [0, 1] and back, on a log scale too


@dataclass(frozen=True)
class Float:
    """A real number from `low` to `high`; with `log`, on a logarithmic scale.

    Args:
        low: the smallest value.
        high: the largest value, above `low`.
        log: whether ratios matter, and not differences; `low` must then be positive.

    >>> Float(1, 100, log=True).decode((0.5,))
    10.0
    """

    low: float
    high: float
    log: bool = False

    size = 1  # coordinates it takes
    continuous = True

    def __post_init__(self) -> None:
        checks.settle(self, low=checks.real, high=checks.real, log=checks.flag)
        _check_bounds(self)

    @property
    def range(self) -> str:
        """What it may be, in words."""
        return f"a number from {self.low:g} to {self.high:g}"

    def encode(self, value: Value) -> tuple[float, ...]:
        number = checks.real("value", value)
        if not self.low <= number <= self.high:
            raise InvalidInput(f"must be {self.range}, got {checks.shown(value)}")
        return (self._unit(number),)

    def decode(self, unit: tuple[float, ...]) -> float:
        """The value with this coordinate; of several, which differ in their last digits only, the shortest to write."""
        low, high = _ends(self.low, self.high, self.log)
        u = checks.point("unit", unit, 1)[0]
        mixed = (1 - u) * low + u * high
        value = min(max(math.exp(min(mixed, high)) if self.log else mixed, self.low), self.high)
        return next((short for short in self._shorter(value) if self._unit(short) == u), value)

    def value(self, U: Array) -> Array:
        """The numbers at these coordinates, as `decode` has them but for their last digits."""
        low, high = _ends(self.low, self.high, self.log)
        mixed = (1 - U) * low + U * high
        return np.clip(np.exp(mixed) if self.log else mixed, self.low, self.high)

    def _unit(self, number: float) -> float:
        low, high = _ends(self.low, self.high, self.log)
        return min(max(((math.log(number) if self.log else number) - low) / (high - low), 0.0), 1.0)

    def _shorter(self, value: float) -> Iterator[float]:
        """Both ends and 0, which no rounding reaches, then `value` to ever more digits."""
        rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
        yield from (short for short in chain((self.low, self.high, 0.0), rounded) if self.low <= short <= self.high)

    def snap(self, U: Array) -> Array:
        return np.clip(U, 0.0, 1.0)

    def spread(self, U: Array) -> Array:
        return U

    @property
    def levels(self) -> None:
        return None


@dataclass(frozen=True)
class Int:
    """A whole number from `low` to `high`, both included; with `log`, on a logarithmic scale.

    Args:
        low: the smallest value.
        high: the largest value, up to 2⁴⁰.
        log: whether ratios matter, and not differences; `low` must then be positive.

    >>> Int(1, 4).decode((0.35,))
    2
    """

    low: int
    high: int
    log: bool = False

    size = 1
    continuous = False

    def __post_init__(self) -> None:
        whole = partial(checks.count, least=-LARGEST, most=LARGEST, fix="use Float beyond ±2⁴⁰")
        checks.settle(self, low=whole, high=whole, log=checks.flag)
        _check_bounds(self)

    @property
    def range(self) -> str:
        """What it may be, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def encode(self, value: Value) -> tuple[float, ...]:
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not self.low <= int(value) <= self.high:
            raise InvalidInput(f"must be {self.range}, got {checks.shown(value)}")
        return (float(self.unit(np.array([float(value)]))[0]),)

    def decode(self, unit: tuple[float, ...]) -> int:
        return int(self.value(np.array(checks.point("unit", unit, 1)))[0])

    def snap(self, U: Array) -> Array:
        """To the coordinates that whole numbers have."""
        return self.unit(self.value(U))

    def spread(self, U: Array) -> Array:
        """Uniform numbers of [0, 1] to whole numbers, each as likely as its share of the scale."""
        low, high = _ends(self.low - 0.5, self.high + 0.5, self.log)
        mixed = low + U * (high - low)
        return self.unit(np.clip(np.rint(np.exp(mixed) if self.log else mixed), self.low, self.high))

    def unit(self, whole: Array) -> Array:
        """The coordinates of whole numbers."""
        low, high = _ends(self.low, self.high, self.log)
        unit = ((np.log(whole) if self.log else whole) - low) / (high - low)
        return np.clip(unit, 0.0, 1.0) + 0.0  # so that −0 is 0

    def value(self, U: Array) -> Array:
        """The whole numbers at these coordinates."""
        low, high = _ends(self.low, self.high, self.log)
        mixed = low + np.clip(U, 0.0, 1.0) * (high - low)
        return np.clip(np.rint(np.exp(mixed) if self.log else mixed), self.low, self.high)

    def part(self, low: Array, high: Array) -> Array:
        """The share of the scale that the whole numbers from `low` to `high` have, as `spread` has them: (m,)."""
        first, last = _ends(self.low - 0.5, self.high + 0.5, self.log)
        a, b = low - 0.5, high + 0.5
        return ((np.log(b) - np.log(a)) if self.log else b - a) / (last - first)

    def moves(self, unit: Array) -> Iterator[tuple[int, float]]:
        """To the whole numbers beside it: a coordinate, the others being 0, and its value."""
        value = self.decode(tuple(unit))
        yield from ((0, self.encode(v)[0]) for v in (value - 1, value + 1) if self.low <= v <= self.high)

    @property
    def levels(self) -> int:
        return self.high - self.low + 1

    @property
    def settings(self) -> Array:
        """The coordinates of every whole number: (levels, 1)."""
        return np.array([self.encode(value) for value in range(self.low, self.high + 1)])


@dataclass(frozen=True, init=False)
class Choice:
    """One of several values, none nearer to another: a coordinate for each, of which one is 1.

    Args:
        values: text, numbers, True, False or None, each once.

    >>> Choice(["a", "b"]).encode("b")
    (0.0, 1.0)
    """

    values: tuple[Value, ...]

    continuous = False

    def __init__(self, values: Sequence[str | int | float | bool | None]) -> None:
        if isinstance(values, str | set | frozenset) or not hasattr(values, "__iter__"):
            raise InvalidInput(f"a Choice takes a list of values, got {checks.shown(values)}")
        given = checks.each("a Choice's values", values, lambda _, value: value, "['a', 'b']")
        kept = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        if not kept:
            raise InvalidInput("a Choice needs at least one value, got none")
        for value in kept:
            if not isinstance(value, str | int | float | bool | None):
                raise InvalidInput(f"a Choice takes text, numbers, booleans or None, got {checks.shown(value)}")
            if isinstance(value, float):
                checks.real("a Choice's value", value)
            elif isinstance(value, int) and abs(value) > 10**300:
                raise InvalidInput(
                    f"a Choice's whole number must be at most 1e300, got {checks.shown(value)}; use text"
                )
            elif isinstance(value, str):
                checks.text("a Choice's value", value)
        if len({_identity(v) for v in kept}) < len(kept):
            raise InvalidInput(f"a Choice's values must differ, got {checks.shown(list(kept))}")
        object.__setattr__(self, "values", kept)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def levels(self) -> int:
        return len(self.values)

    @property
    def range(self) -> str:
        """What it may be, in words."""
        return f"one of {checks.shown(list(self.values), 200)}"

    def encode(self, value: Value) -> tuple[float, ...]:
        if isinstance(value, np.generic):
            value = value.item()
        place = self._places.get(_identity(value)) if isinstance(value, str | int | float | None) else None
        if place is None:
            raise InvalidInput(f"must be {self.range}, got {checks.shown(value)}")
        return (0.0,) * place + (1.0,) + (0.0,) * (self.size - place - 1)

    @cached_property
    def _places(self) -> dict[tuple[bool, Value], int]:
        return {_identity(value): place for place, value in enumerate(self.values)}

    def decode(self, unit: tuple[float, ...]) -> Value:
        return self.values[int(np.argmax(checks.point("unit", unit, self.size)))]

    def snap(self, U: Array) -> Array:
        snapped = np.zeros_like(U)
        snapped[np.arange(len(U)), np.argmax(U, axis=1)] = 1.0
        return snapped

    def flags(self, U: Array) -> NDArray[np.bool_]:
        """Which value the nearest setting to each of the points has: (m, levels)."""
        return self.snap(U) > 0

    def moves(self, unit: Array) -> Iterator[tuple[int, float]]:
        """To each other value: a coordinate, the others being 0, and its value."""
        here = int(np.argmax(unit))
        yield from ((place, 1.0) for place in range(self.size) if place != here)

    @property
    def settings(self) -> Array:
        """The coordinates of every value: (levels, levels)."""
        return np.eye(self.size)

    def spread(self, U: Array) -> Array:
        return self.snap(U)  # the largest of several alike is any of them alike


Parameter = Float | Int | Choice


def _identity(value: Value) -> tuple[bool, Value]:
    """1 and True are equal in Python and different choices to a user."""
    return (isinstance(value, bool), value)


def _ends(low: float, high: float, log: bool) -> tuple[float, float]:
    return (math.log(low), math.log(high)) if log else (low, high)


def _check_bounds(parameter: Float | Int) -> None:
    low, high, log = parameter.low, parameter.high, parameter.log
    if not low < high:
        raise InvalidInput(f"low must be below high, got low={low!r} and high={high!r}")
    if log and low <= 0:
        raise InvalidInput(f"a log scale needs low > 0, got {low!r}; drop log=True or raise low")
    if not math.isfinite(high - low):
        raise InvalidInput(f"the range must be finite, got low={low!r} and high={high!r}")
    if log and not math.log(low) < math.log(high):
        raise InvalidInput(f"low={low!r} and high={high!r} are too close for a log scale; drop log=True")
