"""Many observations in one transaction, with keys in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftwise.errors import ConflictError
from driftwise.log import telling
from driftwise.log.base import Loaded, NewObservation, observation_of, outcome_of
from driftwise.records import Observation, time_of_next

if TYPE_CHECKING:
    from driftwise.log.standing import Step
    from driftwise.log.view import View


def load(view: View, entries: Sequence[NewObservation], first: int) -> Loaded:
    """Store the entries whose keys are not known yet, inside the caller's transaction."""
    seen = view.observed_with_keys({entry.key for entry in entries if entry.key is not None})
    now, newest, steps = view.standing, view.newest(), list["Step"]()
    for row, entry in enumerate(entries, first):
        if entry.key is not None and entry.key in seen:
            _check_same(view, entry, seen[entry.key], row)
            continue
        number = now.counts.last + 1
        at = time_of_next(number, newest) if entry.at is None else entry.at
        newest = observation_of(number, at, entry.x, entry.outcome)
        steps.append(now.stores(newest, entry.key, asked=False))
        now = steps[-1][0]
        if entry.key is not None:
            seen[entry.key] = newest
    if steps:
        telling.write(view.connection, steps)
    return Loaded(len(steps), len(entries) - len(steps))


def _check_same(view: View, entry: NewObservation, seen: Observation, row: int) -> None:
    """Raise a `ConflictError` unless this entry is what its key already has."""
    different = [
        name
        for name, differs in (
            ("point", entry.x != seen.x),
            ("reward", entry.outcome not in (outcome_of(seen), view.overlay.outcome(seen))),
            ("time", entry.at not in (None, seen.at)),
        )
        if differs
    ]
    if different:
        raise ConflictError(
            f"row {row}: key {entry.key!r} is known with another {' and '.join(different)} (observation "
            f"{seen.number}); use another key, or correct that observation. Nothing of these rows was stored"
        )
