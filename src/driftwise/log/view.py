"""A log as one transaction sees it. Each query is a look-up or a bounded range of an index."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from driftwise.errors import NotFoundError, StoreError
from driftwise.log import entries
from driftwise.log.base import Asked, Correction, Counts, Mark, News, Outcome, Told, observation_of, outcome_of
from driftwise.log.entries import LogEntry, asked_in, corrected_in, observed_in
from driftwise.log.schema import ABANDONED, ASKED, CORRECTED, OBSERVED, Integer
from driftwise.log.schema import entries as table
from driftwise.log.standing import Standing
from driftwise.records import Observation

ALL = 2**62  # as a limit: SQLite's −1 is refused by PostgreSQL
PAGE = 10_000  # entries that are read at a time
MANY = 1000  # values of one list in a statement

Found = Mapping[int, LogEntry]  # what a log has of one number, by kind


class Read(NamedTuple):
    """Observations with the largest numbers, newest first, as they hold now."""

    held: list[Observation]
    first: int  # the number of the last of them
    enough: bool  # whether as many were found as wanted


@dataclass(frozen=True, slots=True)
class Overlay:
    """What holds for the observations that were corrected: by number the outcome, or None if it is retracted."""

    count: int = 0  # of corrections
    chain: int = 0  # of the last of them
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

    def after(self, read: Iterable[LogEntry]) -> Overlay:
        """With these corrections, too."""
        latest, count, chain = dict(self.latest), self.count, self.chain
        for entry in read:
            made = corrected_in(entry)
            latest[made.number] = made.outcome
            count, chain = entry.number, entry.chain
        return Overlay(count, chain, latest)


@dataclass(eq=False)
class Memo:
    """The last overlay that was read. Only corrections after it are read again, if its last one is still there."""

    overlay: Overlay = field(default_factory=Overlay)


@dataclass(frozen=True, eq=False)
class View:
    """A log as one transaction sees it. It must not be used after the transaction.

    Observations are given as they hold now: with their corrections, and without those that were retracted. A `limit`
    counts those with a reward; the failures between them are given, too.
    """

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
    def mark(self) -> Mark:
        """Where the log ends."""
        return self.standing.mark

    def _rows(self, query: sa.Select[Any] | sa.CompoundSelect[Any], **values: Any) -> list[LogEntry]:
        """The entries that a query finds, as they are."""
        found = self.connection.execute(query, {"s": self.study, **values})
        return list(map(LogEntry._make, found.cursor.fetchall()))  # what SQLAlchemy makes of a row is twice as slow

    def _read(self, query: sa.Select[Any] | sa.CompoundSelect[Any], **values: Any) -> list[LogEntry]:
        """The entries that a query finds, each of them intact."""
        return list(map(entries.intact, self._rows(query, **values)))

    def _read_any(self, query: sa.Select[Any], kind: int, wanted: Sequence[Any]) -> list[LogEntry]:
        """Likewise those of a kind that are among many, asked for in parts that every database takes."""
        parts = (wanted[at : at + MANY] for at in range(0, len(wanted), MANY))
        return [entry for part in parts for entry in self._read(query, kind=kind, wanted=part)]

    # --- suggestions --------------------------------------------------------------------------------------------

    def pending(self, patience: int) -> list[Asked]:
        """The suggestions among the last `patience` that still await a reward, oldest first."""
        oldest = self.counts.asked - patience
        numbers = [number for ordinal, number in self.standing.awaiting if ordinal > oldest]
        return [asked_in(entry) for entry in self._read_any(_NUMBERED_ANY, ASKED, numbers)]

    def after(self, kind: int, number: int, limit: int) -> list[LogEntry]:
        """The first `limit` entries of a kind with a number above this one."""
        return self._read(_FROM, kind=kind, n=number + 1, limit=limit)

    def at(self, number: int) -> Found:
        """What the log has of this number, but for corrections."""
        return {entry.kind: entry for entry in self._read(_AT, n=number)} if 1 <= number <= self.counts.last else {}

    def suggestion(self, id: str) -> Found:
        """Likewise of the suggestion with this id; nothing if there is none."""
        found = self.at(number_in(id))
        return found if ASKED in found and asked_in(found[ASKED]).id == id else {}

    def suggested(self, id: str) -> Found:
        """Likewise of one that must be there."""
        found = self.suggestion(id)
        if not found:
            name = self.standing.name
            raise NotFoundError(f"study {name!r} has no suggestion {id!r:.80}; `study show` lists those awaited")
        return found

    def with_key(self, key: str) -> tuple[Asked, ...]:
        """The suggestions with this key, which may be an id, as many as were made together; none if it is new."""
        first = self.suggestion(key).get(ASKED) or self.keyed(ASKED, key)
        if first is None:
            return ()
        batch = entries.batch_in(first)
        if batch == 1:
            return (asked_in(first),)
        numbers = list(range(first.number, first.number + batch))
        return tuple(map(asked_in, self._read_any(_NUMBERED_ANY, ASKED, numbers)))

    def keyed(self, kind: int, key: str) -> LogEntry | None:
        """The entry of this kind with this key."""
        found = self._read(_KEYED, kind=kind, key=key)
        return found[0] if found else None

    # --- observations as they were told -------------------------------------------------------------------------

    def numbered(self, number: int) -> Observation | None:
        found = self._read(_NUMBERED, kind=OBSERVED, n=number)
        return observed_in(found[0]) if found else None

    def observed_with_keys(self, keys: Collection[str]) -> dict[str, Observation]:
        """Those of these keys that there are, with their observations."""
        found = self._read_any(_KEYED_ANY, OBSERVED, list(keys))
        return {entry.key: observed_in(entry) for entry in found if entry.key is not None}

    # --- observations as they hold now --------------------------------------------------------------------------

    @property
    def overlay(self) -> Overlay:
        """What the corrections say."""
        known = self.memo.overlay
        if not self.counts.corrected:
            return Overlay()
        read = self._read(_FROM, kind=CORRECTED, n=max(known.count, 1), limit=ALL)
        if known.count and read and read[0].chain == known.chain:
            read = read[1:]
        elif known.count:  # of another log, as before a restored backup
            known, read = Overlay(), self._read(_FROM, kind=CORRECTED, n=1, limit=ALL)
        if read:
            self.memo.overlay = known = known.after(read)
        return known

    def corrections(self) -> list[Correction]:
        """All of them, oldest first."""
        holds: dict[int, Outcome | None] = {}
        made = []
        for entry in self._read(_FROM, kind=CORRECTED, n=1, limit=ALL):
            ordinal, number, after, who, when, why = corrected_in(entry)
            seen = None if number in holds else self.numbered(number)
            before = holds.get(number) if seen is None else outcome_of(seen)
            holds[number] = after
            made.append(Correction(ordinal, number, before, after, who, when, why))
        return made

    def since(self, mark: Mark) -> News:
        """What came after a mark, or everything since the `BEGINNING`.

        Raises a `StoreError` if the log does not continue the one that had this mark, as after a restored backup.
        """
        if mark == self.mark:
            return News([], [])
        read = list(self.written_since(mark))
        seen = [observed_in(entry) for entry in read if entry.kind == OBSERVED]
        return News(self._held(seen), entries.corrected_numbers(read))

    def written_since(self, mark: Mark) -> Iterator[LogEntry]:
        try:
            yield from self.written_after(mark)
        except StoreError:
            if mark.seq and not self._has(mark):
                raise StoreError(
                    f"study {self.standing.name!r} has {self.mark.seq} entries and does not continue the log of "
                    f"{mark.seq} entries that was read before. Was a backup restored? Open the study again to continue "
                    "from it"
                ) from None
            raise

    def _has(self, mark: Mark) -> bool:
        found = self._read(_AFTER, seq=mark.seq - 1, limit=1) if mark.seq <= self.mark.seq else []
        return bool(found) and entries.mark_of(found[0]) == mark

    def written_after(self, mark: Mark) -> Iterator[LogEntry]:
        """The entries after a mark, in the order in which they were written, checked against it and the last one."""
        while mark.seq < self.mark.seq:
            page = self._rows(_AFTER, seq=mark.seq, limit=PAGE)
            if not page:
                break
            mark = entries.check_chain(mark if mark.seq else self._beginning, page)
            yield from page
        if mark != self.mark and self.mark.seq:
            raise entries.damaged(f"entry {self.mark.seq} is not the one that it was")

    @property
    def _beginning(self) -> Mark:
        return entries.start(self.connection.execute(_DESCRIPTION, {"s": self.study}).scalar_one())

    def _held(self, seen: list[Observation]) -> list[Observation]:
        """Those that are not retracted, with their corrections."""
        if not self.counts.corrected:
            return seen
        holds = self.overlay.holds
        return [now for each in seen if (now := holds(each)) is not None]

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        """The observations with the largest numbers above `above`, back to the `limit`-th reward, in order."""
        if limit is not None or above:
            return self._last(limit, above, _has_reward).held[::-1]
        seen = [observed_in(entry) for entry in self.written_after(Mark()) if entry.kind == OBSERVED]
        return self._held(sorted(seen, key=lambda each: each.number))

    def newest(self) -> Observation | None:
        """The observation with the largest number."""
        held = self._last(1, 0, _is_held).held
        return held[0] if held else None

    def page(self, above: int, limit: int) -> tuple[list[Observation], int | None]:
        """Of the first `limit` entries above number `above` those that hold, and the last number; None at the end."""
        if above >= self.counts.last:
            return [], None
        found = self._read(_FROM, kind=OBSERVED, n=above + 1, limit=limit)
        return self._held([observed_in(entry) for entry in found]), found[-1].number if len(found) == limit else None

    def _last(self, limit: int | None, above: int, counts: Callable[[Observation], bool]) -> Read:
        """Read back from the end, until `limit` observations count."""
        if limit is not None and limit < 1:
            return Read([], self.counts.last + 1, enough=True)
        held: list[Observation] = []
        holds = self.overlay.holds
        wanted, size, below = _sql(limit), _sql(limit), self.counts.last + 1
        while True:  # once, where nothing failed and nothing was retracted
            found = self._read(_LAST, n=above, below=below, limit=size)
            for entry in found:
                now = holds(observed_in(entry))
                if now is not None:
                    held.append(now)
                    wanted -= counts(now)
                    if wanted == 0:
                        return Read(held, entry.number, enough=True)
            if len(found) < size:
                return Read(held, above + 1, enough=False)
            size, below = 2 * size, found[-1].number

    def start_of_tail(self, limit: int) -> int:
        """The number of the first of the last `limit` rewards; 0 if there are fewer."""
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


def found_at(
    connection: sa.Connection, places: Collection[tuple[int, int]]
) -> dict[tuple[int, int], dict[int, LogEntry]]:
    """What there is of these studies and numbers, as `View.at` says of one; an empty dict where there is nothing."""
    found: dict[tuple[int, int], dict[int, LogEntry]] = {place: {} for place in places}
    wanted = [(study, kind, number) for study, number in places for kind in (ASKED, OBSERVED, ABANDONED)]
    query = _AT_ALL[connection.dialect.name]
    for study, *entry in connection.execute(query, {"wanted": json.dumps(wanted)}) if wanted else ():
        made = entries.intact(LogEntry(*entry))
        found[study, made.number][made.kind] = made
    return found


def _has_reward(seen: Observation) -> bool:
    return not seen.failed


def _is_held(seen: Observation) -> bool:
    return True


def _sql(limit: int | None) -> int:
    return ALL if limit is None else limit


# --- the queries ------------------------------------------------------------------------------------------------------
# tests/study/test_scale.py asks SQLite for the plans of all of them.

_E = table.c
_kind: sa.BindParameter[int] = sa.bindparam("kind")
_n: sa.BindParameter[int] = sa.bindparam("n")
_limit: sa.BindParameter[int] = sa.bindparam("limit", type_=Integer)
_entry = sa.select(_E.seq, _E.kind, _E.number, _E.key, _E.body, _E.chain).where(_E.study == sa.bindparam("s"))
_observed = _E.kind == OBSERVED

# not kind IN (…), for which SQLite would read the whole study
_AT = sa.union_all(*(_entry.where(_E.kind == kind, _E.number == _n) for kind in (ASKED, OBSERVED, ABANDONED)))
_NUMBERED = _entry.where(_E.kind == _kind, _E.number == _n)
_NUMBERED_ANY = _entry.where(_E.kind == _kind, _E.number.in_(sa.bindparam("wanted", expanding=True))).order_by(
    _E.number
)
_KEYED = _entry.where(_E.kind == _kind, _E.key == sa.bindparam("key"))
_KEYED_ANY = _entry.where(_E.kind == _kind, _E.key.in_(sa.bindparam("wanted", expanding=True)))
_FROM = _entry.where(_E.kind == _kind, _E.number >= _n).order_by(_E.number).limit(_limit)
_AFTER = _entry.where(_E.seq > sa.bindparam("seq")).order_by(_E.seq).limit(_limit)
_LAST = (
    _entry.where(_observed, _E.number > _n, _E.number < sa.bindparam("below")).order_by(_E.number.desc()).limit(_limit)
)
LAST_ASKED = _entry.where(_E.kind == ASKED).order_by(_E.number.desc()).limit(1)
_of_study = sa.and_(_E.study == sa.bindparam("s"), _observed)
_NTH = (
    sa.select(_E.number)
    .where(_of_study)
    .order_by(_E.number.desc())
    .limit(1)
    .offset(sa.bindparam("before", type_=Integer))
)
_NEWER = sa.select(sa.func.count()).select_from(
    sa.select(sa.literal(1)).where(_of_study, _E.number > _n).limit(_limit).subquery()
)
_DESCRIPTION = sa.text("SELECT description FROM studies WHERE study = :s")
# Triples as a JSON text: one statement for any number of them. In a list of triples SQLite would use no index.
_AT_ALL = {
    dialect: sa.select(_E.study, _E.seq, _E.kind, _E.number, _E.key, _E.body, _E.chain).where(
        sa.text(f"(study, kind, number) IN (SELECT {triple} FROM {triples})")
    )
    for dialect, triple, triples in (
        (
            "sqlite",
            "json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')",
            "json_each(:wanted)",
        ),
        (
            "postgresql",
            "(value->>0)::bigint, (value->>1)::bigint, (value->>2)::bigint",
            "json_array_elements(CAST(:wanted AS json))",
        ),
    )
}
