"""Abrupt changes as a log for alarms: each change once, when it was noticed, and whether it was taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from driftwise.auto.diagnosis import LIKELY, RECENT, alarmed
from driftwise.auto.mixture import Mixture
from driftwise.records import Ask, Observation, time_of_next

DOUBTFUL = 0.25  # probability below which a change that was noticed is taken back
BEGUN = 8  # observations before which there is no world that could have changed
SPREAD = 8  # observations by which two estimates of the date of one change may differ in any case
SETTLED = 2 * RECENT  # observations after which a change that was noticed is no longer judged
REACH = 240  # observations that `Study.changes` looks back by default


@dataclass(frozen=True)
class NoticedChange:
    """An abrupt change: observations before `number` no longer count.

    The date is estimated anew with each observation, and so is the probability. Both are those of the newest estimate,
    up to SETTLED observations after the change was noticed, or until it was taken back.
    """

    number: int  # the first observation of the changed world
    at: float  # its time
    probability: float
    noticed: int  # the observation after which the change was first more likely than not
    noticed_at: float
    taken_back: int | None = None  # the observation after which it was doubted again; None if it still stands

    def __str__(self) -> str:
        """A sentence.

        >>> print(NoticedChange(60, 60.0, 0.96, noticed=64, noticed_at=64.0))
        The world changed abruptly at observation 60 (probability 0.96, noticed at observation 64).
        >>> print(NoticedChange(60, 1.7e9, 0.1, noticed=64, noticed_at=1.7e9, taken_back=70))
        A change at observation 60, time 1700000000, was noticed at observation 64 and taken back at 70.
        """
        own_time = "" if self.at == self.number else f", time {self.at:.10g}"
        if self.taken_back is not None:
            comma = "," if own_time else ""
            noticed = f"was noticed at observation {self.noticed} and taken back at {self.taken_back}"
            return f"A change at observation {self.number}{own_time}{comma} {noticed}."
        about = f"probability {self.probability:.2f}, noticed at observation {self.noticed}"
        return f"The world changed abruptly at observation {self.number}{own_time} ({about})."


class Mixing(Protocol):
    """The part of the policy `auto` that is used here."""

    def start(self) -> Any: ...
    def update(self, state: Any, seen: Observation) -> Any: ...
    def belief(self, state: Any, ask: Ask) -> Mixture: ...


@dataclass(frozen=True, eq=False)
class Watch:
    """A fold over the log beside that of the policy: the policy's state, and the changes noticed so far."""

    policy: Mixing
    state: Any
    last: int = 0  # the number of the newest observation
    changes: tuple[NoticedChange, ...] = ()

    @classmethod
    def of(cls, policy: Mixing) -> Watch:
        return cls(policy, policy.start())

    def update(self, seen: Observation, *, judged: bool = True) -> Watch:
        """After `seen`. If it is not `judged`, only the state changes, which costs next to nothing."""
        state = self.policy.update(self.state, seen)
        if not judged:
            return replace(self, state=state, last=seen.number)
        at = time_of_next(seen.number + 1, seen)
        belief = self.policy.belief(state, Ask(seen.number + 1, at))
        return Watch(self.policy, state, seen.number, _judged(self.changes, belief, seen))


def _judged(changes: tuple[NoticedChange, ...], belief: Mixture, seen: Observation) -> tuple[NoticedChange, ...]:
    """The changes after `seen`. Only the last is judged again: its restarts leave earlier ones no weight."""
    earlier, last = changes[:-1], changes[-1:]
    found = alarmed(belief)
    if found is None or found.number <= BEGUN:
        return (*earlier, *(_reconsidered(each, belief, seen) for each in last))
    for known in last:
        if abs(found.number - known.number) <= SPREAD or known.number - RECENT < found.number <= known.noticed:
            # a newer estimate of the same change; a date after it was noticed is that of another one
            moved = replace(known, number=found.number, at=found.at, probability=found.probability, taken_back=None)
            return (*earlier, moved)
    # doubts since the date of this change were about it, and not about the one before
    undoubted = (replace(each, taken_back=None) if _doubted_since(each, found.number) else each for each in last)
    return (*earlier, *undoubted, NoticedChange(found.number, found.at, found.probability, seen.number, seen.at))


def _doubted_since(change: NoticedChange, number: int) -> bool:
    return change.taken_back is not None and change.taken_back >= number


def _reconsidered(change: NoticedChange, belief: Mixture, seen: Observation) -> NoticedChange:
    """Its probability now, which is the weight of all restarts at about its date."""
    if seen.number - change.noticed > SETTLED:
        return change
    about = (abs(row.since - change.number) <= RECENT // 2 for row in belief.rows)
    probability = min(float(sum(w for w, near in zip(belief.shares, about, strict=True) if near)), 1.0)
    if probability < DOUBTFUL:
        return change if change.taken_back is not None else replace(change, taken_back=seen.number)
    return replace(change, probability=probability, taken_back=None if probability >= LIKELY else change.taken_back)
