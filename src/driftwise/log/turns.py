"""Who comes first among those who use one file. Nothing but speed and fairness depends on it.

SQLite's own lock goes to the process that happens to try at the right moment: with sixteen busy processes some wait a
hundred times as long as others. And of several choices for one study that are made at the same time all but one are
made in vain. Therefore writers take turns, and so do those who ask the same study. The turns are locks on bytes of a
small file beside the study, `…-turns`, for which the system lets processes wait in line, and which it releases when a
process ends, however it ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from driftwise.concurrency.guard import Guard

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock is enough
    fcntl = None  # type: ignore[assignment]

Result = TypeVar("Result")

WRITERS = 0  # the byte of those who write; a study has the byte of its number


class FileTurns:
    """The turns of the file `path`. Without one, as in memory, only the threads of this process take turns."""

    def __init__(self, path: Path | None) -> None:
        self._path = path if fcntl is not None else None
        self.forget()

    def forget(self) -> None:
        """In a child that was forked: nobody of its parent's threads is there."""
        self._file: int | None = None
        self._guards: dict[int, Guard] = {}

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def run(self, byte: int, seconds: float, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, done when it is our turn, or when so many seconds have passed, as if it were."""
        return self._guards.setdefault(byte, Guard()).run(self._run, byte, seconds, work)

    def _run(self, byte: int, seconds: float, work: Callable[[], Result]) -> Result:
        try:
            if self._path is not None and not self._is_ours(byte):
                self._wait(byte, seconds)
            return work()
        finally:
            self._leave(byte)

    def _wait(self, byte: int, seconds: float) -> None:
        """Wait in line, in a thread: it can be left waiting."""
        there, given_up = threading.Lock(), list[bool]()
        there.acquire()

        def wait() -> None:
            with suppress(OSError):
                fcntl.lockf(self._open(), fcntl.LOCK_EX, 1, byte)
            if given_up:
                self._leave(byte)
            there.release()

        threading.Thread(target=wait, name="turn", daemon=True).start()
        try:
            there.acquire(timeout=seconds)
        finally:
            given_up.append(True)

    def _is_ours(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a folder that is not writable, or a file system without locks: nobody waits
            return True
        return True

    def _leave(self, byte: int) -> None:
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)

    def _open(self) -> int:
        if self._file is None:
            self._file = os.open(f"{self._path}-turns", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._file
