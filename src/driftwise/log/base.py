"""What a store is: a few records and three small protocols. `tests/contracts/store.py` tests every implementation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from driftwise.records import Observation, Point, alike

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a log. No rows are counted: the transaction that changes a count updates it."""

    last: int = 0  # the largest number assigned
    asked: int = 0  # suggestions made
    told: int = 0  # observations stored: also those that failed and those that were retracted later
    unasked: int = 0  # of these, observations that were not suggested
    abandoned: int = 0
    jittered: int = 0  # suggestions that needed jitter
    jitter: float = 0.0  # the largest jitter
    failed: int = 0  # observations that are failures, as they hold now
    retracted: int = 0  # observations that are retracted now
    corrected: int = 0  # entries of corrections and retractions

    @property
    def unanswered(self) -> int:
        """Suggestions that have neither an outcome nor been abandoned, however old they are."""
        return self.asked - (self.told - self.unasked) - self.abandoned

    @property
    def rewards(self) -> int:
        """Observations that have a reward now."""
        return self.told - self.failed - self.retracted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a user tells of a setting: the reward and what is known about it, or that it failed."""

    y: float  # `math.nan` if it failed
    std: float | None = None
    repeats: int = 1
    measures: tuple[tuple[str, float], ...] = ()  # by name
    failed: bool = False

    def __post_init__(self) -> None:
        if self.failed:
            object.__setattr__(self, "y", math.nan)  # this very object, so that equal outcomes compare equal
        if len(self.measures) > 1:
            object.__setattr__(self, "measures", tuple(sorted(self.measures)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and alike(self, other)


FAILED = Outcome(math.nan, failed=True)


def outcome_of(seen: Observation) -> Outcome:
    """What was told of this observation."""
    return Outcome(seen.y, seen.std, seen.repeats, seen.measures, seen.failed)


def observation_of(number: int, at: float, x: Point, outcome: Outcome) -> Observation:
    """The observation with this outcome."""
    return Observation(number, at, x, outcome.y, outcome.std, outcome.repeats, outcome.measures, outcome.failed)


def said(outcome: Outcome | None) -> str:
    """An outcome in words, for messages.

    >>> said(Outcome(1.5)), said(Outcome(1.5, std=0.3, measures=(("ms", 7.0),))), said(FAILED), said(None)
    ('1.5', '1.5 with std 0.3, ms 7.0', 'a failure', 'nothing')
    """
    if outcome is None:
        return "nothing"
    details = [f"std {outcome.std!r}"] if outcome.std is not None else []
    details += [f"repeats {outcome.repeats}"] if outcome.repeats != 1 else []
    details += [f"{name} {value!r}" for name, value in outcome.measures]
    reward = "a failure" if outcome.failed else repr(outcome.y)
    return f"{reward} with {', '.join(details)}" if details else reward


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
    own_time: bool = True  # else the time follows from the number under which it is stored


Choice = Callable[[], tuple[Chosen, ...]]  # computes the choices from data that are already read, one or several


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to tell: `newer` rewards (counted up to a limit) have larger numbers than this one."""

    number: int
    new: bool
    last: int
    newer: int


@dataclass(frozen=True, slots=True)
class Correction:
    """An entry that changed an observation: the outcome that held before, and the one after. None is a retraction."""

    ordinal: int  # its position among the corrections, from 1
    number: int  # of the observation
    before: Outcome | None
    after: Outcome | None
    who: str
    when: str  # by the wall clock, UTC
    why: str


@dataclass(frozen=True, slots=True)
class NewObservation:
    """An observation to be loaded. One with a key is stored once, however often it is loaded."""

    x: Point
    outcome: Outcome
    at: float | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An outcome to be stored: of a suggestion, given by its id, or of a point. A `limit` bounds `Told.newer`.

    Unless it may be `far`, a time that is far from all others is refused.
    """

    of: str | Point
    outcome: Outcome
    at: float | None = None
    key: str | None = None
    limit: int | None = None
    far: bool = True

    @property
    def is_found_again(self) -> bool:
        """Whether it is stored once, however often it is sent."""
        return self.key is not None or isinstance(self.of, str)


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many entries were stored, and how many were known before by their key."""

    new: int
    known: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a log: the number of entries up to it, and the checksum chained over them. It identifies a history."""

    seq: int = 0
    chain: int = 0


BEGINNING = Mark()


@dataclass(frozen=True, slots=True)
class News:
    """What came after a mark: the observations as they hold now, in the order they arrived, and what was corrected."""

    arrived: list[Observation]
    corrected: list[int]  # numbers of observations, in the order of the corrections


class View(Protocol):
    """A log as one transaction sees it. It must not be used after the transaction.

    Observations are given as they hold now: with their corrections, and without those that were retracted. A `limit`
    counts those with a reward; the failures between them are given, too.
    """

    @property
    def counts(self) -> Counts: ...

    @property
    def mark(self) -> Mark:
        """Where the log ends."""
        ...

    def pending(self, patience: int) -> list[Asked]:
        """The suggestions among the last `patience` that still await a reward, oldest first."""
        ...

    def since(self, mark: Mark) -> News:
        """What came after a mark, or everything since the `BEGINNING`.

        Raises a `StoreError` if the log does not continue the one that had this mark, as after a restored backup.
        """
        ...

    def tail(self, limit: int | None = None, *, above: int = 0) -> list[Observation]:
        """The observations with the largest numbers above `above`, back to the `limit`-th reward, in order."""
        ...

    def page(self, above: int, limit: int) -> tuple[list[Observation], int | None]:
        """Of the first `limit` entries above number `above` those that hold, and the last number; None at the end."""
        ...

    def newest(self) -> Observation | None:
        """The observation with the largest number."""
        ...

    def start_of_tail(self, limit: int) -> int:
        """The number of the first of the last `limit` rewards; 0 if there are fewer."""
        ...


class Log(Protocol):
    """The log of one study. Every method is one transaction, which is on the disk as a whole when it returns."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...

    def ask(self, key: str | None, prepare: Callable[[View], Choice], patience: int) -> Asked:
        """The suggestion with this key, or a new one if there is none.

        `prepare` reads from the log what the choice depends on. The choice is then made outside of every transaction
        and every lock. If another suggestion was stored meanwhile, it is made again. The suggestion counts as pending
        while the next `patience` are made.
        """
        ...

    def ask_many(self, key: str | None, prepare: Callable[[View], Choice], patience: int, n: int) -> tuple[Asked, ...]:
        """Likewise `n` suggestions with consecutive numbers, all or none. The key is that of the first of them.

        Another `n` for a key that is known raises a `ConflictError`.
        """
        ...

    def tell(
        self, id: str, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        """Store the outcome of a suggestion, once.

        What was told first, or what holds now, may be told again and changes nothing. Anything else raises a
        `ConflictError`, and so does a `key` that belongs to another observation.
        """
        ...

    def observe(
        self, x: Point, outcome: Outcome, at: float | None = None, key: str | None = None, limit: int | None = None
    ) -> Told:
        """Store an outcome at a point that was not suggested, once for each key."""
        ...

    def load(self, entries: Sequence[NewObservation], first: int = 1) -> Loaded:
        """Store many such outcomes, all or none. An error counts them from `first`."""
        ...

    def correct(
        self, number: int, outcome: Outcome | None, who: str = "", why: str = "", limit: int | None = None
    ) -> Told:
        """From now on observation `number` has this outcome; None retracts it. What was told stays in the log.

        The outcome that already holds changes nothing. A retracted observation may be corrected again.
        """
        ...

    def outcome(self, number: int) -> Outcome | None:
        """What holds for observation `number` now; None if it is retracted."""
        ...

    def number_of(self, id: str) -> int:
        """The number of a suggestion."""
        ...

    def corrections(self) -> list[Correction]:
        """All corrections, oldest first."""
        ...

    def abandon(self, id: str) -> None:
        """Stop waiting for the reward of a suggestion."""
        ...

    def read(self, work: Callable[[View], Result]) -> Result:
        """Return what `work` returns for the present log. It should read what it needs and compute later."""
        ...

    def observations(self) -> Iterator[Observation]:
        """All observations as they hold now, in the order of their numbers, read page by page."""
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

    def rename(self, name: str, new: str) -> None:
        """Give a log another name. Whoever has it open under the old one must open it again."""
        ...

    def delete(self, name: str) -> None:
        """Delete a log with all that is in it."""
        ...

    def copy(self, name: str, target: Self, new: str) -> Log:
        """A copy of a log under a new name, in this store or another: all its rows and ids, as of one moment."""
        ...

    def close(self) -> None: ...
