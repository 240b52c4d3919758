"""A point as bytes: a version, a checksum over the whole row that the point belongs to, and raw float64."""

from __future__ import annotations

import struct
import zlib

from driftwise.errors import StoreError
from driftwise.records import Point

VERSION = 1
HEADER = struct.Struct("<BI")


def pack(number: int, at: float, y: float, x: Point) -> bytes:
    """`x` as bytes that cannot be read beside another number, time or reward than they were written with.

    >>> unpack(7, 7.0, 1.5, pack(7, 7.0, 1.5, (0.1, 0.2)))
    (0.1, 0.2)
    """
    raw = struct.pack(f"<{len(x)}d", *x)
    return HEADER.pack(VERSION, _checksum(number, at, y, raw)) + raw


def unpack(number: int, at: float, y: float, data: bytes) -> Point:
    """The point again; a `StoreError` where anything of the row was changed."""
    version, checksum = HEADER.unpack_from(data) if len(data) >= HEADER.size else (VERSION, -1)
    if version != VERSION:
        raise StoreError(
            f"row {number} was written by a newer driftwise (row version {version}, this one reads {VERSION})"
        )
    raw = data[HEADER.size :]
    if len(raw) % 8 or checksum != _checksum(number, at, y, raw):
        raise StoreError(f"row {number} is damaged: its checksum does not match; restore the file from a copy")
    return struct.unpack(f"<{len(raw) // 8}d", raw)


def _checksum(number: int, at: float, y: float, raw: bytes) -> int:
    return zlib.crc32(struct.pack("<qdd", number, at, y) + raw)
