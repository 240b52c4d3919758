"""First come, first served among the processes that use one file.

SQLite's own lock goes to the process that happens to try at the right moment. With sixteen busy processes some wait a
hundred times as long as others. Here each process draws a ticket and waits until the one before it is done. Only
fairness depends on this. Transactions keep the log correct, so that a process that dies in the queue does no harm, and
neither does a system without such locks.

The tickets are in a small file beside the study, `…-queue`, with four numbers: for each of two lanes the next ticket
and the one being served. The holder of a ticket keeps a byte of the file locked, which the system releases when the
process ends, however it ends.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock is enough
    fcntl = None  # type: ignore[assignment]

TICKETS = 4096  # bytes that are locked in turn: more than there are waiting processes
COUNTER = struct.Struct("<q")
SOON, LATER = 0.0003, 0.05  # seconds between two attempts: for the next in line, and at most


class Queue:
    """One lane of the queue at `path`. At most one thread of a process may be in a lane at a time."""

    def __init__(self, path: Path, lane: int) -> None:
        self._path, self._lane, self._file = path, lane, -1

    def enter(self, patience: float) -> None:
        """Return when it is our turn, or after `patience` seconds in any case."""
        if fcntl is None or (self._file < 0 and not self._open()):
            return
        deadline = time.monotonic() + patience
        ticket = self._draw(deadline)
        before = (ticket - 1) % TICKETS
        while not self._try(1 + before):
            if time.monotonic() > deadline:
                return
            ahead = max(ticket - self._read(8), 1)
            time.sleep(min(SOON * ahead * ahead, LATER))
        self._release(1 + before)
        self._write(8, ticket)

    def leave(self) -> None:
        """Let the next process in. Leaving twice, or without having entered, is harmless."""
        if self._file >= 0:
            fcntl.lockf(self._file, fcntl.LOCK_UN, TICKETS + 1, self._start)

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _open(self) -> bool:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:  # for example a folder that is not writable
            return False
        return True

    def _draw(self, deadline: float) -> int:
        """The next ticket, and the lock on its byte."""
        while not self._try(0):  # held for microseconds only
            if time.monotonic() > deadline:
                break
            time.sleep(SOON)
        ticket = self._read(0)
        self._write(0, ticket + 1)
        self._try(1 + ticket % TICKETS)
        self._release(0)
        return ticket

    @property
    def _start(self) -> int:
        """The offset of the bytes that this lane locks, far behind the counters."""
        return (self._lane + 1) * 16 * TICKETS

    def _try(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._start + byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks: nobody waits
            return True
        return True

    def _release(self, byte: int) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._start + byte)

    def _read(self, offset: int) -> int:
        data = os.pread(self._file, 8, 16 * self._lane + offset)
        return int(COUNTER.unpack(data)[0]) if len(data) == 8 else 0

    def _write(self, offset: int, value: int) -> None:
        os.pwrite(self._file, COUNTER.pack(value % 2**62), 16 * self._lane + offset)
