"""The journal in a folder: segments of frames, which are only appended to, and the newest snapshot.

A file is named by the number of its first frame. A snapshot, a file with a single frame, stands for all frames before
the number in its name, and a segment begins at that number. Whatever is older is deleted when the journal is opened.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from driftwise.errors import StoreError
from driftwise.fleet.journal import disk, frames
from driftwise.fleet.journal.base import Arrays, JournalEntry
from driftwise.fleet.journal.lock import FolderLock
from driftwise.fleet.journal.segments import SEGMENT, SNAPSHOT, contents, damaged, file_name, numbers, whole_length

LARGE = 2**26  # bytes after which the next frame begins a new segment


class Tail(NamedTuple):
    """Where the next frame goes. One record, so that an interrupt cannot change half of it."""

    number: int
    end: int  # of the current segment, in bytes


class FileJournal:
    """The journal in `folder`, which is made if it is not there. `large` is the size of a segment in bytes."""

    def __init__(self, folder: Path, *, large: int = LARGE) -> None:
        self.folder, self._large, self._file = folder, large, -1
        with disk.explained(folder):
            disk.make_folder(folder)
            self._lock = FolderLock(folder)
            try:
                self._open()
            except BaseException:
                self.close()
                raise

    def _open(self) -> None:
        for left in self.folder.glob("*.new"):
            left.unlink()
        self._snapshot = max(numbers(self.folder, SNAPSHOT), default=None)
        self._segments = [first for first in numbers(self.folder, SEGMENT) if first >= (self._snapshot or 1)]
        if not numbers(self.folder, SEGMENT) and self._snapshot is None:
            self._tail = Tail(1, 0)
            self._begin_segment()
        elif self._segments[:1] != [self._snapshot or 1]:
            raise damaged(self._path(self._snapshot or 1, SEGMENT), "this file is missing")
        else:
            self._continue_segment(self._segments[-1])
        self._delete_older()

    def _continue_segment(self, first: int) -> None:
        """Cut off the frame that a kill left unfinished, and append to what is before it."""
        path = self._path(first, SEGMENT)
        end, number = whole_length(path, first)
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.ftruncate(self._file, end)
        disk.sync(self._file)  # a whole frame that was not acknowledged counts from now on
        self._tail = Tail(number, end)

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, *entries: JournalEntry) -> None:
        self._check()
        frame = b"".join(frames.pieces(self._tail.number, entries)) if entries else b""
        with disk.explained(self.folder):
            if self._tail.end >= self._large:
                self._begin_segment()
            if frame:
                self._write(frame)

    def _write(self, frame: bytes) -> None:
        number, end = self._tail
        try:
            end = disk.write(self._file, [frame], end)
            disk.sync(self._file)
            self._tail = Tail(number + 1, end)
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        """Cut off what was not acknowledged. Where even this fails, opening the journal again does it."""
        try:
            os.ftruncate(self._file, self._tail.end)
        except OSError:
            self.close()

    def _begin_segment(self) -> None:
        """The files before it are durable to their last byte: only the last segment can end in half a frame."""
        path = self._path(self._tail.number, SEGMENT)
        if self._file >= 0:
            disk.sync(self._file)
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        try:
            disk.sync_folder(self.folder)
        except BaseException:
            os.close(file)
            self.close()  # the empty segment may last: opening the journal again continues with it
            raise
        file, self._file = self._file, file
        self._tail = Tail(self._tail.number, 0)
        self._segments.append(self._tail.number)
        if file >= 0:
            os.close(file)

    def snapshot(self, arrays: Arrays) -> None:
        self._check()
        pieces = frames.pieces(self._tail.number, [JournalEntry("snapshot", arrays)])
        with disk.explained(self.folder):
            if self._tail.end:
                self._begin_segment()
            disk.place(self._path(self._tail.number, SNAPSHOT), pieces)
        self._snapshot = self._tail.number
        self._segments = [self._tail.number]
        self._delete_older()

    def _delete_older(self) -> None:
        """What the newest snapshot stands for. A file that cannot be deleted now is deleted the next time."""
        for suffix in (SEGMENT, SNAPSHOT):
            for first in numbers(self.folder, suffix):
                if first < (self._snapshot or 0):
                    with suppress(OSError):
                        self._path(first, suffix).unlink()

    # --- reading ------------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[JournalEntry]:
        self._check()
        segments, (number, end) = tuple(self._segments), self._tail
        for first, following in zip(segments, (*segments[1:], number), strict=True):
            path = self._path(first, SEGMENT)
            with disk.explained(self.folder), path.open("rb") as file:
                data = file.read(end if first == segments[-1] else -1)
            yield from contents(data, first, following, path)

    def latest(self) -> Arrays | None:
        self._check()
        if self._snapshot is None:
            return None
        path = self._path(self._snapshot, SNAPSHOT)
        with disk.explained(self.folder), path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
        (entry,) = contents(data, self._snapshot, self._snapshot + 1, path)
        if isinstance(data, mmap.mmap):
            data.madvise(mmap.MADV_DONTNEED)  # what was read for the checksum need not stay in memory
        return entry.arrays

    # --- the rest -----------------------------------------------------------------------------------------------

    def _path(self, first: int, suffix: str) -> Path:
        return self.folder / file_name(first, suffix)

    def _check(self) -> None:
        if self._file < 0 or not self._lock.is_held:
            raise StoreError(f"{self.folder}: the journal is closed, or was opened by another process; open it again")

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        self._lock.release()

    def __del__(self) -> None:
        if self._file >= 0:  # the lock releases itself
            os.close(self._file)
