"""A whole log: everything that it holds, read from one place and written to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from driftwise.records import Observation
from driftwise.store import corrections, keys, rows, schema
from driftwise.store.base import Asked, Correction, Counts, Outcome, outcome_of
from driftwise.store.checksums import damaged
from driftwise.store.many import batched
from driftwise.store.rows import Standing
from driftwise.store.schema import ABANDONED, ASKED, AWAITED, OBSERVED

if TYPE_CHECKING:
    from driftwise.store.view import SqlView


@dataclass(frozen=True)
class Suggested:
    """A suggestion with its status, and of the first of several that were made together how many."""

    asked: Asked
    status: int
    batch: int | None = None


@dataclass(frozen=True)
class CopiedRows:
    """All that a log holds."""

    suggestions: Sequence[Suggested]  # in the order of their numbers
    observations: Sequence[tuple[Observation, str | None]]  # as they were told and arrived, with their keys
    corrections: Sequence[Correction] = ()  # oldest first

    @property
    def keyed(self) -> list[tuple[int, str, int]]:
        """The keys that users gave: kind, key and number."""
        asked = [each.asked for each in self.suggestions]
        given = [(ASKED, each.key, each.number) for each in asked if each.key != each.id]
        return given + [(OBSERVED, key, seen.number) for seen, key in self.observations if key is not None]

    @property
    def counts(self) -> Counts:
        """What the row of a study with these contents counts."""
        asked = {each.asked.number: each for each in self.suggestions}
        seen = [observation for observation, _ in self.observations]
        now: dict[int, Outcome | None] = {each.number: outcome_of(each) for each in seen}
        now |= {made.number: made.after for made in self.corrections}
        return Counts(
            last=max((*asked, *now), default=0),
            asked=len(asked),
            told=len(seen),
            unasked=sum(number not in asked for number in now),
            abandoned=sum(each.status == ABANDONED for each in asked.values()),
            jittered=sum(each.asked.jitter > 0 for each in asked.values()),
            jitter=max((each.asked.jitter for each in asked.values()), default=0.0),
            failed=sum(outcome is not None and outcome.failed for outcome in now.values()),
            retracted=sum(outcome is None for outcome in now.values()),
            corrected=len(self.corrections),
        )


@dataclass(frozen=True)
class Whole:
    """A log and the suggestions of it that are pending."""

    contents: CopiedRows
    awaiting: rows.Awaiting


def read(view: SqlView) -> Whole:
    """Everything in the log that the transaction sees. Raises a `StoreError` if anything is missing."""

    def all_of(table: sa.Table, order: Any) -> Iterator[Any]:
        return iter(view.connection.execute(sa.select(table).where(table.c.study == view.study).order_by(order)))

    suggested = [
        Suggested(rows.verified_suggestion(row), row.status, row.batch)
        for row in all_of(schema.suggestions, schema.suggestions.c.number)
    ]
    head, seen = 0, []
    for row in all_of(schema.observations, schema.observations.c.arrival):
        seen.append((rows.verified_observation(row), row.key))
        head = rows.chained(head, [row.checksum])
    contents = CopiedRows(suggested, seen, view.corrections())
    if contents.counts != view.counts or head != view.head:
        raise damaged("some of its rows are missing")
    return Whole(contents, view.standing.awaiting)


def write(connection: sa.Connection, standing: Standing, whole: Whole) -> None:
    """Write these contents into a study that is empty."""
    study, contents = standing.study, whole.contents
    suggested = (
        rows.suggestion_row(study, each.asked, i, each.status, each.batch)
        for i, each in enumerate(contents.suggestions, 1)
    )
    observed = (rows.observation_row(study, seen, key, i) for i, (seen, key) in enumerate(contents.observations, 1))
    corrected = (corrections.row_of(study, made) for made in contents.corrections)
    _insert(connection, rows.INSERT_SUGGESTION, suggested)
    head = _insert(connection, rows.INSERT_OBSERVATION, observed)
    corrections_head = _insert(connection, corrections.INSERT, corrected)
    keyed = contents.keyed
    keys.insert_all(connection, study, keyed)
    standing = replace(standing, counts=contents.counts, keyed=len(keyed), awaiting=whole.awaiting)
    rows.update_study(connection, replace(standing, head=head, corrections_head=corrections_head))


def _insert(connection: sa.Connection, insert: sa.Insert, written: Iterable[dict[str, Any]]) -> int:
    """Insert these rows, and return the head chained over them."""
    head = 0
    for batch in batched(written):
        connection.execute(insert, batch)
        head = rows.chained(head, (row["checksum"] for row in batch))
    return head


def pending(suggested: Sequence[Suggested]) -> rows.Awaiting:
    """All suggestions that await their outcome: ordinal and number."""
    return tuple((i, each.asked.number) for i, each in enumerate(suggested, 1) if each.status == AWAITED)
