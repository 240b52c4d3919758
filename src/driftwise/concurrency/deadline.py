"""Work in many steps ends when nobody waits for it any more, and is refused as soon as it cannot be done in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from driftwise.errors import InvalidInput

EARLY = 0.25  # the share of the time after which it is judged whether the rest will do


@dataclass(frozen=True)
class Deadline:
    """So many seconds, and whether nobody waits any more."""

    seconds: float
    is_left: Callable[[], bool] = lambda: False


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """What is done in here keeps to the deadline."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


class Steps:
    """`n` steps of a call. Without a deadline they may take as long as they do."""

    def __init__(self, what: str, n: int) -> None:
        self._what, self._n, self._deadline, self._done = what, n, _deadline.get(), 0
        self._begun = time.monotonic()

    def next(self) -> None:
        """Called before each step."""
        if self._deadline is not None and self._done:
            if self._deadline.is_left():
                raise TimeoutError("nobody waits for it any more")
            seconds, share = self._deadline.seconds, (time.monotonic() - self._begun) / self._deadline.seconds
            if share > EARLY and share / self._done * self._n > 1:
                raise InvalidInput(
                    f"{self._what} must be at most {int(self._done / share)} to be done in {seconds:g} s here, "
                    f"got {self._n}; give less at a time"
                )
        self._done += 1
