"""The abrupt changes of a study's world, each with the one date that is believed now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from driftwise.auto.diagnosis import RECENT, Change
from driftwise.auto.drift_history import Moment

POSSIBLE = 0.1  # probability below which a change is not worth a word


@dataclass(frozen=True)
class AbruptChange:
    """A change as the newest estimate has it, and the observation at which it was first alarmed; None: it never was."""

    change: Change
    alarmed: int | None

    def __str__(self) -> str:
        """A sentence.

        >>> print(AbruptChange(Change(60, 60.0, 0.96), 64))
        The world changed abruptly at observation 60 (probability 0.96, first noticed at observation 64).
        >>> print(AbruptChange(Change(60, 1.7e9, 0.3), None))
        There may have been an abrupt change at observation 60, time 1700000000 (probability 0.30).
        """
        found = self.change
        own_time = "" if found.at == found.number else f", time {found.at:.10g}"
        noticed = "" if self.alarmed is None else f", first noticed at observation {self.alarmed}"
        begins = "There may have been an abrupt change" if self.alarmed is None else "The world changed abruptly"
        return f"{begins} at observation {found.number}{own_time} (probability {found.probability:.2f}{noticed})."


def abrupt_changes(moments: Sequence[Moment]) -> list[AbruptChange]:
    """The changes that were alarmed and the one that is possible now, oldest first.

    When a change happened is estimated anew with every observation, so the first alarm and the newest diagnosis may
    name different dates. Estimates less than RECENT observations from the alarmed one are about the same change, and
    the newest of them is the one that is told.
    """
    made: list[tuple[int, AbruptChange]] = []  # each with the date that its first alarm gave
    for moment in moments:
        found = moment.drift.change
        if found is None or found.probability < POSSIBLE:
            continue
        about = [i for i, (date, _) in enumerate(made) if abs(found.number - date) < RECENT]
        if about:
            date, known = made[about[-1]]
            made[about[-1]] = date, AbruptChange(found, known.alarmed)
        elif moment.drift.alarm:
            made.append((found.number, AbruptChange(found, moment.number)))
        elif moment is moments[-1]:
            made.append((found.number, AbruptChange(found, None)))
    return sorted((each for _, each in made), key=lambda each: each.change.number)
