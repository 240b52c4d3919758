"""Many rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int = 1000) -> Iterator[list[Item]]:
    """Lists of up to `size` items."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers.

    >>> list(runs([7, 1, 2, 3]))
    [(1, 3), (7, 7)]
    """
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None or number != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last
