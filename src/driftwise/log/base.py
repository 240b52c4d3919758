"""What goes into a log and what comes out of it: a few records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from driftwise.records import Observation, Point, Serving, alike


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
    serving: Serving | None = None  # of a live system


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice of a policy: the point, the user's time, and the jitter that the posterior needed."""

    x: Point
    at: float
    jitter: float = 0.0
    own_time: bool = True  # else the time follows from the number under which it is stored
    serving: Serving | None = None


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
class Decided:
    """A decision about a live system, as JSON has it, and the largest number before it."""

    number: int
    said: Mapping[str, Any]


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
