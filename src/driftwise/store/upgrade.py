"""The upgrade from formats 1 and 2 to the present one, in one transaction."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from driftwise.records import Observation
from driftwise.store import copies, rows, schema
from driftwise.store.base import Asked, Counts
from driftwise.store.checksums import damaged
from driftwise.store.copies import CopiedRows, Suggested, Whole
from driftwise.store.old_format import awaiting_in, unpack


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the file inside the caller's transaction, which holds the write lock."""
    for name in ("file", "studies", "suggestions", "observations", "corrections"):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS temp.{name}")
    version = connection.exec_driver_sql("PRAGMA user_version").scalar()
    if version == 1:
        _from_format_1(connection)
    elif version == 2:
        _from_format_2(connection)
    # else another process was faster


def _from_format_2(connection: sa.Connection) -> None:
    """Add what is new. No row of a log is touched, so that this takes as long for a long log as for a short one."""
    for table, column in (
        ("file", "deleted INTEGER NOT NULL DEFAULT 0"),
        ("suggestions", "batch INTEGER"),
        ("observations", "details TEXT"),
    ):
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    schema.corrections.create(connection, checkfirst=False)
    # made anew, because the description, which may be long, has to remain the last column
    schema.studies.to_metadata(sa.MetaData(), name="new_studies").create(connection, checkfirst=False)
    added = ("failed", "retracted", "corrected", "corrections_head")
    kept = ", ".join(column.name for column in schema.studies.c if column.name not in added)
    none, new = ", ".join("0" for _ in added), ", ".join(added)
    connection.exec_driver_sql(f"INSERT INTO new_studies ({kept}, {new}) SELECT {kept}, {none} FROM studies")
    connection.exec_driver_sql("DROP TABLE studies")
    connection.exec_driver_sql("ALTER TABLE new_studies RENAME TO studies")
    connection.exec_driver_sql(f"PRAGMA user_version = {schema.VERSION}")


def _from_format_1(connection: sa.Connection) -> None:
    """Rewrite all rows."""
    for name in ("studies", "suggestions", "observations"):
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO old_{name}")
    for index in ("suggestion_keys", "awaited", "arrivals", "observation_keys"):
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index}")
    schema.create_in_file(connection)
    old = list(connection.exec_driver_sql("SELECT * FROM old_studies ORDER BY study"))
    for study in old:
        _copy(connection, study)
    rows.count_studies(connection, len(old))
    for name in ("observations", "suggestions", "studies"):
        connection.exec_driver_sql(f"DROP TABLE old_{name}")


def _copy(connection: sa.Connection, study: Any) -> None:
    empty = rows.Standing(study.study, study.name, Counts(), rows.described(study.description))
    rows.insert_study(connection, empty, study.description)
    awaiting = awaiting_in(connection, "old_suggestions", study.study)
    contents = CopiedRows(_suggestions(connection, study.study), _observations(connection, study.study))
    counts = Counts(study.last, study.asked, study.told, study.unasked, study.abandoned, study.jittered, study.jitter)
    if contents.counts != counts:
        raise damaged(f"the counts of study {study.name!r:.80} differ from its rows")
    copies.write(connection, empty, Whole(contents, awaiting))


def _suggestions(connection: sa.Connection, study: int) -> list[Suggested]:
    found = connection.exec_driver_sql("SELECT * FROM old_suggestions WHERE study = ? ORDER BY number", (study,))
    points = ((row, unpack(row.number, row.at, 0.0, row.x)) for row in found)
    return [Suggested(Asked(row.number, row.id, row.key, row.at, x, row.jitter), row.status) for row, x in points]


def _observations(connection: sa.Connection, study: int) -> list[tuple[Observation, str | None]]:
    found = connection.exec_driver_sql("SELECT * FROM old_observations WHERE study = ? ORDER BY arrival", (study,))
    points = ((row, unpack(row.number, row.at, row.y, row.x)) for row in found)
    return [(Observation(row.number, row.at, x, row.y), row.key) for row, x in points]
