"""Checksums: every row has one over all of its values, so that a damaged row is detected."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from driftwise.errors import StoreError
from driftwise.records import Point

ADVICE = "restore it from a copy, or see which rows are intact with: driftwise study check"


def checksum(*values: Any, data: bytes = b"") -> int:
    """CRC-32 of a row's values, and of `data`, its raw bytes.

    >>> checksum(7, 0.5, "key") == checksum(7, 0.5, "key", data=b"") != checksum(7, 0.5, "kez")
    True
    """
    # ASCII, because the characters that repr escapes depend on the version of Python
    return zlib.crc32(data, zlib.crc32(ascii(values).encode()))


def verify(stored: Any, computed: int, what: str, which: Any = None) -> None:
    """Raise a `StoreError` unless the checksum that was stored is the one that was computed."""
    if stored != computed:
        named = what if which is None else f"{what} {which!r:.80}"
        raise damaged(f"{named} does not match its checksum")


def damaged(what: str) -> StoreError:
    """The error for a file whose contents contradict each other."""
    return StoreError(f"the study file is damaged: {what}; {ADVICE}")


def packed(x: Point) -> bytes:
    """A point as the bytes of its float64 coordinates.

    >>> unpacked(packed((0.1, 0.2)))
    (0.1, 0.2)
    """
    return struct.pack(f"<{len(x)}d", *x)


def unpacked(data: bytes) -> Point:
    """The point of these bytes, bit for bit."""
    return struct.unpack(f"<{len(data) // 8}d", data)
