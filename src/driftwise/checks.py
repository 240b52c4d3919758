"""Checks on numbers that users give; each error says the rule, the value and where there is one the fix."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftwise.errors import InvalidInput

T = TypeVar("T")

MOST = 2**53  # a count: up to here it is exact as a float, and a sum of a few still fits into a file's integers
SMALLEST, LARGEST = 1e-300, 1e100  # of a size: its reciprocal is a number, and its square


Rule = Callable[[str, Any], Any]  # a field's name and value: refused, or what is kept


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


def size(name: str, value: Any) -> float:
    """A number of either sign, at most LARGEST in size."""
    number = real(name, value)
    if abs(number) > LARGEST:
        raise InvalidInput(f"{name} must be at most {LARGEST:g} in size, got {shown(value)}; take another unit")
    return number


def positive(name: str, value: Any, fix: str = "") -> float:
    """A size above zero, SMALLEST at least."""
    number = real(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be > 0, got {shown(value)}" + _fix(fix))
    if number < SMALLEST:
        raise InvalidInput(f"{name} must be at least {SMALLEST:g}, got {shown(value)}; take another unit")
    return size(name, value)


def nonnegative(name: str, value: Any, fix: str = "") -> float:
    """A size, zero or more."""
    if real(name, value) < 0:
        raise InvalidInput(f"{name} must be ≥ 0, got {shown(value)}" + _fix(fix))
    return size(name, value)


def share(name: str, value: Any, fix: str = "") -> float:
    """A part of the whole, in (0, 1]."""
    number = positive(name, value, fix)
    if number > 1:
        raise InvalidInput(f"{name} must be at most 1, got {shown(value)}" + _fix(fix))
    return number


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if not 0 < real(name, value) < 1:
        raise InvalidInput(f"{name} must be strictly between 0 and 1, got {shown(value)}")
    return positive(name, value)


def count(name: str, value: Any, *, least: int = 1, most: int = MOST, fix: str = "") -> int:
    """A whole number from `least` to `most`, which is 2⁵³ unless less is said."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(f"{name} must be a whole number, got {shown(value)}")
    if int(value) < least:
        raise InvalidInput(f"{name} must be ≥ {least}, got {shown(value)}" + _fix(fix))
    if int(value) > most:
        raise InvalidInput(f"{name} must be at most {most:,}, got {shown(value)}" + _fix(fix))
    return int(value)


def seed(name: str, value: Any) -> int:
    """A whole number of 64 bits."""
    return count(name, value, least=0, most=2**64 - 1)


def each(name: str, values: Any, rule: Callable[[str, Any], T], fix: str) -> tuple[T, ...]:
    """A list, of which every item passes `rule`; text and dicts are none."""
    if isinstance(values, str | bytes | dict | type) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list, as {fix}, got {shown(values)}")
    try:
        items = iter(values)
    except TypeError:  # an array of no dimension; what a generator raises when it runs is not ours to explain
        raise InvalidInput(f"{name} must be a list, as {fix}, got {shown(values)}") from None
    return tuple(rule(name, item) for item in items)


def numbers(value: Any) -> NDArray[np.float64] | None:
    """An array of real numbers, not copied if it is one; None if it is anything else."""
    try:
        array = np.asarray(value)
    except Exception:  # what NumPy says of odd objects is of many kinds
        return None
    return array.astype(float, copy=False) if array.dtype.kind in "iuf" else None


def table(name: str, value: Any, *, columns: int | None = None) -> NDArray[np.float64]:
    """A table of finite numbers, (n, d), with d ≥ 1; an array of them is taken as it is, not copied."""
    array = numbers(value)
    if array is None:
        raise InvalidInput(f"{name} must be rows of numbers, all of one length, got {shown(value)}")
    if array.ndim != 2 or not array.shape[1] or columns not in (None, array.shape[1]):
        wanted = "(n, d)" if columns is None else f"(n, {columns})"
        raise InvalidInput(f"{name} must be rows of points, {wanted}, got shape {array.shape}; one is np.array([x])")
    if not np.isfinite(array).all():
        row = array[~np.isfinite(array).all(axis=1)][0]
        raise InvalidInput(f"{name} must be a finite table, got the row {shown(row.tolist())}")
    return array


def point(name: str, value: Any, dim: int) -> tuple[float, ...]:
    """So many numbers."""
    if isinstance(value, tuple) and len(value) == dim and all(type(v) is float for v in value):
        return value  # as nearly always
    numbers = each(name, value, real, "(0.5,)")
    if len(numbers) != dim:
        raise InvalidInput(f"{name} must be {dim} numbers, got {len(numbers)}")
    return numbers


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """One of a few words."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"{name} must be one of {', '.join(words)}, got {shown(value)}")
    return value


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


def like(name: str, value: Any, parts: Iterable[str], example: str) -> Any:
    """An object, and no class, that has these methods and properties, whatever its type."""
    if isinstance(value, type) or not all(hasattr(value, part) for part in parts):
        raise InvalidInput(f"{name} must be {example}, got {shown(value)}")
    return value


def text(what: str, value: Any) -> str:
    """Text that can be written down: half of a surrogate pair cannot."""
    try:
        return str(value.encode().decode())
    except (AttributeError, UnicodeError):
        raise InvalidInput(f"{what} must be text that UTF-8 can write, got {shown(value)}") from None


def settle(instance: Any, **rules: Rule) -> None:
    """Put each field of a frozen dataclass through its rule, which refuses it or returns what is kept.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Window:
    ...     length: int
    ...     def __post_init__(self):
    ...         settle(self, length=count)
    >>> Window(np.int64(5))
    Window(length=5)
    """
    for field, rule in rules.items():
        object.__setattr__(instance, field, rule(field, getattr(instance, field)))


def optional(rule: Rule) -> Rule:
    """The same rule, which None passes."""
    return lambda name, value: None if value is None else rule(name, value)


def shown(value: Any, limit: int = 80) -> str:
    """How an error shows a value: cut where it is long, and never a failure of its own.

    >>> shown("x" * 100, limit=8)
    "'xxxx..."
    """
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # a number of more digits than Python prints, or a broken __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _fix(fix: str) -> str:
    return f"; {fix}" if fix else ""
