"""Times as users give them: in any unit, possibly equal, out of order or wrong.

It cannot be known which of two times is wrong, a long pause may be real, and a fit in one count of time cannot be
extended in another. So in a window each time counts from the nearest one before it in the log, by the gap between them,
or by the gap's logarithm if that is LONG: `reckoned`. The result depends on earlier observations alone. A single wrong
time is far from all the others, which keep their true gaps; a long pause stays long.

A filter discards information as time passes and cannot go back. It replaces each time by the median of itself and its
two neighbours, as soon as the later one is there: `middle`. If times never run backwards that changes nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftwise.records import Array

LONG = 1e6  # typical gaps beyond which a gap counts by its logarithm
LARGEST = 1e90  # times beyond count as this: no square of them overflows, and no scale fitted to them is refused


def bounded(at: Array) -> Array:
    """The times, clipped to ±LARGEST: (n,)."""
    return np.clip(at, -LARGEST, LARGEST)


def bound(at: float) -> float:
    """The same for one time."""
    return max(-LARGEST, min(at, LARGEST))


def middle(before: float | None, at: float, after: float) -> float:
    """The median of three times; an unknown `before` counts as −∞.

    >>> middle(30.0, 31.0, 32.0), middle(30.0, 1.7e12, 32.0), middle(30.0, 0.0, 32.0), middle(None, 1.7e12, 1.0)
    (31.0, 32.0, 30.0, 1.0)
    """
    return sorted((-math.inf if before is None else before, at, after))[1]


def typical_gap(at: Array, numbers: NDArray[np.int64]) -> float:
    """The median of the gaps from one observation to the next that are not 0.

    >>> typical_gap(np.array([10.0, 20.0, 20.0, 40.0, 1e12]), np.arange(5))
    20.0
    """
    gaps = np.abs(np.diff(bounded(at))) / np.maximum(np.diff(numbers), 1)
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


def reckoned(at: Array, gap: float, *, known: Array | None = None) -> Array:
    """Elapsed time: (n,). That of the first observations may be `known`; otherwise it begins with 0.

    >>> reckoned(np.array([5.0, 6.0, 7.0, 1.7e12, 8.0, 9.0]), 1.0).round(-6).tolist()
    [0.0, 0.0, 0.0, 15000000.0, 0.0, 0.0]
    >>> reckoned(np.array([5.0, 6.0, 7.0, 1.7e12, 8.0, 9.0]), 1.0)[4:].tolist()
    [3.0, 4.0]
    """
    elapsed = [0.0] if known is None or not len(known) else known.tolist()
    n, first = len(at), len(elapsed)
    if n <= first:
        return np.array(elapsed[:n])
    times = bounded(at)
    apart = times[first:, None] - times[None, :]
    before = np.arange(n) < np.arange(first, n)[:, None]
    nearest = np.argmin(np.where(before, np.abs(apart), np.inf), axis=1)
    steps = _shortened(apart[np.arange(n - first), nearest], gap)
    for step, k in zip(steps.tolist(), nearest.tolist(), strict=True):
        elapsed.append(elapsed[k] + step)
    return np.array(elapsed)


def _shortened(gaps: Array, gap: float) -> Array:
    """g, and beyond LONG typical gaps ±LONG·gap·(1 + ln(g/(LONG·gap))): (n,)."""
    most, size = LONG * gap, np.abs(gaps)
    if not np.any(size > most):
        return gaps
    beyond = np.log(np.maximum(size, most)) - math.log(most)
    return np.where(size > most, np.copysign(most * (1 + beyond), gaps), gaps)
