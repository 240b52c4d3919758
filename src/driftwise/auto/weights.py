"""The weights of experts: how they follow the forecasts, and with which share a new expert enters.

Weights follow by fixed share (Herbster & Warmuth 1998). Experts with the same kernel of space and the same noise are a
family. How the world moves may change at any time, so a share s of the weight is redistributed within the family at
each observation. What kind of function it is hardly ever changes, so that a much smaller share r goes to other
families: what was learned about the length scale while exploring is not forgotten while exploiting.

An abrupt change makes a new expert at a place in the window. It enters there with a share of all the weight: the
probability that such a change happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.data import Observations
from driftwise.auto.experts import Expert, Shape
from driftwise.auto.panel import ForecastPanel
from driftwise.records import Array

SHARE = 0.01  # s: share of the weight redistributed within its family at each observation
RARE = 0.0005  # r: share redistributed over all families
CHANGE_HAZARD = 0.001  # probability of an abrupt change of the function, per observation
NOISE_HAZARD = 0.0005  # probability of a change of the noise alone, per observation
LEVEL_HAZARD = 0.001  # probability of a change of the level alone, per observation
TINY = 1e-12  # added to the weight of every family when new experts enter

Families = NDArray[np.int64]  # (E,): to which family each expert belongs


@dataclass(frozen=True, eq=False)
class Entry:
    """New experts that enter at one place in the window, and the share of all the weight that they get together."""

    place: int
    new: NDArray[np.bool_]  # (E,)
    share: float


def families(experts: Sequence[Expert]) -> Families:
    """To which family each expert belongs: (E,). After a change of its noise an expert stays in its family."""
    numbers: dict[tuple[Shape, float], int] = {}
    return np.array([numbers.setdefault((e.shape, e.first_noise), len(numbers)) for e in experts], dtype=np.int64)


def weight_path(panel: ForecastPanel, prior: Array, data: Observations, first: int = 0) -> Array:
    """The weights before each observation from index `first` on, and after the last: (n − first + 1, E).

    They start from `prior`. Experts that have no weight there are new: they enter at the place of their last change.
    """
    of, new = families(panel.experts), entries(panel.experts, prior, data, first)
    return fixed_share(panel.log_predictive[:, first:], prior, prior, of, new)


def entries(experts: Sequence[Expert], prior: Array, data: Observations, first: int) -> Iterator[Entry]:
    """When those without weight in `prior` enter.

    A change is equally likely at every observation, so the experts of one date have the hazard of all since the last.
    """
    new, last = prior == 0, np.array([e.last_change for e in experts])
    places = np.searchsorted(data.numbers, last) - first
    for dates_of, hazard in (
        ([e.since for e in experts], CHANGE_HAZARD),
        ([e.noise_changed for e in experts], NOISE_HAZARD),
        ([e.shifted for e in experts], LEVEL_HAZARD),
    ):
        some = new & (last == np.array(dates_of))
        dates = np.unique(places[some])
        for date in dates:
            yield Entry(int(date), some & (places == date), min(hazard * (len(data) - first) / len(dates), 0.5))


def fixed_share(
    log_predictive: Array, prior: Array, start: Array, families: Families, entries: Iterable[Entry] = ()
) -> Array:
    """The weights before each of the forecasts, (E, n), and after the last, from the weights `start`: (n + 1, E).

    w ← (1 − s − r)·v + s·V_F∘prior(e|F) + r·prior, v = w∘p/Σ(w∘p), V_F the weight of e's family.

    >>> half = np.array([0.5, 0.5])
    >>> fixed_share(np.log([[0.8], [0.2]]), half, half, np.array([0, 0]))[-1].round(3).tolist()
    [0.797, 0.203]
    """
    p = np.exp(log_predictive - log_predictive.max(axis=0, initial=-np.inf))
    w, prior = start / start.sum(), prior / prior.sum()
    within = prior / np.maximum(_family_sums(prior, families), 1e-300)  # prior(e|F)
    entries_at: dict[int, list[Entry]] = {}
    for entry in entries:
        entries_at.setdefault(entry.place, []).append(entry)
    path, within, prior = np.empty((p.shape[1] + 1, len(w))), SHARE * within, RARE * prior
    for i, likely in enumerate(np.ascontiguousarray(p.T)):
        for entry in entries_at.get(i, ()):
            w = _entered(w, entry, families)
        path[i] = w
        w *= likely
        sums = np.bincount(families, w)
        total = sums.sum()
        shared = within * (sums / total)[families]
        w *= (1 - SHARE - RARE) / total
        w += shared
        w += prior
    path[-1] = w / w.sum()
    return path


def _entered(w: Array, entry: Entry, families: Families) -> Array:
    """The weights after new experts entered: their share comes from all, and each family's part is by its weight."""
    new = np.flatnonzero(entry.new)
    its, sums = families[new], np.bincount(families, w)
    parts = (sums[its] + TINY) / np.bincount(its)[its]
    entered = (1 - entry.share) * w
    entered[new] += (entry.share / parts.sum()) * parts
    return entered


def _family_sums(w: Array, families: Families) -> Array:
    """The sum over each expert's family: (E,)."""
    return np.bincount(families, w)[families].astype(float)


def heaviest(w: Array, *, most: int, least: float) -> NDArray[np.intp]:
    """The indices of the `most` largest weights, without those below `least` of the largest; largest first."""
    order = np.argsort(-w, kind="stable")[:most]
    return order[w[order] >= least * w[order[0]]]
