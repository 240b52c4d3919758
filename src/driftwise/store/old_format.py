"""Files of formats 1 and 2, which driftwise 0.1 wrote in 2026. They are read as they are; a write upgrades them.

Reading goes through temporary views, which exist in this connection only and give the old tables the columns of the new
ones.

In format 1 the checksum covered only the number, time, point and reward of a row, and was stored with the bytes of the
point. There a checksum of NULL means that it is in the bytes of the point. Format 2 lacks what format 3 added, which
its checksums therefore do not cover.
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

_COUNTS = "0 AS failed, 0 AS retracted, 0 AS corrected, 0 AS corrections_head"
_NO_CORRECTIONS = """SELECT 0 AS study, 0 AS ordinal, 0 AS number, NULL AS y, NULL AS details, '' AS who, '' AS made,
    '' AS why, 0 AS checksum WHERE 0"""

VIEWS = {
    1: {
        "file": "SELECT 1 AS file, (SELECT count(*) FROM main.studies) AS studies, NULL AS checksum, 0 AS deleted",
        "studies": f"""SELECT study, name, NULL AS described, last, asked, told, unasked, abandoned, jittered, jitter,
            0 AS keyed, NULL AS awaiting, 0 AS head, {_COUNTS}, NULL AS checksum, description FROM main.studies""",
        "suggestions": "SELECT *, NULL AS checksum, NULL AS batch FROM main.suggestions",
        "observations": "SELECT *, NULL AS checksum, NULL AS details FROM main.observations",
        "corrections": _NO_CORRECTIONS,
    },
    2: {
        "file": "SELECT *, 0 AS deleted FROM main.file",
        "studies": f"SELECT *, {_COUNTS} FROM main.studies",
        "suggestions": "SELECT *, NULL AS batch FROM main.suggestions",
        "observations": "SELECT *, NULL AS details FROM main.observations",
        "corrections": _NO_CORRECTIONS,
    },
}


def show_as_new(raw: sqlite3.Connection, version: int) -> None:
    """Give the tables of an old file the columns of the new ones, for this connection alone."""
    for name, query in VIEWS.get(version, {}).items():
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
