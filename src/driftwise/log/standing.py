"""The row of a study: its counts, and what every transaction that writes reads first and replaces as a whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import sqlalchemy as sa

from driftwise.log import entries
from driftwise.log.base import Asked, Correction, Counts, Decided, Mark
from driftwise.log.entries import LogEntry
from driftwise.log.schema import ABANDONED, ASKED, CORRECTED, DECIDED, OBSERVED, studies
from driftwise.records import Observation

Awaiting = tuple[tuple[int, int], ...]  # ordinal and number, oldest first
Step = tuple["Standing", LogEntry]  # how a study stands after an entry, and the entry

COUNTS = tuple(field.name for field in fields(Counts))


@dataclass(frozen=True, slots=True)
class Standing:
    """How a study stands. Each of the methods returns how it stands after one more entry, and the entry."""

    study: int
    name: str
    counts: Counts
    awaiting: Awaiting
    mark: Mark

    def asks(self, asked: Asked, *, patience: int, batch: int | None = None) -> Step:
        """After this suggestion. Suggestions older than `patience` are no longer pending."""
        counts, ordinal = self.counts, self.counts.asked + 1
        counts = replace(
            counts,
            last=asked.number,
            asked=ordinal,
            jittered=counts.jittered + (asked.jitter > 0),
            jitter=max(counts.jitter, asked.jitter),
        )
        awaiting = ((*self.awaiting, (ordinal, asked.number)))[-max(patience, 1) :]
        pending = tuple(pair for pair in awaiting if pair[0] > ordinal - patience)
        key = None if asked.key == asked.id else asked.key
        then = replace(self, counts=counts, awaiting=pending)
        return then._with(ASKED, asked.number, key, entries.asked_body(asked, batch))

    def stores(self, seen: Observation, key: str | None, *, asked: bool, abandoned: bool = False) -> Step:
        """After this observation, which was `asked` for or not."""
        counts = self.counts
        counts = replace(
            counts,
            last=max(counts.last, seen.number),
            told=counts.told + 1,
            unasked=counts.unasked + (not asked),
            abandoned=counts.abandoned - abandoned,
            failed=counts.failed + seen.failed,
        )
        then = replace(self, counts=counts, awaiting=self._without(seen.number) if asked else self.awaiting)
        return then._with(OBSERVED, seen.number, key, entries.observed_body(seen))

    def abandons(self, number: int) -> Step:
        counts = replace(self.counts, abandoned=self.counts.abandoned + 1)
        then = replace(self, counts=counts, awaiting=self._without(number))
        return then._with(ABANDONED, number, None, b"")

    def corrects(self, made: Correction) -> Step:
        before, after, counts = made.before, made.after, self.counts
        counts = replace(
            counts,
            failed=counts.failed + (after is not None and after.failed) - (before is not None and before.failed),
            retracted=counts.retracted + (after is None) - (before is None),
            corrected=made.ordinal,
        )
        return replace(self, counts=counts)._with(CORRECTED, made.ordinal, None, entries.corrected_body(made))

    def decides(self, said: Mapping[str, Any]) -> Step:
        """After this decision about a live system."""
        return self._with(DECIDED, self.mark.seq + 1, None, entries.decided_body(Decided(self.counts.last, said)))

    def _with(self, kind: int, number: int, key: str | None, body: bytes) -> Step:
        entry = entries.after(self.mark, kind, number, key, body)
        return replace(self, mark=entries.mark_of(entry)), entry

    def _without(self, number: int) -> Awaiting:
        return tuple(pair for pair in self.awaiting if pair[1] != number)


def standing_in(row: Any) -> Standing:
    """How a study stands, from the columns in `STANDING`."""
    study, name, *counted, awaiting, seq, chain = row
    pending = tuple(map(tuple, json.loads(awaiting))) if awaiting != "[]" else ()
    return Standing(study, name, Counts(*counted), pending, Mark(seq, chain))


_T = studies.c
STANDING = [column for column in _T if column.name != "description"]
_ONE = sa.select(*STANDING).where(_T.study == sa.bindparam("s"), _T.name == sa.bindparam("name"))
# until the end of the transaction; SQLite, where a transaction that writes has the whole file, leaves this out
_ONE_LOCKED = _ONE.with_for_update()
_SOME = sa.select(*STANDING).where(_T.study.in_(sa.bindparam("studies", expanding=True))).order_by(_T.study)
_SOME_LOCKED, _SOME_FREE = _SOME.with_for_update(), _SOME.with_for_update(skip_locked=True)
_CHANGING = (*COUNTS, "awaiting", "seq", "chain")
_UPDATE = (
    sa.update(studies)
    .where(_T.study == sa.bindparam("s"))
    .values({name: sa.bindparam(f"new_{name}") for name in _CHANGING})
)


def standing_of(connection: sa.Connection, study: int, name: str, *, lock: bool = False) -> Standing | None:
    """How a study stands, or None if there is none. With `lock` no other transaction may change it."""
    row = connection.execute(_ONE_LOCKED if lock else _ONE, {"s": study, "name": name}).first()
    return None if row is None else standing_in(row)


def standings_of(connection: sa.Connection, numbers: Collection[int], *, wait: bool) -> dict[int, Standing]:
    """Those of these studies that exist, locked in one order, so that nobody waits in a circle.

    Unless it is to `wait`, those that others have locked are left out.
    """
    rows = connection.execute(_SOME_LOCKED if wait else _SOME_FREE, {"studies": list(numbers)})
    return {row.study: standing_in(row) for row in rows}


def update(connection: sa.Connection, standings: Iterable[Standing]) -> None:
    """Write how these studies stand now."""
    changed = [
        {"s": each.study} | {f"new_{name}": value for name, value in columns_of(each).items()} for each in standings
    ]
    execute(connection, _UPDATE, changed)


def columns_of(standing: Standing) -> dict[str, Any]:
    """The columns that change with every entry."""
    counts = {name: getattr(standing.counts, name) for name in COUNTS}
    mark = standing.mark
    return counts | {"awaiting": json.dumps(standing.awaiting), "seq": mark.seq, "chain": mark.chain}


def execute(connection: sa.Connection, statement: sa.Executable, values: list[dict[str, Any]]) -> None:
    """Execute a statement for each of these; one alone is faster without a list around it."""
    if values:
        connection.execute(statement, values if len(values) > 1 else values[0])
