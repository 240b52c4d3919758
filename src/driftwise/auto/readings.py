"""Readings that are no information, and readings in another unit: pure functions of a window.

A sensor that sticks repeats its last reading, bit for bit, whatever the setting. A change of the unit multiplies every
reading by a common factor from one observation on; the older ones are then converted, so that nothing is learned anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from driftwise.records import Array

LONGEST = 16  # repeats in a row, at most: what goes on for longer is how rewards are
DISTINCT = 8  # rewards before, all different, from which on a repeat is a surprise
JUMP = 3.0  # factor between all readings before a change of the unit and all of the next ones
FEWEST, ENOUGH = 4, 12  # readings in a new unit from which on one can tell, and those that are looked at
PAIRS = 2  # of these, at least, were made near older ones
ALIKE = 0.1  # of the logarithms of ratios: from their median to a common factor, and from most of them to that median
FACTORS = (10, 24, 60, 100, 1e3, 1024, 3600, 1e4, 6e4, 86400, 1e6, 1024**2, 3.6e6, 1e9)  # and one by each of these
LARGEST = 1e290  # reward that can be converted
RATIOS = np.concatenate([FACTORS, 1 / np.array(FACTORS)])

UnitChange = tuple[int, float]  # the index of the first reading in the new unit, and the factor of those before it


def informative(y: Array, X: Array) -> NDArray[np.intp]:
    """The indices of the readings that are not repeats by a sensor that sticks.

    It does if a reading is bit for bit the one before, at another setting, though all before were different.

    >>> y = np.array([3.1, 2.7, 3.3, 2.9, 3.2, 2.6, 3.4, 2.5, 3.0, 3.0, 3.0, 2.8])
    >>> informative(y, np.arange(12.0)[:, None]).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 11]
    """
    kept = np.ones(len(y), dtype=bool)
    for start, stop in _runs(y):
        before = y[:start][kept[:start]]
        if len(np.unique(before)) < len(before):  # as counts do, rewards repeat by themselves
            break
        if len(before) >= DISTINCT and stop - start - 1 <= LONGEST and (X[start:stop] != X[start]).any():
            kept[start + 1 : stop] = False
    return np.flatnonzero(kept)


def _runs(y: Array) -> Iterator[tuple[int, int]]:
    """Where equal readings in a row begin, and where they end: two at least."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], y[1:] == y[:-1], [False]])))
    return ((int(start), int(stop) + 1) for start, stop in zip(ends[::2], ends[1::2], strict=True))


def unit_changes(y: Array, X: Array, radius: float) -> list[UnitChange]:
    """The changes of the unit in a window.

    Each of the next ENOUGH readings is more than JUMP times as large as all before it, or less than a JUMPth of each;
    and the ratios to what was read within `radius` of the same setting are all about one of the FACTORS.

    >>> y = np.array([3.0, 4.0, 5.0, 4.0, 3.0, 4.1, 4950.0, 3950.0, 3040.0, 4000.0])
    >>> unit_changes(y, np.array([[0.0], [1], [2], [1], [0], [1], [2], [1], [0], [1]]), 0.1)
    [(6, 1000.0)]
    """
    converted, found, last = y.copy(), list[UnitChange](), 0
    while (place := next(iter(_separated(converted, last)), None)) is not None:
        factor, last = _factor(converted[:place], y[place : place + ENOUGH], X, radius), place
        if factor is not None:
            converted[:place] *= factor
            found.append((place, factor))
    return found


def _separated(y: Array, last: int) -> list[int]:
    """The indices after `last` of which the next ENOUGH readings are all larger, or all smaller, than those before."""
    sizes = np.abs(y)
    if len(sizes) < 2 * FEWEST:
        return []
    ahead = np.lib.stride_tricks.sliding_window_view
    least = ahead(np.append(sizes, np.full(ENOUGH, np.inf)), ENOUGH)[1:-1].min(axis=1)
    most = ahead(np.append(sizes, np.zeros(ENOUGH)), ENOUGH)[1:-1].max(axis=1)
    larger = least / JUMP > np.maximum.accumulate(sizes)[:-1]
    smaller = most < np.minimum.accumulate(sizes)[:-1] / JUMP
    places = np.flatnonzero(larger | smaller) + 1
    return [place for place in places.tolist() if place > last]


def _factor(old: Array, new: Array, X: Array, radius: float) -> float | None:
    """By which the `old` readings are in the unit of the `new` ones; None if these are not in another unit."""
    if len(new) < FEWEST or len(old) < FEWEST:
        return None
    if np.abs(old).max() > LARGEST:
        return None
    away = np.square(X[len(old) : len(old) + len(new), None, :] - X[None, : len(old), :]).sum(axis=2)
    near = away <= radius**2
    pairs = [(y, float(np.median(old[row]))) for y, row in zip(new, near, strict=True) if row.any()]
    if len(pairs) < PAIRS or not all(before * after > 0 for before, after in np.sign(pairs)):
        return None
    logs = np.array([np.log(abs(y)) - np.log(abs(expected)) for y, expected in pairs])
    middle = float(np.median(logs))
    nearest = float(RATIOS[np.argmin(np.abs(np.log(RATIOS) - middle))])
    spread = float(np.median(np.abs(logs - middle)))
    return nearest if max(abs(np.log(nearest) - middle), spread) <= ALIKE else None
