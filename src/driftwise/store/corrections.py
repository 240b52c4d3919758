"""Corrections: further entries of a log that say what an observation holds from now on. None is ever edited.

The study's row has their number and a checksum chained over them. Reading them all proves that none is missing. They
are few, and what was read is kept: only new ones are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.records import Observation
from driftwise.store import outcomes, schema
from driftwise.store.base import Correction, Outcome, observation_of, outcome_of
from driftwise.store.checksums import checksum, damaged, verify

_C = schema.corrections.c
_AFTER = (
    sa.select(schema.corrections)
    .where(_C.study == sa.bindparam("s"), _C.ordinal > sa.bindparam("a"))
    .order_by(_C.ordinal)
)
INSERT = sa.insert(schema.corrections)


@dataclass(frozen=True, slots=True)
class Overlay:
    """What holds for the observations that were corrected: by number the outcome, or None if it is retracted."""

    count: int = 0
    head: int = 0
    latest: Mapping[int, Outcome | None] = field(default_factory=dict)

    def outcome(self, seen: Observation) -> Outcome | None:
        """What holds for this observation now."""
        return self.latest[seen.number] if seen.number in self.latest else outcome_of(seen)

    def holds(self, seen: Observation) -> Observation | None:
        """The observation as it holds now; None if it is retracted."""
        if seen.number not in self.latest:
            return seen
        outcome = self.latest[seen.number]
        return None if outcome is None else observation_of(seen.number, seen.at, seen.x, outcome)


NOTHING = Overlay()


@dataclass(eq=False)
class Memo:
    """The last overlay that was read. It is believed only where the study's row has its number and its head."""

    overlay: Overlay = NOTHING


def overlay(connection: sa.Connection, study: int, count: int, head: int, memo: Memo) -> Overlay:
    """What holds after `count` corrections, over which `head` is chained."""
    known = memo.overlay
    if (known.count, known.head) == (count, head):
        return known
    for start in (known, NOTHING) if known.count <= count else (NOTHING,):
        read = rows_after(connection, study, start.count)
        if len(read) == count - start.count and chained(start.head, read) == head:
            now = {row.number: outcome_in(row) for row in read}
            memo.overlay = Overlay(count, head, {**start.latest, **now})
            return memo.overlay
    raise damaged("some of its corrections are missing")


def since(connection: sa.Connection, study: int, name: str, after: int, head: int, now: tuple[int, int]) -> list[int]:
    """The numbers that were corrected after the first `after` corrections; `now` are their number and head."""
    if (after, head) == now:
        return []
    read = rows_after(connection, study, after)
    if len(read) != now[0] - after or chained(head, read) != now[1]:
        raise StoreError(
            f"study {name!r} has {now[0]} corrections and does not continue the log of {after} corrections that was "
            "read before. Was a backup restored? Open the study again to continue from it"
        )
    return [row.number for row in read]


def rows_after(connection: sa.Connection, study: int, after: int) -> list[Any]:
    """The rows without the first `after`, each verified."""
    read = list(connection.execute(_AFTER, {"s": study, "a": after}))
    for row in read:
        verify_row(row)
    return read


def verify_row(row: Any) -> None:
    """Raises a `StoreError` if the row is damaged."""
    values = (row.study, row.ordinal, row.number, row.y, row.details, row.who, row.made, row.why)
    verify(row.checksum, checksum(*values), "correction", row.ordinal)


def chained(head: int, read: list[Any]) -> int:
    """The head after these rows."""
    for row in read:
        head = checksum(head, row.checksum)
    return head


def outcome_in(row: Any) -> Outcome | None:
    """The outcome that a correction states; None retracts."""
    return None if row.y is None else outcomes.read(row.y, row.details)


def row_of(study: int, made: Correction) -> dict[str, Any]:
    """A correction as it is stored."""
    y, details = (None, None) if made.after is None else outcomes.written(made.after)
    values = (study, made.ordinal, made.number, y, details, made.who, made.when, made.why)
    names = ("study", "ordinal", "number", "y", "details", "who", "made", "why")
    return dict(zip(names, values, strict=True)) | {"checksum": checksum(*values)}
