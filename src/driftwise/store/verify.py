"""Checks whether a file is intact: all rows are read and compared with each other. Intact rows can be copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from driftwise.errors import DriftwiseError, StoreError
from driftwise.store import copies, corrections, files, is_address, keys, open_store, rows, schema
from driftwise.store.base import Asked, Correction
from driftwise.store.connection import connect, wrap
from driftwise.store.copies import CopiedRows, Suggested, Whole
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
    uncorrected: int = 0  # corrections that could not be read: some observations may be as they were before


@dataclass(frozen=True)
class Found:
    """The rows of a study that could be read, and the problems of the others."""

    suggestions: dict[int, Any]
    observations: dict[int, Any]
    corrections: dict[int, Any]  # by ordinal
    problems: list[str]


def check(path: Path | str) -> list[Finding]:
    """All problems of a file, or of a store on a server; an empty list if it is intact."""
    return _with(path, lambda connection: list(_findings(connection)))


def salvage(path: Path | str, target: Path) -> list[Salvaged]:
    """Copy intact rows into a new file. Lost numbers remain there as abandoned suggestions."""
    if target.exists():
        raise StoreError(f"{target}: it exists already; give the name of a new file")

    def copy(connection: sa.Connection) -> list[Salvaged]:
        store = SqliteStore(target)
        try:
            return [_copy(connection, store, row) for row in _studies(connection)]
        finally:
            store.close()

    return _with(path, copy)


def _with(path: Path | str, work: Callable[[sa.Connection], Result]) -> Result:
    """Return what `work` returns for a file or a store on a server, which is neither written nor trusted."""
    if isinstance(path, str) and is_address(path):
        return open_store(path, create=False).reading(work)
    return _with_file(Path(path), work)


def _with_file(path: Path, work: Callable[[sa.Connection], Result]) -> Result:
    files.check(path)
    raw = connect(path)
    try:
        raw.execute("PRAGMA query_only = ON").close()
        raw.execute("BEGIN").close()
        return work(wrap(raw))
    except files.SQLITE_ERRORS as error:
        raise files.explain(error, str(path)) from error
    finally:
        raw.shut()


# --- looking --------------------------------------------------------------------------------------------------------


def _findings(connection: sa.Connection) -> Iterator[Finding]:
    pages = _tolerant(connection, "PRAGMA integrity_check(20)") if connection.dialect.name == "sqlite" else ()
    for row in pages:
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
    corrected = [found.corrections[ordinal] for ordinal in sorted(found.corrections)]
    now = _contents(found).counts
    for is_wrong, problem in (
        (missing, f"these of the numbers 1 to {counts.last} are missing: {_some(missing)}"),
        (lost, f"these suggestions lack their reward, or have one although they are not answered: {_some(lost)}"),
        (counted != stored, "its counts differ from its rows"),
        (_gaps(row.ordinal for row in asked.values()), "the order of its suggestions has gaps"),
        (_gaps(row.arrival for row in seen.values()), "the order of arrival of its rewards has gaps"),
        (head != standing.head, "the checksum over all its observations does not match"),
        (
            (now.failed, now.retracted, now.corrected) != (counts.failed, counts.retracted, counts.corrected),
            "its counts of failures and corrections differ from its rows",
        ),
        (_gaps(row.ordinal for row in corrected), "the order of its corrections has gaps"),
        (
            corrections.chained(0, corrected) != standing.corrections_head,
            "the checksum over all its corrections does not match",
        ),
        ([row for row in corrected if row.number not in seen], "it corrects observations that it does not have"),
        (_wrong_batches(asked), "suggestions that were made together are not all there"),
        (not pending <= awaited, "it lists suggestions as pending that are not"),
        (_listed(connection, standing) != keyed, "its list of keys differs from its rows"),
    ):
        if is_wrong:
            yield problem


def _wrong_batches(asked: dict[int, Any]) -> bool:
    """Whether one of several suggestions that were made together is missing."""
    sizes = {n: row.batch for n, row in asked.items() if row.batch is not None}
    return any(size < 2 or any(n + i not in asked for i in range(size)) for n, size in sizes.items())


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


def _tolerant(connection: sa.Connection, query: str, **values: Any) -> Iterator[Any]:
    """The rows of a query, with None in place of the first that cannot be read."""
    is_server = connection.dialect.name != "sqlite"
    try:
        if is_server:
            connection.exec_driver_sql("SAVEPOINT look")  # else an error would end the whole transaction
        yield from connection.execute(sa.text(query), values)
    except files.SQLITE_ERRORS:
        if is_server:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT look")
        yield None


def _studies(connection: sa.Connection) -> list[Any]:
    return [row for row in _tolerant(connection, "SELECT * FROM studies ORDER BY study") if row is not None]


def _rows(connection: sa.Connection, study: int) -> Found:
    """What can be read of a study, from the front and, if that fails, from the back."""
    found = Found({}, {}, {}, [])
    for table, order, kept, verified in (
        ("suggestions", "number", found.suggestions, verified_suggestion),
        ("observations", "number", found.observations, verified_observation),
        ("corrections", "ordinal", found.corrections, corrections.verify_row),
    ):
        for direction in ("ASC", "DESC"):
            query = f"SELECT * FROM {table} WHERE study = :s ORDER BY {order} {direction}"
            read = list(_tolerant(connection, query, s=study))
            for row in read:
                if row is None:
                    found.problems.append(f"some of its {table} cannot be read")
                    continue
                try:
                    verified(row)
                    kept[getattr(row, order)] = row
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
    contents = _contents(found)
    log = store.create(row.name, row.description)

    def write(new: sa.Connection) -> None:
        standing = rows.standing_of(new, log.study, row.name)
        assert standing is not None
        copies.write(new, standing, Whole(contents, copies.pending(contents.suggestions)))

    store.writing(write)
    lost = len(contents.suggestions) - len(found.suggestions)
    stored = row.corrected if isinstance(row.corrected, int) else 0
    uncorrected = max(stored - len(contents.corrections), 0)
    return Salvaged(row.name, len(found.observations), len(found.suggestions), lost, uncorrected)


def _contents(found: Found) -> CopiedRows:
    """What is left of a study, so that it is a log without gaps."""
    asked, seen = found.suggestions, found.observations
    suggested = []
    for number in range(1, max([0, *asked, *seen]) + 1):
        if number in asked:
            row = asked[number]
            status = ANSWERED if number in seen else ABANDONED if row.status == ANSWERED else row.status
            whole = row.batch is not None and all(number + i in asked for i in range(row.batch))
            suggested.append(Suggested(verified_suggestion(row), status, row.batch if whole else None))
        elif number not in seen:
            suggested.append(Suggested(Asked(number, f"{number}-lost", f"{number}-lost", float(number), ()), ABANDONED))
    arrived = sorted(seen.values(), key=lambda row: row.arrival)
    observed = [(verified_observation(row), row.key) for row in arrived]
    return CopiedRows(suggested, observed, list(_corrections(found)))


def _corrections(found: Found) -> Iterator[Correction]:
    """Those of observations that are there, counted anew."""
    kept = [row for _, row in sorted(found.corrections.items()) if row.number in found.observations]
    for i, row in enumerate(kept, 1):
        yield Correction(i, row.number, None, corrections.outcome_in(row), row.who, row.made, row.why)
