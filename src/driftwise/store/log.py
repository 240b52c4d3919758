"""One study's log in SQLite: each method is one transaction, and none reads more rows than it needs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.records import Observation, Point
from driftwise.store.base import Asked, Chosen, Counts, Told
from driftwise.store.packing import pack, unpack
from driftwise.store.schema import ABANDONED, ANSWERED, AWAITED, is_awaited, observations, studies, suggestions

PAGE = 1000  # rows that `observations` reads at a time


class Transactions(Protocol):
    where: str

    def writing(self) -> AbstractContextManager[sa.Connection]: ...
    def reading(self) -> AbstractContextManager[sa.Connection]: ...


@dataclass(frozen=True, eq=False)
class SqliteLog:
    """The log of study number `study` in a store."""

    store: Transactions
    study: int
    name: str
    description: str

    # --- ask and abandon ----------------------------------------------------------------------------------------

    def ask(self, key: str | None, choose: Callable[[SqliteView], Chosen]) -> Asked:
        with self.store.writing() as connection:
            view = self._view(connection)
            known = view.with_key(key) if key is not None else None
            return known or self._suggest(connection, view.counts, key, choose(view))

    def _suggest(self, connection: sa.Connection, counts: Counts, key: str | None, chosen: Chosen) -> Asked:
        number = counts.last + 1
        # The random part tells this suggestion from that of the same number in a copy of the file.
        id = f"{number}-{secrets.token_hex(6)}"
        asked = Asked(number, id, id if key is None else key, chosen.at, chosen.x, chosen.jitter)
        row = {
            "study": self.study,
            "number": number,
            "ordinal": counts.asked + 1,
            "id": asked.id,
            "key": asked.key,
            "at": asked.at,
            "x": pack(number, asked.at, 0.0, asked.x),
            "jitter": asked.jitter,
            "status": AWAITED,
        }
        connection.execute(sa.insert(suggestions), row)
        self._count(connection, last=number, asked=counts.asked + 1)
        if chosen.jitter > 0:
            self._count(connection, jittered=counts.jittered + 1, jitter=max(counts.jitter, chosen.jitter))
        return asked

    def abandon(self, id: str) -> None:
        with self.store.writing() as connection:
            view = self._view(connection)
            row = self._suggestion(connection, id)
            if row.status == ANSWERED:
                raise ConflictError(f"suggestion {id} has its reward and can no longer be abandoned")
            if row.status == AWAITED:
                self._mark(connection, row.number, ABANDONED)
                self._count(connection, abandoned=view.counts.abandoned + 1)

    # --- tell and observe ---------------------------------------------------------------------------------------

    def tell(self, id: str, y: float, at: float | None, limit: int | None) -> Told:
        with self.store.writing() as connection:
            view = self._view(connection)
            row = self._suggestion(connection, id)
            if row.status == ANSWERED:
                known = view.numbered(row.number)
                if known.y != y:
                    raise ConflictError(f"suggestion {id} was told {known.y!r} before, now {y!r}; the first stays")
                return view.told(known.number, new=False, limit=limit)
            x = unpack(row.number, row.at, 0.0, row.x)
            self._store(connection, view.counts, Observation(row.number, row.at if at is None else at, x, y), None)
            self._mark(connection, row.number, ANSWERED)
            if row.status == ABANDONED:  # the reward came after all
                self._count(connection, abandoned=view.counts.abandoned - 1)
            return view.told(row.number, new=True, limit=limit)

    def observe(self, x: Point, y: float, at: float | None, key: str | None, limit: int | None) -> Told:
        with self.store.writing() as connection:
            view = self._view(connection)
            known = view.observed_with_key(key) if key is not None else None
            if known is not None:
                if known.x != x or known.y != y or (at is not None and known.at != at):
                    raise ConflictError(
                        f"key {key!r} was observed before with another point, reward or time; the first stays"
                    )
                return view.told(known.number, new=False, limit=limit)
            number = view.counts.last + 1
            self._store(connection, view.counts, Observation(number, float(number) if at is None else at, x, y), key)
            self._count(connection, last=number, unasked=view.counts.unasked + 1)
            return view.told(number, new=True, limit=limit, last=number)

    def _store(self, connection: sa.Connection, counts: Counts, seen: Observation, key: str | None) -> None:
        row = {
            "study": self.study,
            "number": seen.number,
            "arrival": counts.told + 1,
            "key": key,
            "at": seen.at,
            "y": seen.y,
            "x": pack(seen.number, seen.at, seen.y, seen.x),
        }
        connection.execute(sa.insert(observations), row)
        self._count(connection, told=counts.told + 1)

    # --- reading ------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[SqliteView]:
        with self.store.reading() as connection:
            yield self._view(connection)

    def observations(self) -> Iterator[Observation]:
        last = 0
        while True:
            with self.store.reading() as connection:
                page = self._view(connection).page(last, PAGE)
            yield from page  # outside the transaction: the reader may take its time
            if len(page) < PAGE:
                return
            last = page[-1].number

    # --- rows ---------------------------------------------------------------------------------------------------

    def _view(self, connection: sa.Connection) -> SqliteView:
        row = connection.execute(_STUDY, {"s": self.study, "name": self.name}).first()
        if row is None:
            raise StoreError(f"{self.store.where}: study {self.name!r:.80} is no longer in it")
        return SqliteView(connection, self.study, Counts(*row))

    def _suggestion(self, connection: sa.Connection, id: str) -> Any:
        number = id.partition("-")[0]
        row = None
        if number.isascii() and number.isdigit() and len(number) < 19:
            row = connection.execute(_SUGGESTION, {"s": self.study, "n": int(number)}).first()
        if row is None or row.id != id:
            raise NotFoundError(f"study {self.name!r} has no suggestion {id!r:.80}")
        return row

    def _mark(self, connection: sa.Connection, number: int, status: int) -> None:
        connection.execute(_MARK, {"s": self.study, "n": number, "new_status": status})

    def _count(self, connection: sa.Connection, **counts: float) -> None:
        connection.execute(sa.update(studies).where(studies.c.study == self.study).values(**counts))


@dataclass(frozen=True, eq=False)
class SqliteView:
    """A log as one transaction sees it."""

    connection: sa.Connection
    study: int
    counts: Counts

    def pending(self, patience: int) -> list[Asked]:
        after = self.counts.asked - patience
        return [_asked(row) for row in self.connection.execute(_PENDING, {"s": self.study, "o": after})]

    def arrived(self, after: int) -> list[Observation]:
        return [_observation(row) for row in self.connection.execute(_ARRIVED, {"s": self.study, "a": after})]

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        rows = self.connection.execute(_TAIL, {"s": self.study, "n": above, "limit": _sql(limit)}).all()
        return [_observation(row) for row in reversed(rows)]

    def start_of_tail(self, limit: int) -> int:
        if limit < 1:
            return self.counts.last + 1
        return self.connection.scalar(_NTH, {"s": self.study, "before": limit - 1}) or 0

    def page(self, above: int, limit: int) -> list[Observation]:
        """The first `limit` observations above number `above`."""
        return [
            _observation(row) for row in self.connection.execute(_HEAD, {"s": self.study, "n": above, "limit": limit})
        ]

    def numbered(self, number: int) -> Observation:
        return _observation(self.connection.execute(_NUMBERED, {"s": self.study, "n": number}).one())

    def with_key(self, key: str) -> Asked | None:
        row = self.connection.execute(_KEYED, {"s": self.study, "k": key}).first()
        return None if row is None else _asked(row)

    def observed_with_key(self, key: str) -> Observation | None:
        row = self.connection.execute(_OBSERVED, {"s": self.study, "k": key}).first()
        return None if row is None else _observation(row)

    def told(self, number: int, *, new: bool, limit: int | None, last: int | None = None) -> Told:
        newer = self.connection.scalar(_NEWER, {"s": self.study, "n": number, "limit": _sql(limit)}) or 0
        return Told(number, new, self.counts.last if last is None else last, newer)


def _asked(row: Any) -> Asked:
    return Asked(row.number, row.id, row.key, row.at, unpack(row.number, row.at, 0.0, row.x), row.jitter)


def _observation(row: Any) -> Observation:
    return Observation(row.number, row.at, unpack(row.number, row.at, row.y, row.x), row.y)


def _sql(limit: int | None) -> int:
    return -1 if limit is None else limit


# --- the queries ------------------------------------------------------------------------------------------------------
# Each is an index look-up or a bounded range of the primary key; tests/study/test_scale.py asks SQLite for its plans.

_S, _O = suggestions.c, observations.c
_of_study = _O.study == sa.bindparam("s")
_above = sa.and_(_of_study, _O.number > sa.bindparam("n"))
_limit = sa.bindparam("limit", type_=sa.Integer)
_row = sa.select(_O.number, _O.at, _O.y, _O.x)

_STUDY = sa.select(*(studies.c[name] for name in Counts.__dataclass_fields__)).where(
    studies.c.study == sa.bindparam("s"), studies.c.name == sa.bindparam("name")
)
_SUGGESTION = sa.select(suggestions).where(_S.study == sa.bindparam("s"), _S.number == sa.bindparam("n"))
_KEYED = sa.select(suggestions).where(_S.study == sa.bindparam("s"), _S.key == sa.bindparam("k"))
_PENDING = (
    sa.select(suggestions)
    .where(_S.study == sa.bindparam("s"), is_awaited, _S.ordinal > sa.bindparam("o"))
    .order_by(_S.ordinal)
)
_MARK = (
    sa.update(suggestions)
    .where(_S.study == sa.bindparam("s"), _S.number == sa.bindparam("n"))
    .values(status=sa.bindparam("new_status"))
)
_NUMBERED = _row.where(_of_study, _O.number == sa.bindparam("n"))
_OBSERVED = _row.where(_of_study, _O.key == sa.bindparam("k"), _O.key.is_not(None))
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
