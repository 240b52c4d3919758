"""What a store is: a few records and three small protocols. `tests/contracts/store.py` tests every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from driftwise.records import Observation, Point

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a log. No rows are counted: the transaction that changes a count updates it."""

    last: int = 0  # the largest number assigned
    asked: int = 0  # suggestions made
    told: int = 0  # observations stored
    unasked: int = 0  # of these, observations that were not suggested
    abandoned: int = 0
    jittered: int = 0  # suggestions that needed jitter
    jitter: float = 0.0  # the largest jitter

    @property
    def awaited(self) -> int:
        """Suggestions that have neither a reward nor been abandoned."""
        return self.asked - (self.told - self.unasked) - self.abandoned


@dataclass(frozen=True, slots=True)
class Asked:
    """A suggestion as it is stored."""

    number: int
    id: str
    key: str
    at: float
    x: Point
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice of a policy: the point, the user's time, and the jitter that the posterior needed."""

    x: Point
    at: float
    jitter: float = 0.0


Choice = Callable[[], Chosen]  # computes the choice from data that are already read


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to tell: `newer` observations (counted up to a limit) have larger numbers than this one."""

    number: int
    new: bool
    last: int
    newer: int


class View(Protocol):
    """A log as one transaction sees it. It must not be used after the transaction."""

    @property
    def counts(self) -> Counts: ...

    @property
    def head(self) -> int:
        """A checksum chained over all observations in the order they arrived. It identifies a history."""
        ...

    def pending(self, patience: int) -> list[Asked]:
        """The suggestions among the last `patience` that still await a reward, oldest first."""
        ...

    def arrived(self, after: int, head: int) -> list[Observation]:
        """The observations in the order they arrived, without the first `after`, whose head was `head`.

        Raises a `StoreError` if the log does not continue the one that had this head, as after a restored backup.
        """
        ...

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        """The `limit` observations with the largest numbers above `above`, in the order of their numbers."""
        ...

    def newest(self) -> Observation | None:
        """The observation with the largest number."""
        ...

    def start_of_tail(self, limit: int) -> int:
        """The number of the first of the last `limit` observations; 0 if there are fewer."""
        ...


class Log(Protocol):
    """The log of one study. Every method is one transaction, which is on the disk as a whole when it returns."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...

    def ask(self, key: str | None, prepare: Callable[[View], Choice], patience: int) -> Asked:
        """The suggestion with this key, or a new one if there is none.

        `prepare` reads from the log what the choice depends on. The choice is then made outside any transaction, while
        no other process takes a number. The suggestion counts as pending while the next `patience` are made.
        """
        ...

    def tell(self, id: str, y: float, at: float | None, limit: int | None) -> Told:
        """Store the reward of a suggestion, once."""
        ...

    def observe(self, x: Point, y: float, at: float | None, key: str | None, limit: int | None) -> Told:
        """Store a reward that was not suggested, once for each key."""
        ...

    def abandon(self, id: str) -> None:
        """Stop waiting for the reward of a suggestion."""
        ...

    def read(self, work: Callable[[View], Result]) -> Result:
        """Return what `work` returns for the present log. It should read what it needs and compute later."""
        ...

    def observations(self) -> Iterator[Observation]:
        """All observations in the order of their numbers, read page by page."""
        ...


class Store(Protocol):
    """Several logs by name."""

    def create(self, name: str, description: str) -> Log:
        """The log of that name, or a new one if there is none."""
        ...

    def open(self, name: str) -> Log:
        """The log of that name."""
        ...

    def names(self) -> list[str]:
        """The names of all logs."""
        ...

    def close(self) -> None: ...
