"""Entries of a journal as bytes: a head, a header in JSON that says which arrays follow, and the arrays.

The head has the length of the rest and its checksum. Everything is little-endian, and every array begins at a multiple
of ALIGN.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.checks import shown
from driftwise.errors import InvalidInput, StoreError

Arrays = Mapping[str, NDArray[Any]]

ENTRIES, SNAPSHOT, VERSION = b"DWJ", b"DWS", 1
HEAD = struct.Struct("<3sBIQQ")  # name, version, bytes of the header, bytes after the checksum, number
CHECKSUM = struct.Struct("<I")  # of the head and of all that comes after the checksum
START = HEAD.size + CHECKSUM.size
ALIGN = 64
LARGEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16, "S": 2**31, "U": 2**31}  # bytes of an element, by dtype.kind


@dataclass(frozen=True, slots=True, eq=False)
class JournalEntry:
    """A kind, and arrays by name."""

    kind: str
    arrays: Arrays = field(default_factory=dict)  # of numbers, truth values, or texts and bytes of a fixed length


def packed(number: int, entries: Sequence[JournalEntry], name: bytes = ENTRIES) -> bytes:
    """The frame of this number with these entries."""
    arrays = [[_plain(name, array) for name, array in entry.arrays.items()] for entry in entries]
    described = [
        [entry.kind, [[n, a.dtype.str, a.shape] for n, a in zip(entry.arrays, own, strict=True)]]
        for entry, own in zip(entries, arrays, strict=True)
    ]
    text = json.dumps(described, separators=(",", ":")).encode()
    header = text + b" " * (-(START + len(text)) % ALIGN)
    body: list[bytes | memoryview] = [header]
    for array in (each for of_entry in arrays for each in of_entry):
        body += [array.reshape(-1).view(np.uint8).data, bytes(-array.nbytes % ALIGN)]
    head = HEAD.pack(name, VERSION, len(header), sum(map(len, body)), number)
    checksum = zlib.crc32(head)
    for piece in body:
        checksum = zlib.crc32(piece, checksum)
    return b"".join([head, CHECKSUM.pack(checksum), *body])


def _plain(name: str, given: NDArray[Any]) -> NDArray[Any]:
    """The array as it is stored: contiguous and little-endian."""
    array = np.asarray(given)
    if not 0 < array.dtype.itemsize <= LARGEST.get(array.dtype.kind, 0):
        raise InvalidInput(
            f"an array must hold numbers of at most 64 bits, truth values, or texts or bytes of a fixed length, got "
            f"{array.dtype} in {shown(name)}"
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def unpacked(number: int, data: bytes, where: str) -> Iterator[JournalEntry]:
    """The entries of the frame of this number. Their arrays are views of `data`. Raises a `StoreError` on damage."""
    header = _header(number, data, where)
    at = START + header
    for kind, arrays in json.loads(data[START:at]):
        made = {}
        for name, dtype, shape in arrays:
            made[name] = np.ndarray(shape, dtype, buffer=data, offset=at)
            at += -(-math.prod(shape) * np.dtype(dtype).itemsize // ALIGN) * ALIGN
        yield JournalEntry(kind, made)


def _header(number: int, data: bytes, where: str) -> int:
    """The bytes of the header of an intact frame."""
    damaged = StoreError(f"{where}: the journal is damaged: frame {number} is not intact; restore it from a copy")
    if len(data) < START:
        raise damaged
    name, version, header, length, found = HEAD.unpack_from(data)
    if name in (ENTRIES, SNAPSHOT) and version != VERSION:
        raise StoreError(
            f"{where}: frame {number} has format {version}, and this driftwise reads format {VERSION}; use the release "
            "of driftwise that wrote it"
        )
    if name not in (ENTRIES, SNAPSHOT) or found != number or len(data) != START + length:
        raise damaged
    checksum = zlib.crc32(memoryview(data)[START:], zlib.crc32(data[: HEAD.size]))
    if (checksum,) != CHECKSUM.unpack_from(data, HEAD.size):
        raise damaged
    return int(header)


def snapshot_size(data: bytes) -> int:
    """The bytes of the snapshot that begins with these; 0 if they begin none."""
    if len(data) < START or not data.startswith(SNAPSHOT):
        return 0
    return START + int(HEAD.unpack_from(data)[3])
