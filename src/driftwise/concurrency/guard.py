"""Locks that no exception leaves behind, at whatever moment it comes.

Ctrl-C, an alarm's exception or a debugger may raise between any two statements. `with lock:` is not safe then: what
comes between its last statement and the release leaves the lock held for ever. Here the release is itself inside the
`try`, and the handler releases only what this thread still holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


class Guard:
    """One thread at a time. A thread that is inside already may enter again.

    >>> Guard().run(max, 2, 3)
    3
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def run(self, work: Callable[..., Result], *args: object) -> Result:
        """What `work` returns; nobody else is inside meanwhile."""
        try:
            self._lock.acquire()
            result = work(*args)
            self._lock.release()
        except BaseException:
            self._free()
            raise
        return result

    @contextmanager
    def held(self) -> Iterator[None]:
        """For the hooks around a fork, which no exception can leave early."""
        with self._lock:
            yield

    def _free(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:  # it was released before the exception came, or not acquired yet
            return
