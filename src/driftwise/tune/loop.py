"""Ask, try, tell: several settings at once, until something says stop.

Every suggestion is asked with a key of ours, so that what an interrupted run left without a reward is found among the
pending ones and taken up first. A step is told as soon as its attempt has ended, and a reward that was told is on the
disk. So a run may be killed at any time, and the next one goes on where it was.
"""

from __future__ import annotations

import secrets
import select
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from driftwise import checks
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.records import Params, Recommendation, Suggestion
from driftwise.study import Study, remote
from driftwise.text import counted

OURS = "tune-"  # how our keys begin
TICK = 0.1  # seconds between two looks at the clock
LONGEST = 1e7  # seconds: four months


def seconds(name: str, value: float, *, least: float = 0.001) -> float:
    """A time that a plan may have."""
    found = checks.real(name, value)
    if not least <= found <= LONGEST:
        raise InvalidInput(f"{name} must be from {least:g} to {LONGEST:g} seconds, got {found!r}")
    return found


class Stopped(DriftwiseError):
    """The run ended before it was done, because settings kept failing."""


@dataclass(frozen=True)
class Attempted:
    """What came of a setting."""

    reward: float | None  # None: it failed
    measures: Mapping[str, float]
    trouble: str  # why it failed
    seconds: float


Say = Callable[[str], None]  # to whoever waits: what holds an attempt up


class Attempt(Protocol):
    """A setting that is being tried."""

    def fileno(self) -> int: ...  # a file that can be read when it is over
    def outcome(self) -> Attempted: ...
    def end(self) -> None: ...  # at once, with everything that it started


class Way(Protocol):
    """How settings are tried."""

    @property
    def noun(self) -> str: ...  # what fails
    def check(self, names: Sequence[str], *, all_of_them: bool) -> None: ...  # the parameters that it is given
    def measuring(self, names: Sequence[str]) -> Way: ...  # these as well
    def start(self, suggestion: Suggestion, say: Say) -> Attempt: ...
    def arguments(self, params: Params) -> list[str] | None: ...  # of the command that does what was tried, if any
    def line(self, params: Params) -> str: ...  # the same as a person types it


@dataclass(frozen=True)
class Plan:
    """How many settings are tried, and when to stop. Times are in seconds; None is for ever."""

    steps: int | None = None
    seconds: float | None = None  # nothing is started after these
    pause: float = 0.0  # between the end of an attempt and the start of the next in its place
    jobs: int = 1
    stop_after: int | None = 10  # failures in a row

    def __post_init__(self) -> None:
        checks.settle(
            self,
            steps=checks.optional(checks.count),
            seconds=checks.optional(seconds),
            pause=partial(seconds, least=0.0),
            jobs=checks.count,
            stop_after=checks.optional(checks.count),
        )


@dataclass(frozen=True)
class TunedStep:
    """One setting that was tried, and what came of it."""

    done: int  # how many this run has done
    suggestion: Suggestion
    outcome: Attempted
    resumed: bool  # it was asked by a run that was interrupted

    @property
    def params(self) -> Params:
        return self.suggestion.params


@dataclass
class Place:
    """A place for one attempt: a setting under way, or the time from which on the next may start."""

    free_from: float = 0.0
    suggestion: Suggestion | None = None
    running: Attempt | None = None
    resumed: bool = False


class Tuner:
    """Tries what a study asks. `stop()` lets what is under way end, and starts nothing more."""

    def __init__(self, study: Study, way: Way, plan: Plan) -> None:
        if study.description.context is not None:
            raise InvalidInput(f"study {study.name!r} has a context, which a command cannot be given; use ask and tell")
        most = max(study.description.patience, 1)
        if plan.jobs > most:
            raise InvalidInput(f"jobs must be at most the study's patience, {most}, got {plan.jobs}")
        self.study, self.way, self.plan = study, way, plan
        self.started = self.done = self.failed = self.in_a_row = 0
        self.stopping = False
        self.say: Say = lambda words: None

    def stop(self) -> None:
        self.stopping = True

    def left_over(self) -> list[Suggestion]:
        """What an interrupted run asked and did not tell."""
        return [each for each in self.study.pending() if each.key.startswith(OURS)]

    def abandon_left_over(self) -> None:
        for each in self.left_over():
            self.study.abandon(each)

    def best(self) -> Recommendation | None:
        """What the study recommends now; None before the first reward, and of a policy without a belief."""
        try:
            return self.study.recommend()
        except InvalidInput:
            return None

    def steps(self) -> Generator[TunedStep | None, None, None]:
        """Each step when it is done, and None now and then while they are under way."""
        begun = time.monotonic()
        # behind a service, another tuner may be at work on what looks left over
        waiting = [] if remote.is_address(self.study.path) else self.left_over()
        jobs = [Place() for _ in range(self.plan.jobs)]
        try:
            while True:
                self._start(jobs, waiting, begun)
                if not any(job.running or self._may_start(begun) for job in jobs):
                    return
                yield from self._collect(jobs)
        finally:
            for job in jobs:
                if job.running:
                    job.running.end()  # its setting stays pending, and the next run takes it up

    def _may_start(self, begun: float) -> bool:
        in_time = self.plan.seconds is None or time.monotonic() - begun < self.plan.seconds
        return not self.stopping and in_time and (self.plan.steps is None or self.started < self.plan.steps)

    def _start(self, jobs: list[Place], waiting: list[Suggestion], begun: float) -> None:
        for job in jobs:
            if job.running or time.monotonic() < job.free_from or not self._may_start(begun):
                continue
            job.resumed = bool(waiting)
            job.suggestion = waiting.pop(0) if waiting else self.study.ask(key=OURS + secrets.token_hex(8))
            if self.stopping:  # asked in the meantime: left for the next run
                return
            job.running = self.way.start(job.suggestion, self.say)
            self.started += 1

    def _collect(self, jobs: list[Place]) -> Iterator[TunedStep | None]:
        """The steps that are done by now, after a short wait."""
        running = {job.running.fileno(): job for job in jobs if job.running}
        ready, _, _ = select.select(list(running), [], [], TICK)
        if not ready:
            yield None
        for each in ready:
            job = running[each]
            assert job.running is not None
            outcome, job.running = job.running.outcome(), None
            job.free_from = time.monotonic() + self.plan.pause
            step = self._told(job, outcome)
            yield step
            if self.plan.stop_after is not None and self.in_a_row >= self.plan.stop_after:
                raise Stopped(self._too_many(step))

    def _told(self, job: Place, found: Attempted) -> TunedStep:
        assert job.suggestion is not None
        failed = found.reward is None
        self.study.tell(job.suggestion, found.reward, failed=failed, measures=found.measures or None)
        self.done += 1
        self.failed += failed
        self.in_a_row = self.in_a_row + 1 if failed else 0
        return TunedStep(self.done, job.suggestion, found, job.resumed)

    def _too_many(self, last: TunedStep) -> str:
        last_ones = self.way.noun if self.in_a_row == 1 else counted(self.in_a_row, self.way.noun)
        return (
            f"the last {last_ones} failed ({last.outcome.trouble}); try by hand: {self.way.line(last.params)}; "
            "give --keep-going if so many failures are to be expected"
        )
