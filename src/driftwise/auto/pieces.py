"""Work in pieces: done a little at a time, or all at once, with the same result."""

from __future__ import annotations

from collections.abc import Generator
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")
Pieces = Generator[float, None, T]  # yields what each piece of the work has cost, and returns the result


class Piecework(Generic[T]):
    """What is being done; `cost` is that of the pieces done so far.

    >>> def sum_of(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...         yield 1.0
    ...     return total
    >>> job = Piecework(sum_of([1, 2, 3, 4]))
    >>> job.advance(2.0)
    >>> job.cost, job.result
    (2.0, 10)
    """

    def __init__(self, pieces: Pieces[T]) -> None:
        self._pieces, self._lock, self._results, self.cost = pieces, Lock(), list[T](), 0.0

    def advance(self, cost: float) -> None:
        """Go on until all pieces together have cost so much, or nothing is left to do."""
        with self._lock:  # several threads may use one state
            try:
                while not self._results and self.cost < cost:
                    self.cost += next(self._pieces)
            except StopIteration as done:
                self._results.append(done.value)

    @property
    def done(self) -> bool:
        return bool(self._results)

    @property
    def result(self) -> T:
        self.advance(float("inf"))
        return self._results[0]
