"""Tells and observes: any number of them, of any studies, by one statement of each kind.

A transaction reads the rows of its studies and suggestions, works out what becomes of them, and writes the result. An
entry that breaks a rule is refused before anything of it is written, and the others do not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from driftwise.errors import ConflictError, DriftwiseError, InvalidInput
from driftwise.log import standing, view
from driftwise.log.base import NewEntry, Told, observation_of, outcome_of, said
from driftwise.log.entries import LogEntry, asked_in, damaged, observed_in
from driftwise.log.schema import ABANDONED, ASKED, OBSERVED, entries
from driftwise.log.standing import Standing, Step
from driftwise.log.view import Found, View
from driftwise.records import Observation, Point, time_of_next

if TYPE_CHECKING:
    from driftwise.log.stores import Store
    from driftwise.log.study_log import Log

Given = tuple["Log", NewEntry]
Answer = Told | DriftwiseError | None
Stored = tuple[int, bool]  # a number, and whether it is new

FEW, FAR = 8, 1e5  # observations of which the times are known; so many times their span is far

_INSERT = sa.insert(entries)


def store(to: Store, given: Sequence[Given], *, wait: bool = True) -> list[Answer]:
    """Store these entries in one transaction, and return what came of each.

    Unless it is to `wait`, None is returned for an entry whose study another transaction has locked, or that is gone.
    """
    if not given:
        return []
    again = all(entry.is_found_again for _, entry in given)
    return to.writing(lambda connection: _written(connection, given, wait), again=again)


def write(connection: sa.Connection, steps: Sequence[Step]) -> None:
    """Append the entries of these steps, and let each study stand as after its last one."""
    insert(connection, [(now.study, entry) for now, entry in steps])
    standing.update(connection, {now.study: now for now, _ in steps}.values())


def insert(connection: sa.Connection, new: Sequence[tuple[int, LogEntry]]) -> None:
    """Append entries, each with the number of its study."""
    rows: list[dict[str, Any]] = [{"study": study, **entry._asdict()} for study, entry in new]
    try:
        standing.execute(connection, _INSERT, rows)
    except sa.exc.IntegrityError as error:
        raise damaged(f"it has an entry already that was to be written ({error.orig})") from error


def check_time(now: View, at: float) -> None:
    """Refuse a time that is far from all others, as one in milliseconds is among seconds."""
    newest = now.newest() if now.counts.told >= FEW else None
    span = 0.0 if newest is None else max(abs(seen.at - newest.at) for seen in (*now.page(0, FEW)[0], newest))
    if newest is not None and abs(at - newest.at) > FAR * span > 0:
        raise InvalidInput(
            f"at must be within {FAR * span:g} of the newest time, {newest.at!r}, got {at!r}; take the unit of the "
            "other times, or confirm it by far=true"
        )


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
        self._found: dict[tuple[int, int], dict[int, LogEntry]] = {}  # by study and number
        self._steps: list[Step] = []

    def read_ahead(self, given: Sequence[Given], wait: bool) -> None:
        """Lock the studies of these entries, and read what they need. What is missing is an error where it is used."""
        self._standings = standing.standings_of(self._connection, {log.study for log, _ in given}, wait=wait)
        wanted = {(log.study, view.number_in(entry.of)) for log, entry in given if isinstance(entry.of, str)}
        self._found = view.found_at(self._connection, wanted)

    def has(self, log: Log) -> bool:
        return log.study in self._standings

    def store(self, log: Log, entry: NewEntry) -> Stored | DriftwiseError:
        """The number of an entry, and whether it is new; or why it is refused."""
        try:
            now = self._view(log)
            if isinstance(entry.of, str):
                return self._tell(now, entry, entry.of)
            return self._observe(now, entry, entry.of)
        except DriftwiseError as error:
            return error

    def answer(self, log: Log, entry: NewEntry, found: Stored | DriftwiseError | None) -> Answer:
        """What to return for an entry, once all are written."""
        if found is None or isinstance(found, DriftwiseError):
            return found
        try:
            return self._view(log).told(found[0], new=found[1], limit=entry.limit)
        except DriftwiseError as error:
            return error

    def flush(self) -> None:
        """Write what waits."""
        if self._steps:
            write(self._connection, self._steps)
            self._steps = []

    def _view(self, log: Log) -> View:
        found = self._standings.get(log.study)
        if found is None or found.name != log.name:
            found = self._standings[log.study] = log.view(self._connection, lock=True).standing
        return View(self._connection, found, log.memo)

    def _suggested(self, now: View, id: str) -> Found:
        """What there is of a suggestion."""
        found = self._found.pop((now.study, view.number_in(id)), None)
        if found is not None and ASKED in found and asked_in(found[ASKED]).id == id:
            return found
        self.flush()
        return now.suggested(id)

    def _tell(self, now: View, entry: NewEntry, id: str) -> Stored:
        found = self._suggested(now, id)
        asked = asked_in(found[ASKED])
        if entry.key is not None:
            self.flush()
            taken = now.keyed(OBSERVED, entry.key)
            if taken is not None and taken.number != asked.number:
                raise ConflictError(
                    f"key {entry.key!r} belongs to observation {taken.number}; use another key for suggestion {id}"
                )
        if OBSERVED in found:
            known = observed_in(found[OBSERVED])
            if not _is_known(now, known, entry):
                before = said(outcome_of(known))
                raise ConflictError(
                    f"suggestion {id} was told {before} before, now {said(entry.outcome)}; the first stays"
                )
            return known.number, False
        self._check_time(now, entry)
        seen = observation_of(asked.number, asked.at if entry.at is None else entry.at, asked.x, entry.outcome)
        self._add(now.standing.stores(seen, entry.key, asked=True, abandoned=ABANDONED in found))
        return seen.number, True

    def _observe(self, now: View, entry: NewEntry, x: Point) -> Stored:
        self.flush()
        if entry.key is not None and (found := now.keyed(OBSERVED, entry.key)) is not None:
            known = observed_in(found)
            if known.x != x or not _is_known(now, known, entry) or entry.at not in (None, known.at):
                raise ConflictError(
                    f"key {entry.key!r} was observed before with another point, reward or time; the first stays, "
                    "so use another key for another observation"
                )
            return known.number, False
        self._check_time(now, entry)
        number = now.counts.last + 1
        time = time_of_next(number, now.newest()) if entry.at is None else entry.at
        self._add(now.standing.stores(observation_of(number, time, x, entry.outcome), entry.key, asked=False))
        return number, True

    def _check_time(self, now: View, entry: NewEntry) -> None:
        if entry.at is not None and not entry.far:
            self.flush()
            check_time(now, entry.at)

    def _add(self, step: Step) -> None:
        """Have an entry written."""
        self._steps.append(step)
        self._standings[step[0].study] = step[0]


def _is_known(now: View, known: Observation, entry: NewEntry) -> bool:
    """Whether this was told first, or holds now."""
    return entry.outcome in (outcome_of(known), now.overlay.outcome(known))
