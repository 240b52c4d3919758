"""Entries as bytes: a head, a header in JSON that says which arrays follow, and the arrays.

The head holds the length of the rest, the number of the frame and two checksums. The second one is of the head itself,
so that a wrong length is never believed. Everything is little-endian, and every array begins at a multiple of ALIGN.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.checks import shown
from driftwise.errors import InvalidInput, StoreError
from driftwise.fleet.journal.base import JournalEntry

NAME, VERSION = b"DWJ", 1
HEAD = struct.Struct("<3sBIQQI")  # name, version, bytes of the header, bytes after the head, number, their checksum
CHECKSUM = struct.Struct("<I")  # of the head, which it follows
START = HEAD.size + CHECKSUM.size
ALIGN = 64
LARGEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16, "S": 2**31, "U": 2**31}  # bytes of an element, by dtype.kind

Data = bytes | mmap.mmap
Piece = bytes | memoryview


@dataclass(frozen=True, slots=True)
class FrameHead:
    """Where a frame is, and which one it is."""

    at: int
    header: int
    length: int  # of all that follows the head
    number: int
    checksum: int

    @property
    def end(self) -> int:
        return self.at + START + self.length


def pieces(number: int, entries: Sequence[JournalEntry]) -> list[Piece]:
    """The bytes of a frame, in order; arrays are not copied."""
    arrays = [[_plain(name, array) for name, array in entry.arrays.items()] for entry in entries]
    header = _header(entries, arrays)
    body: list[Piece] = [header]
    for array in (each for of_entry in arrays for each in of_entry):
        body += [array.reshape(-1).view(np.uint8).data, bytes(-array.nbytes % ALIGN)]
    checksum = 0
    for piece in body:
        checksum = zlib.crc32(piece, checksum)
    head = HEAD.pack(NAME, VERSION, len(header), sum(map(len, body)), number, checksum)
    return [head + CHECKSUM.pack(zlib.crc32(head)), *body]


def _header(entries: Sequence[JournalEntry], arrays: Sequence[Sequence[NDArray[Any]]]) -> bytes:
    described = [
        [entry.kind, [[n, a.dtype.str, a.shape] for n, a in zip(entry.arrays, own, strict=True)]]
        for entry, own in zip(entries, arrays, strict=True)
    ]
    text = json.dumps(described, separators=(",", ":")).encode()
    return text + b" " * (-(START + len(text)) % ALIGN)


def _plain(name: str, given: NDArray[Any]) -> NDArray[Any]:
    """The array as it is stored: contiguous and little-endian."""
    array = np.asarray(given)
    if not 0 < array.dtype.itemsize <= LARGEST.get(array.dtype.kind, 0):
        raise InvalidInput(
            f"an array must hold numbers of at most 64 bits, truth values, or texts or bytes of a fixed length, got "
            f"{array.dtype} in {shown(name)}"
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


# --- reading ----------------------------------------------------------------------------------------------------------


def head(data: Data, at: int) -> FrameHead | None:
    """The head of the frame at this offset, if it is there and intact. Another format raises a `StoreError`."""
    if len(data) < at + START:
        return None
    name, version, header, length, number, checksum = HEAD.unpack_from(data, at)
    if name == NAME and version != VERSION:
        raise StoreError(
            f"byte {at} begins a frame of format {version}, and this driftwise reads format {VERSION}; use the "
            "release of driftwise that wrote it, or restore the file from a copy if it is damaged"
        )
    if name != NAME or CHECKSUM.unpack_from(data, at + HEAD.size)[0] != zlib.crc32(data[at : at + HEAD.size]):
        return None
    return FrameHead(at, header, length, number, checksum)


def is_whole(data: Data, found: FrameHead) -> bool:
    """Whether the frame with this head is there to its end, and intact."""
    with memoryview(data) as view, view[found.at + START : found.end] as body:
        return len(body) == found.length and zlib.crc32(body) == found.checksum


def unpacked(data: Data, found: FrameHead) -> Iterator[JournalEntry]:
    """The entries of an intact frame. Their arrays are views of `data`."""
    at = found.at + START + found.header
    for kind, arrays in json.loads(data[found.at + START : at]):
        made = {}
        for name, dtype, shape in arrays:
            made[name] = np.ndarray(shape, dtype, buffer=data, offset=at)
            at += -(-math.prod(shape) * np.dtype(dtype).itemsize // ALIGN) * ALIGN
        yield JournalEntry(kind, made)
