"""Rules on settings as a tree, evaluated on many settings, or on many sets of settings, at once.

A number is known to lie in an interval, and a rule is `sure` to hold in all of a set of settings or `may` hold in some
of it. For a single setting the interval is a point, and the two are the same. Rounding to nearest is monotone, so the
ends of an interval bound what the same operations give at any setting in it, to the last bit.

There is no negation: `not` is moved inwards when a tree is made, so that what is not a number, as 1/0, satisfies
neither a comparison nor its opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.records import Array

Flags = NDArray[np.bool_]


class Bounds(NamedTuple):
    """A number for each of m sets of settings: from `low` to `high`, or `odd`, where it may be no number at all."""

    low: Array  # (m,)
    high: Array  # (m,)
    odd: Flags  # (m,)


class Truth(NamedTuple):
    """Whether something holds in all, and whether it may hold in any, of each of m sets of settings."""

    sure: Flags  # (m,)
    may: Flags  # (m,)


# what is known of each parameter: an interval, or which values of a Choice are possible, (m, k)
Columns = Mapping[str, Bounds | Flags]


# --- numbers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    value: float

    def interval(self, columns: Columns) -> Bounds:
        m = len(_any(columns))
        return exactly(np.full(m, self.value))


@dataclass(frozen=True)
class Numeric:
    """A parameter that is a number."""

    name: str

    def interval(self, columns: Columns) -> Bounds:
        known = columns[self.name]
        assert isinstance(known, Bounds)
        return known


@dataclass(frozen=True)
class NumericChoice:
    """A Choice whose values are all numbers."""

    name: str
    values: tuple[float, ...]

    def interval(self, columns: Columns) -> Bounds:
        possible, values = np.asarray(columns[self.name]), np.array(self.values)
        low = np.where(possible, values, np.inf).min(axis=1)
        high = np.where(possible, values, -np.inf).max(axis=1)
        return Bounds(low, high, np.zeros(len(low), dtype=bool))


@dataclass(frozen=True)
class Series:
    """first op second op third …, from left to right: sums, or products."""

    first: Number
    rest: tuple[tuple[str, Number], ...]

    def interval(self, columns: Columns) -> Bounds:
        total = self.first.interval(columns)
        for operation, term in self.rest:
            total = OPERATIONS[operation](total, term.interval(columns))
        return total


@dataclass(frozen=True)
class Power:
    """base ** exponent."""

    base: Number
    exponent: float

    def interval(self, columns: Columns) -> Bounds:
        a, p = self.base.interval(columns), abs(self.exponent)
        if not p.is_integer():  # of a number that is not negative
            a = Bounds(np.maximum(a.low, 0.0), np.maximum(a.high, 0.0), a.odd | (a.low < 0))
        ends = np.stack([a.low**p, a.high**p])
        low = ends.min(axis=0)
        low = np.where((a.low < 0) & (a.high > 0) & (p % 2 == 0), 0.0, low)
        made = _tidy(low, ends.max(axis=0), a.odd)
        return made if self.exponent >= 0 else _divided(exactly(np.ones(len(low))), made)


@dataclass(frozen=True)
class Call:
    """min, max or abs."""

    function: str
    arguments: tuple[Number, ...]

    def interval(self, columns: Columns) -> Bounds:
        parts = [argument.interval(columns) for argument in self.arguments]
        odd = np.logical_or.reduce([part.odd for part in parts])
        if self.function == "abs":
            [a] = parts
            across = (a.low < 0) & (a.high > 0)
            ends = np.stack([np.abs(a.low), np.abs(a.high)])
            return Bounds(np.where(across, 0.0, ends.min(axis=0)), ends.max(axis=0), odd)
        pick = np.minimum if self.function == "min" else np.maximum
        return Bounds(pick.reduce([part.low for part in parts]), pick.reduce([part.high for part in parts]), odd)


Number = Literal | Numeric | NumericChoice | Series | Power | Call


# --- rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compare:
    """left op right, both numbers."""

    left: Number
    operation: str
    right: Number

    def truth(self, columns: Columns) -> Truth:
        a, b = self.left.interval(columns), self.right.interval(columns)
        defined = ~(a.odd | b.odd)
        if self.operation in (">", ">="):
            a, b = b, a
        if self.operation in ("<", ">"):
            sure, may = a.high < b.low, a.low < b.high
        elif self.operation in ("<=", ">="):
            sure, may = a.high <= b.low, a.low <= b.high
        else:
            sure, may = (a.low == b.high) & (a.high == b.low), (a.low <= b.high) & (b.low <= a.high)
            if self.operation == "!=":
                sure, may = ~may, ~sure
        return Truth(sure & defined, may)

    def opposite(self) -> Rule:
        return replace(self, operation=OPPOSITE[self.operation])


@dataclass(frozen=True)
class Among:
    """A Choice has one of some of its values."""

    name: str
    places: tuple[bool, ...]  # (k,)

    def truth(self, columns: Columns) -> Truth:
        possible, places = np.asarray(columns[self.name]), np.array(self.places)
        return Truth(~(possible & ~places).any(axis=1), (possible & places).any(axis=1))

    def opposite(self) -> Rule:
        return replace(self, places=tuple(not place for place in self.places))


@dataclass(frozen=True)
class Every:
    """rule and rule and …"""

    rules: tuple[Rule, ...]

    def truth(self, columns: Columns) -> Truth:
        parts = [rule.truth(columns) for rule in self.rules]
        return Truth(np.logical_and.reduce([p.sure for p in parts]), np.logical_and.reduce([p.may for p in parts]))

    def opposite(self) -> Rule:
        return Some(tuple(rule.opposite() for rule in self.rules))


@dataclass(frozen=True)
class Some:
    """rule or rule or …"""

    rules: tuple[Rule, ...]

    def truth(self, columns: Columns) -> Truth:
        parts = [rule.truth(columns) for rule in self.rules]
        return Truth(np.logical_or.reduce([p.sure for p in parts]), np.logical_or.reduce([p.may for p in parts]))

    def opposite(self) -> Rule:
        return Every(tuple(rule.opposite() for rule in self.rules))


Rule = Compare | Among | Every | Some
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def names_in(tree: Rule | Number) -> frozenset[str]:
    """The parameters that a tree speaks of."""
    match tree:
        case Literal():
            return frozenset()
        case Numeric(name) | NumericChoice(name) | Among(name):
            return frozenset([name])
        case Series(first, rest):
            return names_in(first).union(*(names_in(term) for _, term in rest))
        case Power(base):
            return names_in(base)
        case Call(_, arguments):
            return frozenset().union(*map(names_in, arguments))
        case Compare(left, _, right):
            return names_in(left) | names_in(right)
        case Every(rules) | Some(rules):
            return frozenset().union(*map(names_in, rules))


# --- intervals ----------------------------------------------------------------------------------------------------


def exactly(values: Array) -> Bounds:
    """Each of these numbers."""
    return Bounds(values, values, np.zeros(len(values), dtype=bool))


def _any(columns: Columns) -> Array:
    first = next(iter(columns.values()))
    return first.low if isinstance(first, Bounds) else np.asarray(first)


def _tidy(low: Array, high: Array, odd: Flags) -> Bounds:
    """Where an end is no number, as ∞ − ∞, nothing is known."""
    lost = np.isnan(low) | np.isnan(high)
    return Bounds(np.where(lost, -np.inf, low), np.where(lost, np.inf, high), odd | lost)


def _added(a: Bounds, b: Bounds) -> Bounds:
    return _tidy(a.low + b.low, a.high + b.high, a.odd | b.odd)


def _subtracted(a: Bounds, b: Bounds) -> Bounds:
    return _tidy(a.low - b.high, a.high - b.low, a.odd | b.odd)


def _multiplied(a: Bounds, b: Bounds) -> Bounds:
    corners = np.stack([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
    return _tidy(corners.min(axis=0), corners.max(axis=0), a.odd | b.odd)


def _divided(a: Bounds, b: Bounds) -> Bounds:
    across = (b.low <= 0) & (b.high >= 0)  # by zero, perhaps: anything, or no number
    corners = np.stack([a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high])
    low, high = np.where(across, -np.inf, corners.min(axis=0)), np.where(across, np.inf, corners.max(axis=0))
    return _tidy(low, high, a.odd | b.odd | across)


OPERATIONS = {"+": _added, "-": _subtracted, "*": _multiplied, "/": _divided}
