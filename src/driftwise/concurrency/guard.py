"""Locks that no exception leaves held, at whatever moment it is raised.

Ctrl-C, an alarm or a debugger may raise an exception between any two statements. `with lock:` is not safe then: an
exception between its last statement and the release leaves the lock held forever. Here the release is itself inside the
`try`, and the handler releases only what this thread still holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


class Guard:
    """Admits one thread at a time. A thread that is already inside may enter again.

    >>> Guard().run(max, 2, 3)
    3
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def run(self, work: Callable[..., Result], *args: object) -> Result:
        """Return what `work` returns, while no other thread is inside."""
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
        """Hold the lock around a fork, where no exception can be raised."""
        with self._lock:
            yield

    def _free(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:  # it was released before the exception came, or not acquired yet
            return
