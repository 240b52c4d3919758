"""One BLAS thread for small matrices: it is faster, and gives the same bits on any number of cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

from driftwise.concurrency.guard import Guard

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class OneThread:
    """Limits BLAS to one thread while any call is inside. The last call to leave restores the previous number.

    On busy cores, threads that wait for each other make a small factorisation many times slower.
    """

    def __init__(self) -> None:
        self._guard, self._inside, self._before = Guard(), set[object](), list[int]()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """In a forked child: the thread that may have held the guard does not exist there."""
        self._guard = Guard()

    @cached_property
    def _libraries(self) -> Sequence[OpenBLASController]:
        found = ThreadpoolController().select(user_api="blas")  # of those that are loaded, so not before they are
        return found.lib_controllers

    def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns. An exception leaves nothing behind, since leaving twice is harmless."""
        call = object()
        try:
            self._guard.run(self._enter, call)
            result = work()
            self._guard.run(self._leave, call)
        except BaseException:
            self._guard.run(self._leave, call)
            raise
        return result

    def _enter(self, call: object) -> None:
        if not self._inside:
            self._before = [library.get_num_threads() for library in self._libraries]
            self._inside.add(call)
            self._set([1] * len(self._before))
        self._inside.add(call)

    def _leave(self, call: object) -> None:
        if self._inside == {call}:
            self._set(self._before)
        self._inside.discard(call)

    def _set(self, counts: Sequence[int]) -> None:
        # since 3.8 threadpoolctl listens to one thread of Python only, until told otherwise
        free = getattr(OpenBLASController, "clear_controlling_thread", lambda *, force: None)
        free(force=True)
        for library, count in zip(self._libraries, counts, strict=True):
            library.set_num_threads(count)
        free(force=True)


_one = OneThread()


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A decorator: while `function` runs, BLAS uses one thread."""

    @wraps(function)
    def limited(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return _one.run(lambda: function(*args, **options))

    return limited


def cores() -> int:
    """How many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
