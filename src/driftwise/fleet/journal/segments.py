"""Files of frames: their names, what is in them, and whether it is intact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from driftwise.errors import StoreError
from driftwise.fleet.journal import frames
from driftwise.fleet.journal.base import JournalEntry

SEGMENT, SNAPSHOT = ".frames", ".snapshot"


def file_name(first: int, suffix: str) -> str:
    """Names sort as their numbers do."""
    return f"{first:020d}{suffix}"


def numbers(folder: Path, suffix: str) -> list[int]:
    """The numbers of the files of this kind, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{suffix}") if path.stem.isdecimal())


def contents(data: frames.Data, first: int, following: int, where: Path | str) -> Iterator[JournalEntry]:
    """The entries of the frames `first` to `following` − 1, which must be all there, intact and in order."""
    at = 0
    for number in range(first, following):
        found = _head(data, at, where)
        if found is None or found.number != number or not frames.is_whole(data, found):
            raise not_intact(where, at, number)
        yield from frames.unpacked(data, found)
        at = found.end
    if at < len(data):
        raise damaged(where, f"what begins at byte {at} is no frame of this file")


def whole_length(path: Path, first: int) -> tuple[int, int]:
    """The bytes of the last segment that are whole frames, and the number that comes after them.

    What follows them is what a kill or a power failure leaves of the one frame that was being written: some bytes of
    it, or zeros. Anything else is damage to a frame that was acknowledged.
    """
    data, at, number = path.read_bytes(), 0, first
    while (found := _head(data, at, path)) and found.number == number and frames.is_whole(data, found):
        at, number = found.end, number + 1
    is_cut = len(data) - at < frames.START if found is None else found.number == number and len(data) < found.end
    if not is_cut and any(data[at:]):
        raise not_intact(path, at, number)
    return at, number


def _head(data: frames.Data, at: int, where: Path | str) -> frames.FrameHead | None:
    try:
        return frames.head(data, at)
    except StoreError as error:
        raise StoreError(f"{where}: {error}") from None


def damaged(where: Path | str, what: str) -> StoreError:
    """The error that says what is wrong, and what can be done."""
    return StoreError(f"{where}: the journal is damaged: {what}. Nothing was changed; restore it from a copy")


def not_intact(where: Path | str, at: int, number: int) -> StoreError:
    error = damaged(where, f"frame {number}, at byte {at}, is not intact")
    if isinstance(where, str) or where.suffix != SEGMENT:
        return error
    return StoreError(
        f"{error}, or give up all from there on: cut the file to {at} bytes, and move files with larger numbers away"
    )
