"""One writer: a lock on a file, which the system releases when the process ends, however it ends."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from driftwise.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """Holds the folder until it is released. A process that forks does not share it with its child.

    Such a lock keeps out other processes only, and is lost when any descriptor of the file is closed. Therefore a
    process also knows by itself which folders it holds, and opens the file of each once.
    """

    def __init__(self, folder: Path) -> None:
        self._file, self._key = -1, (os.getpid(), str(folder.resolve()))
        if fcntl is None:
            raise StoreError(f"{folder}: this system has no file locks; keep the fleet in PostgreSQL, or in memory")
        if _held.setdefault(self._key, self) is not self:
            raise taken(folder, "this process has it open already")
        try:
            self._file = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            self.release()
            if isinstance(error, BlockingIOError | PermissionError):
                raise taken(folder, "another process has it open") from None
            raise

    @property
    def is_held(self) -> bool:
        """Whether this process may write: it did not release the lock, and is not a fork of the one that took it."""
        return self._file >= 0 and self._key[0] == os.getpid()

    def release(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        if _held.get(self._key) is self:
            del _held[self._key]

    __del__ = release


_held: weakref.WeakValueDictionary[tuple[int, str], FolderLock] = weakref.WeakValueDictionary()


def taken(where: object, why: str) -> StoreError:
    return StoreError(f"{where}: a journal has one writer, and {why}; close it there first")
