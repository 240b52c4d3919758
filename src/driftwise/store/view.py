"""A log as one transaction sees it. Each query is bounded, and its result is proved to be intact and complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from driftwise.errors import NotFoundError, StoreError
from driftwise.records import Observation
from driftwise.store import corrections, keys, many, rows
from driftwise.store.base import Asked, Correction, Counts, Outcome, Told, outcome_of
from driftwise.store.checksums import damaged
from driftwise.store.corrections import Memo, Overlay
from driftwise.store.rows import Standing
from driftwise.store.schema import ANSWERED, ASKED, OBSERVED, Integer, is_answered, observations, suggestions

ALL = 2**62  # as a limit: SQLite's −1 is refused by PostgreSQL


class Read(NamedTuple):
    """Observations with the largest numbers, newest first, as they hold now."""

    held: list[Observation]
    stored: int  # rows that were read: also those of retracted ones
    first: int  # nothing from this number on was left out
    enough: bool  # whether as many were found as wanted


@dataclass(frozen=True, eq=False)
class SqlView:
    """The log of one study."""

    connection: sa.Connection
    standing: Standing
    memo: Memo = field(default_factory=Memo)

    @property
    def study(self) -> int:
        return self.standing.study

    @property
    def counts(self) -> Counts:
        return self.standing.counts

    @property
    def head(self) -> int:
        return self.standing.head

    @property
    def corrections_head(self) -> int:
        return self.standing.corrections_head

    # --- suggestions --------------------------------------------------------------------------------------------

    def pending(self, patience: int) -> list[Asked]:
        oldest = self.counts.asked - patience
        return [rows.verified_suggestion(self._row(n)) for ordinal, n in self.standing.awaiting if ordinal > oldest]

    def suggestion(self, id: str) -> Any:
        """The verified row with this id, or None."""
        number = number_in(id)
        if not 1 <= number <= self.counts.last:
            return None
        row = self.connection.execute(_SUGGESTION, {"s": self.study, "n": number}).first()
        if row is None:
            if self.numbered(number) is None:
                raise damaged(f"number {number} is missing")
            return None
        self._check_place(row, number)
        rows.verified_suggestion(row)
        return row if row.id == id else None

    def suggested(self, id: str) -> Any:
        """Likewise a row that must be there."""
        row = self.suggestion(id)
        if row is None:
            name = self.standing.name
            raise NotFoundError(f"study {name!r} has no suggestion {id!r:.80}; `study show` lists those awaited")
        return row

    def with_key(self, key: str) -> tuple[tuple[Asked, ...], int]:
        """The suggestions with this key, which may be an id, and how many were made together; none if it is new."""
        row = self.suggestion(key)
        if row is None:
            number = keys.find(self.connection, self.standing, ASKED, key)
            row = None if number is None else self._row(number)
        if row is None:
            return (), 1
        batch = row.batch or 1
        others = (self._row(row.number + i) for i in range(1, batch))
        return tuple(rows.verified_suggestion(each) for each in (row, *others)), batch

    def is_answered(self, number: int) -> bool:
        """Whether this suggestion has its outcome."""
        row = self._row(number)
        rows.verified_suggestion(row)
        return bool(row.status == ANSWERED)

    def _row(self, number: int) -> Any:
        row = self.connection.execute(_SUGGESTION, {"s": self.study, "n": number}).first()
        if row is None:
            raise damaged(f"suggestion {number} is missing")
        self._check_place(row, number)
        return row

    def _check_place(self, row: Any, number: int) -> None:
        if (row.study, row.number) != (self.study, number):
            raise damaged(f"another row is in the place of number {number}")

    # --- observations as they were told -------------------------------------------------------------------------

    def numbered(self, number: int) -> Observation | None:
        row = self.connection.execute(_NUMBERED, {"s": self.study, "n": number}).first()
        if row is None:
            return None
        self._check_place(row, number)
        return rows.verified_observation(row)

    def observed_with_key(self, key: str) -> Observation | None:
        number = keys.find(self.connection, self.standing, OBSERVED, key)
        return None if number is None else self.known(number)

    def known(self, number: int) -> Observation:
        """An observation that must be there."""
        seen = self.numbered(number)
        if seen is None:
            raise damaged(f"observation {number} is missing")
        return seen

    def all_known(self, numbers: Iterable[int]) -> dict[int, Observation]:
        """Likewise many, by number."""
        found: dict[int, Observation] = {}
        for first, last in many.runs(numbers):
            read = self.connection.execute(_HEAD, {"s": self.study, "n": first - 1, "limit": last - first + 1}).all()
            if [row.number for row in read] != list(range(first, last + 1)):
                raise damaged(f"some of the observations {first} to {last} are missing")
            found |= {row.number: rows.verified_observation(row) for row in read}
        return found

    # --- observations as they hold now --------------------------------------------------------------------------

    @property
    def overlay(self) -> Overlay:
        """What the corrections say."""
        count = self.counts.corrected
        if not count and not self.corrections_head:
            return corrections.NOTHING
        return corrections.overlay(self.connection, self.study, count, self.corrections_head, self.memo)

    def corrected(self, after: int, head: int) -> list[int]:
        now = self.counts.corrected, self.corrections_head
        return corrections.since(self.connection, self.study, self.standing.name, after, head, now)

    def corrections(self) -> list[Correction]:
        """All of them, oldest first."""
        self.overlay  # noqa: B018  raises if one is missing
        holds: dict[int, Outcome | None] = {}
        made = []
        for row in corrections.rows_after(self.connection, self.study, 0):
            before = holds[row.number] if row.number in holds else outcome_of(self.known(row.number))
            after = holds[row.number] = corrections.outcome_in(row)
            made.append(Correction(row.ordinal, row.number, before, after, row.who, row.made, row.why))
        return made

    def arrived(self, after: int, head: int) -> list[Observation]:
        told = self.counts.told
        found = self.connection.execute(_ARRIVED, {"s": self.study, "a": after}).all() if told > after else []
        seen = [rows.verified_observation(row) for row in found]
        if told < after or rows.chained(head, (row.checksum for row in found)) != self.head:
            raise StoreError(
                f"study {self.standing.name!r} has {told} rewards and does not continue the log of {after} rewards "
                "that was read before. Was a backup restored? Open the study again to continue from it"
            )
        return self._held(seen)

    def _held(self, seen: list[Observation]) -> list[Observation]:
        """Those that are not retracted, with their corrections."""
        if not self.counts.corrected:
            return seen
        holds = self.overlay.holds
        return [now for each in seen if (now := holds(each)) is not None]

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        read = self._last(limit, above, _has_reward)
        self._check_complete(read.stored, read.first, self.counts.last)
        return read.held[::-1]

    def newest(self) -> Observation | None:
        if self.counts.retracted:
            held = self._last(1, 0, _is_held).held
            return held[0] if held else None
        row = self.connection.execute(_NEWEST, {"s": self.study}).first()
        return None if row is None else self.overlay.holds(rows.verified_observation(row))

    def page(self, above: int, limit: int) -> tuple[list[Observation], int | None]:
        """Of the first `limit` rows above number `above` those that hold, and the last number; None at the end."""
        if above >= self.counts.last:
            return [], None
        found = self.connection.execute(_HEAD, {"s": self.study, "n": above, "limit": limit}).all()
        last = found[-1].number if len(found) == limit else None
        self._check_complete(len(found), above + 1, self.counts.last if last is None else last)
        return self._held([rows.verified_observation(row) for row in found]), last

    def _last(self, limit: int | None, above: int, counts: Callable[[Observation], bool]) -> Read:
        """Read back from the end, until `limit` observations count."""
        if limit is not None and limit < 1:
            return Read([], 0, self.counts.last + 1, enough=True)
        held: list[Observation] = []
        holds = self.overlay.holds
        stored, wanted, size, below = 0, _sql(limit), _sql(limit), self.counts.last + 1
        while True:  # once, where nothing failed and nothing was retracted
            query = {"s": self.study, "n": above, "below": below, "limit": size}
            found = self.connection.execute(_TAIL, query).all()
            for row in found:
                stored += 1
                now = holds(rows.verified_observation(row))
                if now is not None:
                    held.append(now)
                    wanted -= counts(now)
                    if wanted == 0:
                        return Read(held, stored, row.number, enough=True)
            if len(found) < size:
                return Read(held, stored, above + 1, enough=False)
            size, below = 2 * size, found[-1].number

    def _check_complete(self, found: int, first: int, last: int) -> None:
        """Every number from `first` to `last` is a suggestion's or an unasked observation's: none may be missing."""
        answered = self.connection.scalar(_ANSWERED, {"s": self.study, "a": first, "b": last}) or 0
        unasked = last - first + 1 - (self._suggestions_up_to(last) - self._suggestions_up_to(first - 1))
        if found != answered + unasked:
            raise damaged(f"some of the observations {first} to {last} are missing")

    def _suggestions_up_to(self, number: int) -> int:
        """The number of suggestions up to `number`, which is the ordinal of the last of them."""
        if number >= self.counts.last:
            return self.counts.asked
        row = self.connection.execute(_LAST_SUGGESTION, {"s": self.study, "n": number}).first() if number else None
        if row is None:
            return 0
        rows.verified_suggestion(row)
        return int(row.ordinal)

    def start_of_tail(self, limit: int) -> int:
        if limit < 1:
            return self.counts.last + 1
        if self._all_have_rewards:
            return self.connection.scalar(_NTH, {"s": self.study, "before": limit - 1}) or 0
        read = self._last(limit, 0, _has_reward)
        return read.first if read.enough else 0

    def told(self, number: int, *, new: bool, limit: int | None) -> Told:
        """The answer to tell."""
        awaiting, counts = self.standing.awaiting, self.counts
        if number == counts.last or limit == 0:
            newer = 0
        elif self._all_have_rewards and len(awaiting) == counts.unanswered + counts.abandoned:  # all others are there
            newer = min(counts.last - number - sum(each > number for _, each in awaiting), _sql(limit))
        elif self._all_have_rewards:
            newer = self.connection.scalar(_NEWER, {"s": self.study, "n": number, "limit": _sql(limit)}) or 0
        else:
            newer = sum(map(_has_reward, self._last(limit, number, _has_reward).held))
        return Told(number, new, self.counts.last, newer)

    @property
    def _all_have_rewards(self) -> bool:
        return self.counts.rewards == self.counts.told


def number_in(id: str) -> int:
    """The number of the suggestion with this id; 0 if it is not an id.

    >>> number_in("12-52d1f0a9c3e4"), number_in("monday")
    (12, 0)
    """
    written = id.partition("-")[0]
    return int(written) if written.isascii() and written.isdigit() and len(written) < 19 else 0


def suggestions_at(connection: sa.Connection, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], Any]:
    """The rows with these studies and numbers, as far as there are such."""
    query = SUGGESTIONS_AT[connection.dialect.name]
    found = connection.execute(query, {"places": json.dumps(list(places))}) if places else ()
    return {(row.study, row.number): row for row in found}


def _has_reward(seen: Observation) -> bool:
    return not seen.failed


def _is_held(seen: Observation) -> bool:
    return True


def _sql(limit: int | None) -> int:
    return ALL if limit is None else limit


# --- the queries ------------------------------------------------------------------------------------------------------
# Each is an index look-up or a bounded range of the primary key; tests/study/test_scale.py asks SQLite for its plans.

_S, _O = suggestions.c, observations.c
_of_study = _O.study == sa.bindparam("s")
_above = sa.and_(_of_study, _O.number > sa.bindparam("n"))
_limit = sa.bindparam("limit", type_=Integer)
_row = sa.select(observations)

_SUGGESTION = sa.select(suggestions).where(_S.study == sa.bindparam("s"), _S.number == sa.bindparam("n"))
# Pairs as a JSON text: one statement for any number of them. In a list of pairs SQLite would use no index.
SUGGESTIONS_AT = {
    dialect: sa.select(suggestions).where(sa.text(f"(study, number) IN (SELECT {pair} FROM {pairs})"))
    for dialect, pair, pairs in (
        ("sqlite", "json_extract(value, '$[0]'), json_extract(value, '$[1]')", "json_each(:places)"),
        ("postgresql", "(value->>0)::bigint, (value->>1)::bigint", "json_array_elements(CAST(:places AS json))"),
    )
}
_LAST_SUGGESTION = (
    sa.select(suggestions)
    .where(_S.study == sa.bindparam("s"), _S.number <= sa.bindparam("n"))
    .order_by(_S.number.desc())
    .limit(1)
)
_ANSWERED = (
    sa.select(sa.func.count())
    .select_from(suggestions)
    .where(_S.study == sa.bindparam("s"), is_answered, _S.number.between(sa.bindparam("a"), sa.bindparam("b")))
)
_NUMBERED = _row.where(_of_study, _O.number == sa.bindparam("n"))
_ARRIVED = _row.where(_of_study, _O.arrival > sa.bindparam("a")).order_by(_O.arrival)
_TAIL = _row.where(_above, _O.number < sa.bindparam("below")).order_by(_O.number.desc()).limit(_limit)
_NEWEST = _row.where(_of_study).order_by(_O.number.desc()).limit(1)
_HEAD = _row.where(_above).order_by(_O.number).limit(_limit)
_NTH = (
    sa.select(_O.number)
    .where(_of_study)
    .order_by(_O.number.desc())
    .limit(1)
    .offset(sa.bindparam("before", type_=Integer))
)
_NEWER = sa.select(sa.func.count()).select_from(sa.select(sa.literal(1)).where(_above).limit(_limit).subquery())
