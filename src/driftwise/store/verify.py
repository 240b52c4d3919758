"""Checks whether a file is intact: all rows are read and compared with each other. Intact rows can be copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from driftwise.errors import DriftwiseError, StoreError
from driftwise.records import Observation
from driftwise.store import files, keys, rows, schema
from driftwise.store.base import Asked, Counts
from driftwise.store.connection import connect, wrap
from driftwise.store.rows import Standing, verified_observation, verified_suggestion
from driftwise.store.schema import ABANDONED, ANSWERED, AWAITED
from driftwise.store.sqlite import SqliteStore

Result = TypeVar("Result")
SHOWN = 20  # problems of one kind


@dataclass(frozen=True)
class Finding:
    """A problem with a study of a file, or (None) with the file itself."""

    study: str | None
    problem: str


@dataclass(frozen=True)
class Salvaged:
    """How much of a study was copied and lost."""

    study: str
    observations: int
    suggestions: int
    lost: int  # numbers of which neither row could be read


@dataclass(frozen=True)
class Found:
    """The rows of a study that could be read, and the problems of the others."""

    suggestions: dict[int, Any]
    observations: dict[int, Any]
    problems: list[str]


def check(path: Path) -> list[Finding]:
    """All problems of the file; an empty list if it is intact."""
    files.check(path)
    return _with(path, lambda connection: list(_findings(connection)))


def salvage(path: Path, target: Path) -> list[Salvaged]:
    """Copy intact rows into a new file. Lost numbers remain there as abandoned suggestions."""
    if target.exists():
        raise StoreError(f"{target}: it exists already; give the name of a new file")
    files.check(path)

    def copy(connection: sa.Connection) -> list[Salvaged]:
        store = SqliteStore(target)
        try:
            return [_copy(connection, store, row) for row in _studies(connection)]
        finally:
            store.close()

    return _with(path, copy)


def _with(path: Path, work: Callable[[sa.Connection], Result]) -> Result:
    """Return what `work` returns for the file, which is neither written nor trusted."""
    raw = connect(path)
    try:
        raw.execute("PRAGMA query_only = ON").close()
        raw.execute("BEGIN").close()
        if raw.execute("PRAGMA user_version").fetchone() != (schema.VERSION,):
            raise StoreError(
                f"{path}: it has an older format, in which not everything has a checksum; ask or tell once, which "
                "upgrades it, and check it then"
            )
        return work(wrap(raw))
    except files.SQLITE_ERRORS as error:
        raise files.explain(error, str(path)) from error
    finally:
        raw.shut()


# --- looking --------------------------------------------------------------------------------------------------------


def _findings(connection: sa.Connection) -> Iterator[Finding]:
    for row in _tolerant(connection, "PRAGMA integrity_check(20)"):
        if row is None or row[0] != "ok":
            yield Finding(None, "SQLite: it cannot be read" if row is None else f"SQLite: {row[0]}")
    try:
        rows.names(connection)
    except (DriftwiseError, *files.SQLITE_ERRORS) as error:
        yield Finding(None, _words(error))
    for row in _studies(connection):
        name = row.name if isinstance(row.name, str) else None
        for problem in _problems(connection, row):
            yield Finding(name, problem)


def _problems(connection: sa.Connection, row: Any) -> Iterator[str]:
    try:
        standing = rows.standing_of(connection, row.study, row.name)
        assert standing is not None
        if row.described != rows.described(row.description):
            yield "its description does not match its checksum"
    except (DriftwiseError, *files.SQLITE_ERRORS, AssertionError) as error:
        yield f"its row: {_words(error)}"
        return
    found = _rows(connection, row.study)
    yield from found.problems[:SHOWN]
    yield from _contradictions(connection, standing, found)


def _contradictions(connection: sa.Connection, standing: Standing, found: Found) -> Iterator[str]:
    """Contradictions between rows that are intact by themselves."""
    counts, asked, seen = standing.counts, found.suggestions, found.observations
    missing = [n for n in range(1, counts.last + 1) if n not in asked and n not in seen]
    lost = [n for n, row in asked.items() if (row.status == ANSWERED) != (n in seen)]
    statuses = [row.status for row in asked.values()]
    unasked = [n for n in seen if n not in asked]
    head = rows.chained(0, (row.checksum for row in sorted(seen.values(), key=lambda row: row.arrival)))
    pending = {number for _, number in standing.awaiting}
    awaited = {n for n, row in asked.items() if row.status == AWAITED}
    counted = (len(asked), len(seen), len(unasked), statuses.count(ABANDONED))
    stored = (counts.asked, counts.told, counts.unasked, counts.abandoned)
    keyed = {(schema.ASKED, row.key, n) for n, row in asked.items() if row.key != row.id}
    keyed |= {(schema.OBSERVED, row.key, n) for n, row in seen.items() if row.key is not None}
    for is_wrong, problem in (
        (missing, f"these of the numbers 1 to {counts.last} are missing: {_some(missing)}"),
        (lost, f"these suggestions lack their reward, or have one although they are not answered: {_some(lost)}"),
        (counted != stored, "its counts differ from its rows"),
        (_gaps(row.ordinal for row in asked.values()), "the order of its suggestions has gaps"),
        (_gaps(row.arrival for row in seen.values()), "the order of arrival of its rewards has gaps"),
        (head != standing.head, "the checksum over all its observations does not match"),
        (not pending <= awaited, "it lists suggestions as pending that are not"),
        (_listed(connection, standing) != keyed, "its list of keys differs from its rows"),
    ):
        if is_wrong:
            yield problem


def _gaps(positions: Iterator[int]) -> bool:
    found = sorted(positions)
    return found != list(range(1, len(found) + 1))


def _listed(connection: sa.Connection, standing: Standing) -> set[tuple[int, str, int]] | None:
    """The keys, followed from the first to the last; None if that fails."""
    found = set()
    for kind in (schema.ASKED, schema.OBSERVED):
        query = sa.select(schema.keys).where(schema.keys.c.study == standing.study, schema.keys.c.kind == kind)
        try:
            listed = {row.key: row for row in connection.execute(query)}
        except files.SQLITE_ERRORS:
            return None
        key: str | None = keys.FIRST if listed else None
        while key is not None:
            row = listed.pop(key, None)
            if row is None or not keys.is_whole(row):
                return None
            found |= {(kind, row.key, row.number)} if key != keys.FIRST else set()
            key = row.next
        if listed:
            return None
    return found


def _some(numbers: list[int]) -> str:
    return ", ".join(map(str, sorted(numbers)[:10])) + (" …" if len(numbers) > 10 else "")


def _words(error: BaseException) -> str:
    text = str(getattr(error, "orig", error))
    return text.removeprefix("the study file is damaged: ").partition(";")[0]


# --- reading what can be read ---------------------------------------------------------------------------------------


def _tolerant(connection: sa.Connection, query: str, *values: Any) -> Iterator[Any]:
    """The rows of a query, with None in place of the first that cannot be read."""
    try:
        yield from connection.exec_driver_sql(query, values)
    except files.SQLITE_ERRORS:
        yield None


def _studies(connection: sa.Connection) -> list[Any]:
    return [row for row in _tolerant(connection, "SELECT * FROM studies ORDER BY study") if row is not None]


def _rows(connection: sa.Connection, study: int) -> Found:
    """What can be read of a study, from the front and, if that fails, from the back."""
    found = Found({}, {}, [])
    for table, kept, verified in (
        ("suggestions", found.suggestions, verified_suggestion),
        ("observations", found.observations, verified_observation),
    ):
        for order in ("ASC", "DESC"):
            query = f"SELECT * FROM {table} WHERE study = ? ORDER BY number {order}"
            read = list(_tolerant(connection, query, study))
            for row in read:
                if row is None:
                    found.problems.append(f"some of its {table} cannot be read")
                    continue
                try:
                    verified(row)
                    kept[row.number] = row
                except StoreError as error:
                    found.problems.append(_words(error))
            if None not in read:
                break
    return found


# --- copying ----------------------------------------------------------------------------------------------------------


def _copy(connection: sa.Connection, store: SqliteStore, row: Any) -> Salvaged:
    if rows.described(row.description) != row.described or not isinstance(row.name, str):
        raise StoreError(
            f"study {row.name!r:.80}: its description is damaged, so that its rows cannot be copied; restore a backup"
        )
    found = _rows(connection, row.study)
    last = max([0, *found.suggestions, *found.observations])
    log = store.create(row.name, row.description)

    def write(new: sa.Connection) -> int:
        standing = rows.standing_of(new, log.study, row.name)
        assert standing is not None
        return _write(new, standing, found, last)

    lost = store.writing(write)
    return Salvaged(row.name, len(found.observations), len(found.suggestions), lost)


def _write(new: sa.Connection, standing: Standing, found: Found, last: int) -> int:
    study, lost, keyed = standing.study, 0, []
    asked = dict[int, tuple[Asked, int]]()
    for number in range(1, last + 1):
        if number in found.suggestions:
            row = found.suggestions[number]
            told = number in found.observations
            status = ANSWERED if told else ABANDONED if row.status == ANSWERED else row.status
            asked[number] = verified_suggestion(row), status
            keyed += [(schema.ASKED, row.key, number)] if row.key != row.id else []
        elif number not in found.observations:
            asked[number] = Asked(number, f"{number}-lost", f"{number}-lost", float(number), ()), ABANDONED
            lost += 1
    ordinals = {number: i for i, number in enumerate(asked, 1)}
    written = [rows.suggestion_row(study, each, ordinals[n], status) for n, (each, status) in asked.items()]
    arrived = sorted(found.observations.values(), key=lambda row: row.arrival)
    observed = [_again(study, row, i) for i, row in enumerate(arrived, 1)]
    keyed += [(schema.OBSERVED, row.key, row.number) for row in arrived if row.key is not None]
    for insert, batch in ((rows.INSERT_SUGGESTION, written), (rows.INSERT_OBSERVATION, observed)):
        if batch:
            new.execute(insert, batch)
    keys.insert_all(new, study, keyed)
    statuses = [status for _, status in asked.values()]
    counts = Counts(
        last=last,
        asked=len(asked),
        told=len(arrived),
        unasked=sum(row.number not in asked for row in arrived),
        abandoned=statuses.count(ABANDONED),
        jittered=sum(each.jitter > 0 for each, _ in asked.values()),
        jitter=max((each.jitter for each, _ in asked.values()), default=0.0),
    )
    awaiting = tuple((ordinals[n], n) for n, (_, status) in asked.items() if status == AWAITED)
    head = rows.chained(0, (row["checksum"] for row in observed))
    rows.update_study(new, replace(standing, counts=counts, keyed=len(keyed), awaiting=awaiting, head=head))
    return lost


def _again(study: int, row: Any, arrival: int) -> dict[str, Any]:
    seen: Observation = verified_observation(row)
    return rows.observation_row(study, seen, row.key, arrival)
