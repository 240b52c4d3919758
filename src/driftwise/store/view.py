"""A log as one transaction sees it. Each query is bounded, and its result is proved to be intact and complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.records import Observation
from driftwise.store import keys, rows
from driftwise.store.base import Asked, Counts, Told
from driftwise.store.checksums import damaged
from driftwise.store.rows import Standing
from driftwise.store.schema import ASKED, OBSERVED, is_answered, observations, suggestions


@dataclass(frozen=True, eq=False)
class SqliteView:
    """The log of one study."""

    connection: sa.Connection
    standing: Standing

    @property
    def study(self) -> int:
        return self.standing.study

    @property
    def counts(self) -> Counts:
        return self.standing.counts

    @property
    def head(self) -> int:
        return self.standing.head

    # --- suggestions --------------------------------------------------------------------------------------------

    def pending(self, patience: int) -> list[Asked]:
        oldest = self.counts.asked - patience
        return [rows.verified_suggestion(self._row(n)) for ordinal, n in self.standing.awaiting if ordinal > oldest]

    def suggestion(self, id: str) -> Any:
        """The verified row with this id, or None."""
        written = id.partition("-")[0]
        number = int(written) if written.isascii() and written.isdigit() and len(written) < 19 else 0
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

    def with_key(self, key: str) -> Asked | None:
        """The suggestion with this key, which may be its id."""
        row = self.suggestion(key)
        if row is None:
            number = keys.find(self.connection, self.standing, ASKED, key)
            row = None if number is None else self._row(number)
        return None if row is None else rows.verified_suggestion(row)

    def _row(self, number: int) -> Any:
        row = self.connection.execute(_SUGGESTION, {"s": self.study, "n": number}).first()
        if row is None:
            raise damaged(f"suggestion {number} is missing")
        self._check_place(row, number)
        return row

    def _check_place(self, row: Any, number: int) -> None:
        if (row.study, row.number) != (self.study, number):
            raise damaged(f"another row is in the place of number {number}")

    # --- observations -------------------------------------------------------------------------------------------

    def numbered(self, number: int) -> Observation | None:
        row = self.connection.execute(_NUMBERED, {"s": self.study, "n": number}).first()
        if row is None:
            return None
        self._check_place(row, number)
        return rows.verified_observation(row)

    def observed_with_key(self, key: str) -> Observation | None:
        number = keys.find(self.connection, self.standing, OBSERVED, key)
        if number is None:
            return None
        seen = self.numbered(number)
        if seen is None:
            raise damaged(f"observation {number} is missing")
        return seen

    def arrived(self, after: int, head: int) -> list[Observation]:
        told = self.counts.told
        found = self.connection.execute(_ARRIVED, {"s": self.study, "a": after}).all() if told > after else []
        seen = [rows.verified_observation(row) for row in found]
        if found and found[0].checksum is None:  # of the old format, which has no heads
            return seen
        if told < after or rows.chained(head, (row.checksum for row in found)) != self.head:
            raise StoreError(
                f"study {self.standing.name!r} has {told} rewards and does not continue the log of {after} rewards "
                "that was read before. Was a backup restored? Open the study again to continue from it"
            )
        return seen

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        query = {"s": self.study, "n": above, "limit": _sql(limit)}
        found = self.connection.execute(_TAIL, query).all()[::-1]
        short = limit is None or len(found) < limit
        self._check_complete(found, above + 1 if short else found[0].number, self.counts.last)
        return [rows.verified_observation(row) for row in found]

    def newest(self) -> Observation | None:
        found = self.connection.execute(_TAIL, {"s": self.study, "n": 0, "limit": 1}).first()
        return None if found is None else rows.verified_observation(found)

    def page(self, above: int, limit: int) -> list[Observation]:
        """The first `limit` observations above number `above`."""
        found = self.connection.execute(_HEAD, {"s": self.study, "n": above, "limit": limit}).all()
        self._check_complete(found, above + 1, self.counts.last if len(found) < limit else found[-1].number)
        return [rows.verified_observation(row) for row in found]

    def _check_complete(self, found: Sequence[Any], first: int, last: int) -> None:
        """Every number from `first` to `last` is a suggestion's or an unasked observation's: none may be missing."""
        answered = self.connection.scalar(_ANSWERED, {"s": self.study, "a": first, "b": last}) or 0
        unasked = last - first + 1 - (self._suggestions_up_to(last) - self._suggestions_up_to(first - 1))
        if len(found) != answered + unasked:
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
        return self.connection.scalar(_NTH, {"s": self.study, "before": limit - 1}) or 0

    def told(self, number: int, *, new: bool, limit: int | None) -> Told:
        """The answer to tell."""
        query = {"s": self.study, "n": number, "limit": _sql(limit)}
        newer = 0 if number == self.counts.last else self.connection.scalar(_NEWER, query) or 0
        return Told(number, new, self.counts.last, newer)


def _sql(limit: int | None) -> int:
    return -1 if limit is None else limit


# --- the queries ------------------------------------------------------------------------------------------------------
# Each is an index look-up or a bounded range of the primary key; tests/study/test_scale.py asks SQLite for its plans.

_S, _O = suggestions.c, observations.c
_of_study = _O.study == sa.bindparam("s")
_above = sa.and_(_of_study, _O.number > sa.bindparam("n"))
_limit = sa.bindparam("limit", type_=sa.Integer)
_row = sa.select(observations)

_SUGGESTION = sa.select(suggestions).where(_S.study == sa.bindparam("s"), _S.number == sa.bindparam("n"))
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
_TAIL = _row.where(_above).order_by(_O.number.desc()).limit(_limit)
_HEAD = _row.where(_above).order_by(_O.number).limit(_limit)
_NTH = (
    sa.select(_O.number)
    .where(_of_study)
    .order_by(_O.number.desc())
    .limit(1)
    .offset(sa.bindparam("before", type_=sa.Integer))
)
_NEWER = sa.select(sa.func.count()).select_from(sa.select(sa.literal(1)).where(_above).limit(_limit).subquery())
