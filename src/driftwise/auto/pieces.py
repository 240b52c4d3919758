"""Work in pieces: done a little at a time, or all at once, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from driftwise.concurrency.guard import Guard

T = TypeVar("T")
Pieces = Generator[float, None, T]  # yields what each piece of the work has cost, and returns the result


class Piecework(Generic[T]):
    """What is being done; `cost` is that of the pieces done so far.

    An interrupt leaves a generator that cannot go on, so that the work begins again after it.

    >>> def sum_of(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...         yield 1.0
    ...     return total
    >>> job = Piecework(lambda: sum_of([1, 2, 3, 4]))
    >>> job.advance(2.0)
    >>> job.cost, job.result
    (2.0, 10)
    """

    def __init__(self, begin: Callable[[], Pieces[T]]) -> None:
        self._begin, self._guard = begin, Guard()
        self._pieces, self._results, self.cost, self._torn = begin(), list[T](), 0.0, False

    def advance(self, cost: float) -> None:
        """Go on until all pieces together have cost so much, or nothing is left to do."""
        self._guard.run(self._advance, cost)  # several threads may use one state

    def _advance(self, cost: float) -> None:
        if self._results:
            return
        if self._torn:
            self._pieces, self.cost = self._begin(), 0.0
        self._torn = True  # until the end of this call
        try:
            while self.cost < cost:
                self.cost += next(self._pieces)
        except StopIteration as done:
            self._results.append(done.value)
        self._torn = False

    @property
    def done(self) -> bool:
        return bool(self._results)

    @property
    def result(self) -> T:
        self.advance(float("inf"))
        return self._results[0]


def made_at_once(pieces: Pieces[T]) -> T:
    """The result of all pieces."""
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            result: T = done.value
            return result
