"""Files of format 1, which driftwise 0.1 wrote before November 2026. They are read as they are; a write upgrades them.

In format 1 the checksum covered only the number, time, point and reward of a row, and was stored with the bytes of the
point. Reading goes through temporary views, which exist in this connection only and give the old tables the columns of
the new ones. There a checksum of NULL means that it is in the bytes of the point.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from typing import Any

import sqlalchemy as sa

from driftwise.records import Point
from driftwise.store.checksums import damaged

VERSION = 1
HEADER = struct.Struct("<BI")  # a version, and a checksum

VIEWS = {
    "file": "SELECT 1 AS file, (SELECT count(*) FROM main.studies) AS studies, NULL AS checksum",
    "studies": """SELECT study, name, NULL AS described, last, asked, told, unasked, abandoned, jittered, jitter,
        0 AS keyed, NULL AS awaiting, 0 AS head, NULL AS checksum, description FROM main.studies""",
    "suggestions": "SELECT *, NULL AS checksum FROM main.suggestions",
    "observations": "SELECT *, NULL AS checksum FROM main.observations",
}


def show_as_new(raw: sqlite3.Connection) -> None:
    """Give the tables of an old file the columns of the new ones, for this connection alone."""
    for name, query in VIEWS.items():
        raw.execute(f"CREATE TEMP VIEW {name} AS {query}").close()


def unpack(number: int, at: float, y: float, data: Any) -> Point:
    """The point in the bytes of an old row. Raises a `StoreError` if the row was changed."""
    raw = data[HEADER.size :] if isinstance(data, bytes) and len(data) >= HEADER.size else b"?"
    try:
        whole = not len(raw) % 8 and HEADER.unpack_from(data) == (VERSION, _checksum(number, at, y, raw))
    except (struct.error, TypeError):  # values of other types than were written
        whole = False
    if not whole:
        raise damaged(f"row {number!r:.40} does not match its checksum")
    return struct.unpack(f"<{len(raw) // 8}d", raw)


def _checksum(number: int, at: float, y: float, raw: bytes) -> int:
    return zlib.crc32(struct.pack("<qdd", number, at, y) + raw)


def awaiting_in(connection: sa.Connection, table: str, study: int) -> tuple[tuple[int, int], ...]:
    """The value that `studies.awaiting` would have."""
    # a literal 0, because otherwise the index of awaited suggestions is not used
    query = f"SELECT ordinal, number FROM {table} WHERE study = ? AND status = 0 ORDER BY ordinal"
    return tuple((ordinal, number) for ordinal, number in connection.exec_driver_sql(query, (study,)))
