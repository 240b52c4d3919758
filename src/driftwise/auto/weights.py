"""The weights of rows and warps: products of one-step densities, with fixed share (Herbster & Warmuth 1998).

How a world moves may change at any time, so before each reading a share SHARE of the weight is spread within the
family; what kind of function it is hardly ever changes, so that a much smaller share RARE returns to the prior. A row
with a date enters there with the hazard of what happened.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.rows import HAZARD
from driftwise.auto.sheaf import Sheaf
from driftwise.lean.weigh import RARE, SHARE
from driftwise.records import Array

MOST_ENTERING = 0.5  # share of all the weight that rows of one date get, at most
TINY = 1e-12


def path(sheaf: Sheaf, prior: Array, start: Array, known: int) -> Array:
    """The weights (R, w) before each reading from index `known` on, and after the last: (n − known + 1, R, w).

    They begin with `start`, 0 for rows that enter at their date. `prior` is that of the others.
    """
    R, w = start.shape
    log_p = sheaf.log_density[:, :, known:]
    n = log_p.shape[2]
    family, size = numbered([(row.family, row.since, row.shift) for row in sheaf.rows])
    # a new function has a scale of its own, so that its noise, relative to that, may be another one
    undated, kinds = numbered([(row.kernel, row.bends, row.level) for row in sheaf.rows])
    own = np.where(prior.sum(axis=1, keepdims=True) > 0, prior, 1.0)
    within = own / np.maximum(_sums(own, family, size)[family], 1e-300)
    entering = entries(sheaf, start, known)
    alive = start.sum(axis=1) > 0
    out, v = np.empty((n + 1, R, w)), start / start.sum()
    for i in range(n):
        for new, share in entering.get(i, ()):
            v = _entered(v, new, share, undated, kinds)
            alive = alive | new
        out[i] = v
        v = np.where(alive[:, None], v * np.exp(log_p[:, :, i] - log_p[alive, :, i].max()), 0.0)
        v /= v.sum()
        v = (1 - SHARE - RARE) * v + SHARE * within * _sums(v, family, size)[family] + RARE * prior
    out[n] = v / v.sum()
    return out


def numbered(keys: Sequence[Hashable]) -> tuple[NDArray[np.intp], int]:
    """The number of each key's group, (R,), and how many there are."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp), len(numbers)


def entries(sheaf: Sheaf, start: Array, known: int) -> dict[int, list[tuple[NDArray[np.bool_], float]]]:
    """When rows without weight enter, which, and with which share of all the weight: new functions, other levels.

    What happens is equally likely at every reading, so the rows of one date have the hazard of all since the last.
    """
    data, found = sheaf.window.data, dict[int, list[tuple[NDArray[np.bool_], float]]]()
    begun = start.sum(axis=1) > 0
    for happened in ([row.since for row in sheaf.rows], [row.shift for row in sheaf.rows]):
        dates = np.array([data.place(number) - known if number else -1 for number in happened], dtype=np.intp)
        dates[begun] = -1
        places = np.unique(dates[dates >= 0])
        share = min(HAZARD * max((len(data) - known) / max(len(places), 1), 1.0), MOST_ENTERING)
        for place in places.tolist():
            found.setdefault(place, []).append((dates == place, share))
    return found


def _entered(v: Array, new: NDArray[np.bool_], share: float, family: NDArray[np.intp], size: int) -> Array:
    """Their share comes from all. That of a row and a warp is by the weight of its family, or of all families."""
    its = family[new]
    parts = _sums(v, family, size)[its] + TINY * v.sum(axis=0)
    entered = (1 - share) * v
    entered[new] = share * parts / parts.sum()
    return entered


def _sums(v: Array, family: NDArray[np.intp], size: int) -> Array:
    """The weight of each family on each warp: (F, w)."""
    sums = np.zeros((size, v.shape[1]))
    np.add.at(sums, family, v)
    return sums
