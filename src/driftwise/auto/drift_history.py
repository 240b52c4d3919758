"""How the world moved over time: the diagnosis as it was at several observations of the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from driftwise import checks
from driftwise.auto.diagnosis import RECENT, Diagnosis
from driftwise.records import Ask, Observation, signed, time_of_next

APART = RECENT // 2  # most observations between two moments: an alarm stays for RECENT, so that none is missed
FEW = 8  # rewards before which nothing can be said about drift


class Folding(Protocol):
    """The part of a policy that is used here."""

    @property
    def memory(self) -> int | None: ...
    def start(self) -> Any: ...
    def update(self, state: Any, seen: Observation) -> Any: ...


Explain = Callable[[Any, Ask], Diagnosis]  # a policy's `diagnose`


@dataclass(frozen=True)
class Moment:
    """The diagnosis as it was when observation `number` was the newest, for the time `at`."""

    number: int
    at: float
    drift: Diagnosis


def needed(policy: Folding, points: int) -> int | None:
    """How many of the last observations `history` reads; None means all."""
    # the oldest moment's state, too, is folded from as many observations as the policy remembers
    return None if policy.memory is None else policy.memory + _span(points)


def history(
    policy: Folding, log: Sequence[Observation], explain: Explain, *, points: int, sign: float = 1.0
) -> list[Moment]:
    """What `explain` said at `points` moments, spaced evenly over the end of `log`; the last observation is one."""
    chosen = set(places(len(log), points))
    state, made = policy.start(), []
    for place, seen in enumerate(log):
        state = policy.update(state, signed(seen, sign))
        if place in chosen:
            at = time_of_next(seen.number + 1, seen)
            made.append(Moment(seen.number, at, explain(state, Ask(seen.number + 1, at))))
    return made


def places(count: int, points: int) -> list[int]:
    """At most `points` indices among the last of `count`, evenly spaced and at most APART from each other.

    >>> places(5, 3), places(2, 3), places(1000, 3)
    ([0, 2, 4], [0, 1], [975, 987, 999])
    """
    span = min(count, _span(points))
    ages = np.rint(np.linspace(0, span - 1, min(points, span))).astype(int)
    return [count - 1 - int(age) for age in ages[::-1]]


def alarms(moments: Sequence[Moment]) -> list[Moment]:
    """The moments at which an alarm began; changes less than RECENT apart are the same one."""
    first: list[Moment] = []
    for moment in moments:
        if moment.drift.alarm and (not first or changed(moment) - changed(first[-1]) >= RECENT):
            first.append(moment)
    return first


def changed(moment: Moment) -> int:
    """The number of the observation at which the world changed, for a moment with an alarm."""
    assert moment.drift.change is not None
    return moment.drift.change.number


def _span(points: int) -> int:
    return APART * (checks.count("points", points) - 1) + 1
