"""Checks on numbers that users give; each error says the rule, the value and where there is one the fix."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from driftwise.errors import InvalidInput


def real(name: str, value: Any) -> float:
    """A finite number, and neither a bool nor a string."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{name} must be finite, got {value!r}")
    return number


def positive(name: str, value: Any, fix: str = "") -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be > 0, got {value!r}" + _fix(fix))
    return number


def nonnegative(name: str, value: Any, fix: str = "") -> float:
    """A finite number, zero or more."""
    number = real(name, value)
    if number < 0:
        raise InvalidInput(f"{name} must be ≥ 0, got {value!r}" + _fix(fix))
    return number


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise InvalidInput(f"{name} must be strictly between 0 and 1, got {value!r}")
    return number


def count(name: str, value: Any, *, least: int = 1, fix: str = "") -> int:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(f"{name} must be a whole number, got {value!r}" + _fix(fix))
    if value < least:
        raise InvalidInput(f"{name} must be ≥ {least}, got {value!r}" + _fix(fix))
    return int(value)


def _fix(fix: str) -> str:
    return f"; {fix}" if fix else ""
