"""How the world moved, over time: what a policy said of it after one observation and another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from driftwise import checks
from driftwise.auto.diagnosis import RECENT, Diagnosis
from driftwise.records import Ask, Observation, signed, time_of_next

APART = RECENT // 2  # observations between two moments at most: an alarm stays for RECENT, and none is to be missed
FEW = 8  # rewards, before which nothing can be said of how the world moves
STILL = 1e-4  # at a slower rate two hundred steps bring 2%: the world as good as stands still


class Folding(Protocol):
    """What is needed of a policy here."""

    @property
    def memory(self) -> int | None: ...
    def start(self) -> Any: ...
    def update(self, state: Any, seen: Observation) -> Any: ...


Explain = Callable[[Any, Ask], Diagnosis]  # a policy's `diagnose`


@dataclass(frozen=True)
class Moment:
    """The diagnosis as it stood when observation `number` was the newest, for the time `at`."""

    number: int
    at: float
    drift: Diagnosis


def needed(policy: Folding, points: int) -> int | None:
    """How many of the last observations `history` reads; None: all."""
    # the state of the oldest moment, too, is folded from as much as the policy remembers
    return None if policy.memory is None else policy.memory + _span(points)


def history(
    policy: Folding, log: Sequence[Observation], explain: Explain, *, points: int, sign: float = 1.0
) -> list[Moment]:
    """What `explain` said at `points` moments, spread evenly over the end of `log`; the last observation is one."""
    chosen = set(places(len(log), points))
    state, made = policy.start(), []
    for place, seen in enumerate(log):
        state = policy.update(state, signed(seen, sign))
        if place in chosen:
            at = time_of_next(seen.number + 1, seen)
            made.append(Moment(seen.number, at, explain(state, Ask(seen.number + 1, at))))
    return made


def places(count: int, points: int) -> list[int]:
    """At most `points` places among the last of `count`, evenly spread and at most APART from each other.

    >>> places(5, 3), places(2, 3), places(1000, 3)
    ([0, 2, 4], [0, 1], [975, 987, 999])
    """
    span = min(count, _span(points))
    ages = np.rint(np.linspace(0, span - 1, min(points, span))).astype(int)
    return [count - 1 - int(age) for age in ages[::-1]]


def alarms(moments: Sequence[Moment]) -> list[Moment]:
    """The moments of `moments` at which an abrupt change was first alarmed; one less than RECENT later is the same."""
    first: list[Moment] = []
    for moment in moments:
        if moment.drift.alarm and (not first or changed(moment) - changed(first[-1]) >= RECENT):
            first.append(moment)
    return first


def changed(moment: Moment) -> int:
    """The number from which on the world was another, of a moment with an alarm."""
    assert moment.drift.change is not None
    return moment.drift.change.number


def _span(points: int) -> int:
    return APART * (checks.count("points", points) - 1) + 1
