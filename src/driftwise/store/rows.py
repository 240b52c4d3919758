"""Rows are written with a checksum over all of their values, and verified when they are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.records import Observation
from driftwise.store import outcomes, schema
from driftwise.store.base import Asked, Correction, Counts, observation_of
from driftwise.store.checksums import checksum, damaged, packed, unpacked, verify

Row = Any  # as SQLAlchemy gives it
Awaiting = tuple[tuple[int, int], ...]  # ordinal and number, oldest first


@dataclass(frozen=True, slots=True)
class Standing:
    """The row of a study without the description. Every transaction that writes replaces it as a whole."""

    study: int
    name: str
    counts: Counts
    described: int
    keyed: int = 0
    awaiting: Awaiting = ()
    head: int = 0
    corrections_head: int = 0

    @property
    def row(self) -> dict[str, Any]:
        """The values that are stored."""
        counts = self.counts
        values = {
            "last": counts.last,
            "asked": counts.asked,
            "told": counts.told,
            "unasked": counts.unasked,
            "abandoned": counts.abandoned,
            "jittered": counts.jittered,
            "jitter": float(counts.jitter),
            "failed": counts.failed,
            "retracted": counts.retracted,
            "corrected": counts.corrected,
            "keyed": self.keyed,
            "awaiting": json.dumps(self.awaiting),
            "head": self.head,
            "corrections_head": self.corrections_head,
        }
        return values | {"checksum": checksum(self.study, self.name, self.described, *values.values())}

    def asks(self, asked: Asked, *, patience: int) -> Standing:
        """After this suggestion was made. Suggestions older than `patience` are no longer pending."""
        counts = self.counts
        ordinal = counts.asked + 1
        counts = replace(
            counts,
            last=asked.number,
            asked=ordinal,
            jittered=counts.jittered + (asked.jitter > 0),
            jitter=max(counts.jitter, asked.jitter),
        )
        awaiting = ((*self.awaiting, (ordinal, asked.number)))[-max(patience, 1) :]
        pending = tuple(pair for pair in awaiting if pair[0] > ordinal - patience)
        return replace(self, counts=counts, awaiting=pending)

    def no_longer_awaits(self, number: int) -> Standing:
        return replace(self, awaiting=self._without(number))

    def _without(self, number: int) -> Awaiting:
        return tuple(pair for pair in self.awaiting if pair[1] != number)

    def stores(self, seen: Observation, check: int, status: int | None) -> Standing:
        """After this observation, whose row has this checksum; its suggestion, if it has one, had this status."""
        counts = self.counts
        counts = replace(
            counts,
            last=max(counts.last, seen.number),
            told=counts.told + 1,
            unasked=counts.unasked + (status is None),
            abandoned=counts.abandoned - (status == schema.ABANDONED),
            failed=counts.failed + seen.failed,
        )
        awaiting = self.awaiting if status is None else self._without(seen.number)
        return replace(self, counts=counts, awaiting=awaiting, head=chained(self.head, [check]))

    def corrects(self, made: Correction, check: int) -> Standing:
        """After this correction, whose row has this checksum, was made."""
        before, after, counts = made.before, made.after, self.counts
        counts = replace(
            counts,
            failed=counts.failed + (after is not None and after.failed) - (before is not None and before.failed),
            retracted=counts.retracted + (after is None) - (before is None),
            corrected=made.ordinal,
        )
        return replace(self, counts=counts, corrections_head=chained(self.corrections_head, [check]))


# --- studies ----------------------------------------------------------------------------------------------------------

_F, _T = schema.file.c, schema.studies.c
_STANDING = [column for column in _T if column.name != "description"]
_STUDY = sa.select(*_STANDING).where(_T.study == sa.bindparam("s"), _T.name == sa.bindparam("name"))
# until the end of the transaction; SQLite, where a transaction that writes has the whole file, leaves this out
_LOCKED = _STUDY.with_for_update()
_ALL = sa.select(*_STANDING).where(_T.study.in_(sa.bindparam("studies", expanding=True))).order_by(_T.study)
_ALL_LOCKED, _ALL_FREE = _ALL.with_for_update(), _ALL.with_for_update(skip_locked=True)
_COUNT_STUDIES = sa.select(sa.func.count()).select_from(schema.studies)
_LOCKED_FILE = sa.select(_F.file).with_for_update()
_NAMED = sa.select(schema.studies).where(schema.Unindexed(_T.name) == sa.bindparam("name"))
_CHANGING = [column.name for column in _STANDING if column.name not in ("study", "name", "described")]
_UPDATE = (
    sa.update(schema.studies)
    .where(_T.study == sa.bindparam("s"))
    .values({name: sa.bindparam(f"new_{name}") for name in _CHANGING})
)


def described(description: str) -> int:
    """The checksum of a description."""
    return checksum(description)


def names(connection: sa.Connection) -> list[str]:
    """The names of all studies."""
    return sorted(row.name for row in studies(connection)[0])


def studies(connection: sa.Connection) -> tuple[list[Row], int]:
    """The rows of all studies, and how many there were besides, whose numbers are not given again."""
    listed = list(connection.execute(sa.select(*_STANDING).order_by(_T.study)))
    deleted = _deleted(connection, len(listed))
    for row in listed:
        _verify_study(row)
    return listed, deleted


def _deleted(connection: sa.Connection, count: int) -> int:
    """How many studies were deleted. Raises a `StoreError` unless `count` is the number of those that are there."""
    file = connection.execute(sa.select(schema.file)).first()
    if file is None or file.studies != count:
        raise damaged(f"it has {count} studies, which is not the number that it has stored")
    verify(file.checksum, checksum(file.file, file.studies, file.deleted), "the number of studies")
    return int(file.deleted)


def census(connection: sa.Connection) -> tuple[int, int]:
    """How many studies there are, and how many there were besides. Raises a `StoreError` if one may be missing.

    In a file every row is verified, because a name that was damaged would be made again. A server, which may hold ten
    thousand studies, checks its own pages: there the rows are counted.
    """
    if connection.dialect.name == "sqlite":
        listed, deleted = studies(connection)
        return len(listed), deleted
    count = connection.scalar(_COUNT_STUDIES) or 0
    return count, _deleted(connection, count)


def find_study(connection: sa.Connection, name: str, *, sure: bool = True) -> tuple[int, str] | None:
    """A study's number in the file, and its description. To be `sure` that there is none, the others are counted."""
    row = connection.execute(_NAMED, {"name": name}).first()
    if row is None:
        if sure:
            census(connection)  # raises if one may be missing
        return None
    _verify_study(row)
    verify(row.described, described(row.description), "the description of study", row.name)
    return row.study, row.description


def lock_studies(connection: sa.Connection) -> None:
    """From now on only this transaction adds, renames and deletes studies."""
    connection.execute(_LOCKED_FILE)


def standing_of(connection: sa.Connection, study: int, name: str, *, lock: bool = False) -> Standing | None:
    """The row of a study now, or None if it does not exist. With `lock` no other transaction may change the study."""
    row = connection.execute(_LOCKED if lock else _STUDY, {"s": study, "name": name}).first()
    return None if row is None else _standing(row)


def standings_of(connection: sa.Connection, studies: Collection[int], *, wait: bool) -> dict[int, Standing]:
    """The rows of those of these studies that are whole, locked in one order, so that nobody waits in a circle.

    Unless it is to `wait`, those that others have locked are left out.
    """
    found: dict[int, Standing] = {}
    for row in connection.execute(_ALL_LOCKED if wait else _ALL_FREE, {"studies": list(studies)}).all():
        with suppress(StoreError):
            found[row.study] = _standing(row)
    return found


def _standing(row: Row) -> Standing:
    _verify_study(row)
    number, named, described, *counted, keyed, awaiting, head, corrections_head, _ = row
    pending = tuple(map(tuple, json.loads(awaiting))) if awaiting != "[]" else ()
    return Standing(number, named, Counts(*counted), described, keyed, pending, head, corrections_head)


def _verify_study(row: Any) -> None:
    *values, stored = row[: len(_STANDING)]  # by position: every opening reads all studies
    verify(stored, checksum(*values), "a study's row")


def add_study(connection: sa.Connection, name: str, description: str) -> Standing:
    """A new study without suggestions and observations. Its number was never given before."""
    count, deleted = census(connection)
    standing = Standing(count + deleted + 1, name, Counts(), described(description))
    insert_study(connection, standing, description)
    count_studies(connection, count + 1, deleted)
    return standing


def insert_study(connection: sa.Connection, standing: Standing, description: str) -> None:
    values = {"study": standing.study, "name": standing.name, "described": standing.described}
    connection.execute(sa.insert(schema.studies), values | standing.row | {"description": description})


def update_study(connection: sa.Connection, standing: Standing) -> None:
    update_studies(connection, [standing])


def update_studies(connection: sa.Connection, standings: Iterable[Standing]) -> None:
    changed = [{"s": each.study} | {f"new_{name}": value for name, value in each.row.items()} for each in standings]
    execute(connection, _UPDATE, changed)


def rename_study(connection: sa.Connection, standing: Standing, new: str) -> None:
    named = replace(standing, name=new)
    values = {"name": new, "checksum": named.row["checksum"]}
    connection.execute(sa.update(schema.studies).where(_T.study == standing.study).values(values))


def delete_study(connection: sa.Connection, study: int) -> None:
    """Delete a study with all its rows. The caller updates the number of studies."""
    for table in (schema.corrections, schema.keys, schema.observations, schema.suggestions, schema.studies):
        connection.execute(sa.delete(table).where(table.c.study == study))


def count_studies(connection: sa.Connection, count: int, deleted: int = 0) -> None:
    values = {"studies": count, "deleted": deleted, "checksum": checksum(1, count, deleted)}
    connection.execute(sa.update(schema.file).values(values))


# --- suggestions and observations -------------------------------------------------------------------------------------


def suggestion_row(study: int, asked: Asked, ordinal: int, status: int, batch: int | None = None) -> dict[str, Any]:
    """A suggestion as it is stored."""
    row = {
        "study": study,
        "number": asked.number,
        "ordinal": ordinal,
        "id": asked.id,
        "key": asked.key,
        "at": asked.at,
        "jitter": asked.jitter,
        "status": status,
        "batch": batch,
        "x": packed(asked.x),
    }
    return row | {"checksum": _of_suggestion(row, status)}


def mark(row: Any, status: int) -> dict[str, Any]:
    """The values of `MARK` that change the status of a suggestion."""
    return {"s": row.study, "n": row.number, "new_status": status, "check": _of_suggestion(row._mapping, status)}


def _of_suggestion(row: Any, status: int) -> int:
    columns = (row["study"], row["number"], row["ordinal"], row["id"], row["key"], row["at"], row["jitter"], status)
    return checksum(*columns, row["batch"], data=row["x"])


def verified_suggestion(row: Any) -> Asked:
    """The suggestion of a row. Raises a `StoreError` if the row is damaged."""
    *values, data, stored = row
    _, number, _, id, key, at, jitter, _, _ = values
    verify(stored, checksum(*values, data=_bytes(data)), "suggestion", number)
    return Asked(number, id, key, at, unpacked(data), jitter)


def observation_row(study: int, seen: Observation, key: str | None, arrival: int) -> dict[str, Any]:
    """An observation as it is stored."""
    x, y, details = packed(seen.x), *outcomes.written(seen)
    row = {"study": study, "number": seen.number, "arrival": arrival, "key": key, "at": seen.at, "y": y}
    row["details"] = details
    return row | {"x": x, "checksum": checksum(*row.values(), data=x)}


def verified_observation(row: Any) -> Observation:
    """The observation of a row, as it was told. Raises a `StoreError` if the row is damaged."""
    # an opened study reads hundreds: by name is slower
    study, number, arrival, key, at, y, details, data, stored = row
    verify(stored, checksum(study, number, arrival, key, at, y, details, data=_bytes(data)), "observation", number)
    if details is None:
        return Observation(number, at, unpacked(data), y)
    return observation_of(number, at, unpacked(data), outcomes.read(y, details))


def chained(head: int, checksums: Iterable[int]) -> int:
    """The head after further observations."""
    for each in checksums:
        head = checksum(head, each)
    return head


def _bytes(x: Any) -> bytes:
    """Damage may have made something else of it."""
    return x if isinstance(x, bytes) else b"?"


_S = schema.suggestions.c
INSERT_SUGGESTION, INSERT_OBSERVATION = sa.insert(schema.suggestions), sa.insert(schema.observations)
MARK = (
    sa.update(schema.suggestions)
    .where(_S.study == sa.bindparam("s"), _S.number == sa.bindparam("n"))
    .values(status=sa.bindparam("new_status"), checksum=sa.bindparam("check"))
)


def execute(connection: sa.Connection, statement: sa.Executable, values: Sequence[dict[str, Any]]) -> None:
    """Execute a statement for each of these; one alone is faster without a list around it."""
    if values:
        connection.execute(statement, values if len(values) > 1 else values[0])
