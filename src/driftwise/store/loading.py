"""Many observations in one transaction, with keys in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from driftwise.errors import ConflictError
from driftwise.records import Observation, time_of_next
from driftwise.store import keys, rows
from driftwise.store.base import Loaded, NewObservation, observation_of, outcome_of
from driftwise.store.schema import OBSERVED

if TYPE_CHECKING:
    from driftwise.store.view import SqlView


def load(view: SqlView, entries: Sequence[NewObservation], first: int) -> Loaded:
    """Store the entries whose keys are not known yet, inside the caller's transaction."""
    connection, standing = view.connection, view.standing
    given = {entry.key for entry in entries if entry.key is not None}
    known, gaps = keys.find_all(connection, standing, OBSERVED, given)
    stored = view.all_known(known.values())
    seen = {key: stored[number] for key, number in known.items()}
    made: list[tuple[Observation, str | None]] = []
    newest = view.newest()
    for row, entry in enumerate(entries, first):
        if entry.key is not None and entry.key in seen:
            _check_same(view, entry, seen[entry.key], row)
            continue
        number = standing.counts.last + len(made) + 1
        at = time_of_next(number, newest) if entry.at is None else entry.at
        newest = observation_of(number, at, entry.x, entry.outcome)
        made.append((newest, entry.key))
        if entry.key is not None:
            seen[entry.key] = newest
    if made:
        new = {key: each.number for each, key in made if key is not None}
        _store(view, keys.insert_more(connection, standing, OBSERVED, gaps, new), made)
    return Loaded(len(made), len(entries) - len(made))


def _store(view: SqlView, standing: rows.Standing, made: list[tuple[Observation, str | None]]) -> None:
    counts = standing.counts
    written = [
        rows.observation_row(standing.study, seen, key, counts.told + i) for i, (seen, key) in enumerate(made, 1)
    ]
    view.connection.execute(rows.INSERT_OBSERVATION, written)
    counts = replace(
        counts,
        last=counts.last + len(made),
        told=counts.told + len(made),
        unasked=counts.unasked + len(made),
        failed=counts.failed + sum(seen.failed for seen, _ in made),
    )
    head = rows.chained(standing.head, (row["checksum"] for row in written))
    rows.update_study(view.connection, replace(standing, counts=counts, head=head))


def _check_same(view: SqlView, entry: NewObservation, seen: Observation, row: int) -> None:
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
