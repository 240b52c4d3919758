"""Checks on numbers that users give; each error says the rule, the value and where there is one the fix."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from driftwise.errors import InvalidInput


def real(name: str, value: Any) -> float:
    """A finite number, and neither a bool nor a string."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{name} must be a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{name} must be finite, got {shown(value)}")
    return number


def positive(name: str, value: Any, fix: str = "") -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be > 0, got {shown(value)}" + _fix(fix))
    return number


def nonnegative(name: str, value: Any, fix: str = "") -> float:
    """A finite number, zero or more."""
    number = real(name, value)
    if number < 0:
        raise InvalidInput(f"{name} must be ≥ 0, got {shown(value)}" + _fix(fix))
    return number


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise InvalidInput(f"{name} must be strictly between 0 and 1, got {shown(value)}")
    return number


def count(name: str, value: Any, *, least: int = 1, fix: str = "") -> int:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(f"{name} must be a whole number, got {shown(value)}")
    if value < least:
        raise InvalidInput(f"{name} must be ≥ {least}, got {shown(value)}" + _fix(fix))
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one of them: a text as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be true or false, got {shown(value)}")
    return bool(value)


def name(what: str, value: Any) -> str:
    """A name that can be printed in a line."""
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
        raise InvalidInput(f"{what} must be 1 to 200 printable characters, got {shown(value)}")
    return value


def shown(value: Any, limit: int = 80) -> str:
    """How an error shows a value: cut where it is long, and never a failure of its own.

    >>> shown("x" * 100, limit=8)
    "'xxxx..."
    """
    try:
        text = repr(value)
    except Exception:  # a number of more digits than Python prints, or a broken __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _fix(fix: str) -> str:
    return f"; {fix}" if fix else ""
