"""The upgrade from format 1 to the present one: all rows are rewritten in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa

from driftwise.records import Observation
from driftwise.store import keys, rows, schema
from driftwise.store.base import Asked, Counts
from driftwise.store.old_format import VERSION, VIEWS, awaiting_in, unpack

Row = TypeVar("Row")


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the file inside the caller's transaction, which holds the write lock."""
    for name in VIEWS:
        connection.exec_driver_sql(f"DROP VIEW temp.{name}")
    if connection.exec_driver_sql("PRAGMA user_version").scalar() != VERSION:
        return  # another process was faster
    for name in ("studies", "suggestions", "observations"):
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO old_{name}")
    for index in ("suggestion_keys", "awaited", "arrivals", "observation_keys"):
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index}")
    schema.create(connection)
    old = list(connection.exec_driver_sql("SELECT * FROM old_studies ORDER BY study"))
    for study in old:
        _copy(connection, study)
    rows.count_studies(connection, len(old))
    for name in ("observations", "suggestions", "studies"):
        connection.exec_driver_sql(f"DROP TABLE old_{name}")


def _copy(connection: sa.Connection, study: Any) -> None:
    empty = rows.Standing(study.study, study.name, Counts(), rows.described(study.description))
    rows.insert_study(connection, empty, study.description)
    keyed: list[tuple[int, str, int]] = []
    head = 0
    for suggested in batched(_suggestions(connection, study.study)):
        connection.execute(rows.INSERT_SUGGESTION, [rows.suggestion_row(study.study, *each) for each in suggested])
        keyed += [(schema.ASKED, asked.key, asked.number) for asked, _, _ in suggested if asked.key != asked.id]
    for batch in batched(_observations(connection, study.study)):
        written = [rows.observation_row(study.study, *each) for each in batch]
        connection.execute(rows.INSERT_OBSERVATION, written)
        head = rows.chained(head, (row["checksum"] for row in written))
        keyed += [(schema.OBSERVED, key, seen.number) for seen, key, _ in batch if key is not None]
    keys.insert_all(connection, study.study, keyed)
    counts = Counts(*(getattr(study, name) for name in Counts.__dataclass_fields__))
    awaiting = awaiting_in(connection, "old_suggestions", study.study)
    rows.update_study(connection, replace(empty, counts=counts, keyed=len(keyed), awaiting=awaiting, head=head))


def batched(rows: Iterable[Row], size: int = 1000) -> Iterator[list[Row]]:
    """Lists of up to `size` rows."""
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch


def _suggestions(connection: sa.Connection, study: int) -> Iterator[tuple[Asked, int, int]]:
    for row in connection.exec_driver_sql("SELECT * FROM old_suggestions WHERE study = ? ORDER BY number", (study,)):
        x = unpack(row.number, row.at, 0.0, row.x)
        yield Asked(row.number, row.id, row.key, row.at, x, row.jitter), row.ordinal, row.status


def _observations(connection: sa.Connection, study: int) -> Iterator[tuple[Observation, str | None, int]]:
    for row in connection.exec_driver_sql("SELECT * FROM old_observations WHERE study = ? ORDER BY arrival", (study,)):
        x = unpack(row.number, row.at, row.y, row.x)
        yield Observation(row.number, row.at, x, row.y), row.key, row.arrival
