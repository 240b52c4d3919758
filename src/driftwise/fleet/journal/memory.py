"""A journal without a file: it lasts as long as the process."""

from __future__ import annotations

from collections.abc import Iterator

from driftwise.fleet.journal import frames
from driftwise.fleet.journal.base import Arrays, JournalEntry


class MemoryJournal:
    """Keeps copies of what it is given, in the bytes that a file would have."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._snapshot: bytes | None = None

    def append(self, *entries: JournalEntry) -> None:
        if entries:
            self._frames.append(b"".join(frames.pieces(len(self._frames), entries)))

    def entries(self) -> Iterator[JournalEntry]:
        for frame in tuple(self._frames):
            yield from _read(frame)

    def snapshot(self, arrays: Arrays) -> None:
        self._snapshot = b"".join(frames.pieces(0, [JournalEntry("snapshot", arrays)]))
        self._frames = []

    def latest(self) -> Arrays | None:
        return None if self._snapshot is None else next(_read(self._snapshot)).arrays

    def close(self) -> None:
        """Nothing: there is nobody else."""


def _read(frame: bytes) -> Iterator[JournalEntry]:
    found = frames.head(frame, 0)
    assert found is not None, "nothing damages a frame in memory"
    return frames.unpacked(frame, found)
