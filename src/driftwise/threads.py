"""One BLAS thread while small matrices are worked on: faster, and the same bits however many cores there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from functools import cached_property

from threadpoolctl import OpenBLASController, ThreadpoolController


class OneThread(ContextDecorator):
    """With one BLAS thread while anybody is inside; the last one out restores what was there. Also a decorator.

    Where cores are busy, threads that wait for each other make a small factorisation many times slower.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, list[int]()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._unlock)

    def _unlock(self) -> None:
        """In a child: whoever may have held the lock is not there."""
        self._lock = threading.Lock()

    @cached_property
    def _libraries(self) -> Sequence[OpenBLASController]:
        found = ThreadpoolController().select(user_api="blas")  # of those that are loaded, so not before they are
        return found.lib_controllers

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = [library.get_num_threads() for library in self._libraries]
                self._set([1] * len(self._before))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._set(self._before)

    def _set(self, counts: Sequence[int]) -> None:
        # since 3.8 threadpoolctl listens to one thread of Python only, until told otherwise
        free = getattr(OpenBLASController, "clear_controlling_thread", lambda *, force: None)
        free(force=True)
        for library, count in zip(self._libraries, counts, strict=True):
            library.set_num_threads(count)
        free(force=True)


one_thread = OneThread()
