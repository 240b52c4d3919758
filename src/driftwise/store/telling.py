"""Tells and observes: any number of them, of any studies, by one statement of each kind.

A transaction reads the rows of its studies and suggestions, works out what becomes of them, and writes the result. An
entry that breaks a rule is refused before anything of it is written, and the others do not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from driftwise.errors import ConflictError, DriftwiseError
from driftwise.records import Observation, Point, time_of_next
from driftwise.store import keys, rows, view
from driftwise.store.base import NewEntry, Told, observation_of, outcome_of, said
from driftwise.store.rows import Standing
from driftwise.store.schema import ANSWERED, OBSERVED
from driftwise.store.view import SqlView

if TYPE_CHECKING:
    from driftwise.store.log import SqlLog, Transactions

Given = tuple["SqlLog", NewEntry]
Answer = Told | DriftwiseError | None
Stored = tuple[int, bool]  # a number, and whether it is new


def store(transactions: Transactions, given: Sequence[Given], *, wait: bool = True) -> list[Answer]:
    """Store these entries in one transaction, and return what came of each.

    Unless it is to `wait`, None is returned for an entry whose study another transaction has locked, or that is gone.
    """
    if not given:
        return []
    again = all(entry.is_found_again for _, entry in given)
    return transactions.writing(lambda connection: _written(connection, given, wait), again=again)


def _written(connection: sa.Connection, given: Sequence[Given], wait: bool) -> list[Answer]:
    writing = Writing(connection)
    if len(given) > 1 or not wait:
        writing.read_ahead(given, wait)
    found = [writing.store(*each) if wait or writing.has(each[0]) else None for each in given]
    writing.flush()
    return [writing.answer(*each, stored) for each, stored in zip(given, found, strict=True)]


class Writing:
    """What a transaction has read, and what it will write. All that waits is written before more is read."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._standings: dict[int, Standing] = {}
        self._suggestions: dict[tuple[int, int], Any] = {}  # rows by study and number
        self._marks: list[dict[str, Any]] = []
        self._observed: list[dict[str, Any]] = []
        self._changed: set[int] = set()

    def read_ahead(self, given: Sequence[Given], wait: bool) -> None:
        """Lock the studies of these entries, and read what they need. What is missing is an error where it is used."""
        self._standings = rows.standings_of(self._connection, {log.study for log, _ in given}, wait=wait)
        wanted = {(log.study, view.number_in(entry.of)) for log, entry in given if isinstance(entry.of, str)}
        self._suggestions = view.suggestions_at(self._connection, wanted)

    def has(self, log: SqlLog) -> bool:
        return log.study in self._standings

    def store(self, log: SqlLog, entry: NewEntry) -> Stored | DriftwiseError:
        """The number of an entry, and whether it is new; or why it is refused."""
        try:
            now = self._view(log)
            if isinstance(entry.of, str):
                return self._tell(now, entry, entry.of)
            return self._observe(now, entry, entry.of)
        except DriftwiseError as error:
            return error

    def answer(self, log: SqlLog, entry: NewEntry, found: Stored | DriftwiseError | None) -> Answer:
        """What to return for an entry, once all are written."""
        if found is None or isinstance(found, DriftwiseError):
            return found
        try:
            return self._view(log).told(found[0], new=found[1], limit=entry.limit)
        except DriftwiseError as error:
            return error

    def flush(self) -> None:
        """Write what waits."""
        if self._changed:
            rows.execute(self._connection, rows.MARK, self._marks)
            rows.execute(self._connection, rows.INSERT_OBSERVATION, self._observed)
            rows.update_studies(self._connection, [self._standings[study] for study in self._changed])
            self._marks, self._observed, self._changed = [], [], set()

    def _view(self, log: SqlLog) -> SqlView:
        standing = self._standings.get(log.study)
        if standing is None or standing.name != log.name:
            standing = self._standings[log.study] = log.view(self._connection, lock=True).standing
        return SqlView(self._connection, standing, log.memo)

    def _tell(self, now: SqlView, entry: NewEntry, id: str) -> Stored:
        row = self._suggestions.pop((now.study, view.number_in(id)), None)
        if row is None or row.id != id:
            self.flush()
            row = now.suggested(id)
        asked = rows.verified_suggestion(row)
        taken = None if entry.key is None else keys.find(self._connection, now.standing, OBSERVED, entry.key)
        if taken not in (None, row.number):
            raise ConflictError(
                f"key {entry.key!r} belongs to observation {taken}; use another key for suggestion {id}"
            )
        if row.status == ANSWERED:
            known = now.known(row.number)
            if not _is_known(now, known, entry):
                before = said(outcome_of(known))
                raise ConflictError(
                    f"suggestion {id} was told {before} before, now {said(entry.outcome)}; the first stays"
                )
            return known.number, False
        seen = observation_of(asked.number, asked.at if entry.at is None else entry.at, asked.x, entry.outcome)
        self._add(now, seen, entry.key, row.status)
        self._marks.append(rows.mark(row, ANSWERED))
        return seen.number, True

    def _observe(self, now: SqlView, entry: NewEntry, x: Point) -> Stored:
        self.flush()
        known = now.observed_with_key(entry.key) if entry.key is not None else None
        if known is not None:
            if known.x != x or not _is_known(now, known, entry) or entry.at not in (None, known.at):
                raise ConflictError(
                    f"key {entry.key!r} was observed before with another point, reward or time; the first stays, "
                    "so use another key for another observation"
                )
            return known.number, False
        number = now.counts.last + 1
        time = time_of_next(number, now.newest()) if entry.at is None else entry.at
        self._add(now, observation_of(number, time, x, entry.outcome), entry.key, None)
        return number, True

    def _add(self, now: SqlView, seen: Observation, key: str | None, status: int | None) -> None:
        """Have an observation written; `status` is that of its suggestion, None if it has none."""
        standing = now.standing
        if key is not None:
            standing = keys.insert(self._connection, standing, OBSERVED, key, seen.number)
        row = rows.observation_row(now.study, seen, key, standing.counts.told + 1)
        self._observed.append(row)
        self._standings[now.study] = standing.stores(seen, row["checksum"], status)
        self._changed.add(now.study)


def _is_known(now: SqlView, known: Observation, entry: NewEntry) -> bool:
    """Whether this was told first, or holds now."""
    return entry.outcome in (outcome_of(known), now.overlay.outcome(known))
