"""What a store is: a keeper of logs. A few records and three small protocols; `tests/contracts/` holds them to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from driftwise.records import Observation, Point

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Counts:
    """Where a log stands. None of these is ever counted: each is kept up to date by the transaction that changes it."""

    last: int = 0  # the greatest number given out
    asked: int = 0  # suggestions made
    told: int = 0  # observations stored, of which
    unasked: int = 0  # nobody had asked for
    abandoned: int = 0
    jittered: int = 0  # suggestions that needed jitter
    jitter: float = 0.0  # the largest

    @property
    def awaited(self) -> int:
        """Suggestions that have neither a reward nor been abandoned."""
        return self.asked - (self.told - self.unasked) - self.abandoned


@dataclass(frozen=True, slots=True)
class Asked:
    """A suggestion as it is kept."""

    number: int
    id: str
    key: str
    at: float
    x: Point
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a policy answered: the point, the user's time, and the jitter that its belief needed."""

    x: Point
    at: float
    jitter: float = 0.0


Choice = Callable[[], Chosen]  # the policy's work, all that it needs in hand


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to tell: `newer` observations (counted up to a limit) have greater numbers than this one's."""

    number: int
    new: bool
    last: int
    newer: int


class View(Protocol):
    """A log as one transaction sees it. It is of no use after the transaction: take from it what you need."""

    @property
    def counts(self) -> Counts: ...

    @property
    def head(self) -> int:
        """A checksum chained over all observations in the order they arrived: it tells one history from another."""
        ...

    def pending(self, patience: int) -> list[Asked]:
        """Suggestions among the last `patience` made that are still awaited, oldest first."""
        ...

    def arrived(self, after: int, head: int) -> list[Observation]:
        """Observations in the order they arrived, without the first `after`, whose head was `head`.

        A `StoreError` where the log does not continue the one that had this head: a backup may have been restored.
        """
        ...

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        """The `limit` observations of the greatest numbers, of those above `above`, in the order of their numbers."""
        ...

    def newest(self) -> Observation | None:
        """The observation of the greatest number."""
        ...

    def start_of_tail(self, limit: int) -> int:
        """The number of the first of the last `limit` observations; 0 where there are fewer."""
        ...


class Log(Protocol):
    """One study's log. Every method is one transaction: whole or not at all, and on the disk when it returns."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...

    def ask(self, key: str | None, prepare: Callable[[View], Choice], patience: int) -> Asked:
        """The suggestion with this key; where there is none, a new one.

        `prepare` reads from the log what the choice depends on, and the choice is then made outside any transaction.
        Meanwhile nobody else takes a number. The suggestion counts as pending while the next `patience` are made.
        """
        ...

    def tell(self, id: str, y: float, at: float | None, limit: int | None) -> Told:
        """Store the reward of a suggestion, once."""
        ...

    def observe(self, x: Point, y: float, at: float | None, key: str | None, limit: int | None) -> Told:
        """Store a reward that nobody asked for, once for each key."""
        ...

    def abandon(self, id: str) -> None:
        """No longer await a suggestion's reward."""
        ...

    def read(self, work: Callable[[View], Result]) -> Result:
        """What `work` makes of the log as it stands. It should take what it needs and compute later."""
        ...

    def observations(self) -> Iterator[Observation]:
        """All of it, in the order of numbers, a page at a time."""
        ...


class Store(Protocol):
    """Several logs by name."""

    def create(self, name: str, description: str) -> Log:
        """The log of that name; a new one where there is none."""
        ...

    def open(self, name: str) -> Log:
        """The log of that name."""
        ...

    def names(self) -> list[str]:
        """The names of all logs."""
        ...

    def close(self) -> None: ...
