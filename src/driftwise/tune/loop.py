"""Ask, run, tell: several commands at once, until something says stop.

Every suggestion is asked with a key of ours, so that what an interrupted run left without a reward is found among the
pending ones and taken up first. A step is told as soon as its command has ended, and a reward that was told is on the
disk. So a run may be killed at any time, and the next one goes on where it was.
"""

from __future__ import annotations

import secrets
import select
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from driftwise import checks
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.records import Params, Recommendation, Suggestion
from driftwise.study import Study, remote
from driftwise.tune.output import BadOutput, Reader
from driftwise.tune.process import Finished, Running
from driftwise.tune.template import Template, variables

OURS = "tune-"  # how our keys begin
TICK = 0.1  # seconds between two looks at the clock
LONGEST = 1e7  # seconds: four months


def _seconds(name: str, value: float, *, least: float = 0.001) -> float:
    seconds = checks.real(name, value)
    if not least <= seconds <= LONGEST:
        raise InvalidInput(f"{name} must be from {least:g} to {LONGEST:g} seconds, got {seconds!r}")
    return seconds


class Stopped(DriftwiseError):
    """The run ended before it was done, because commands kept failing."""


@dataclass(frozen=True)
class Plan:
    """How commands are run, and when to stop. Times are in seconds; None is for ever."""

    steps: int | None = None
    seconds: float | None = None  # no command is started after these
    pause: float = 0.0  # between the end of a command and the start of the next in its place
    jobs: int = 1
    timeout: float | None = None
    grace: float = 5.0  # between SIGTERM and SIGKILL
    stop_after: int | None = 10  # failures in a row
    stop_at_bad_output: bool = False

    def __post_init__(self) -> None:
        checks.settle(
            self,
            steps=checks.optional(checks.count),
            seconds=checks.optional(_seconds),
            pause=partial(_seconds, least=0.0),
            jobs=checks.count,
            timeout=checks.optional(_seconds),
            grace=partial(_seconds, least=0.0),
            stop_after=checks.optional(checks.count),
        )


@dataclass(frozen=True)
class TunedStep:
    """One setting that was tried, and what came of it."""

    done: int  # how many this run has done
    suggestion: Suggestion
    reward: float | None  # None: the setting failed
    measures: Mapping[str, float]
    trouble: str  # why it failed
    seconds: float
    resumed: bool  # it was asked by a run that was interrupted

    @property
    def params(self) -> Params:
        return self.suggestion.params


@dataclass
class Place:
    """A place for one command: a setting under way, or the time from which on the next may start."""

    free_from: float = 0.0
    suggestion: Suggestion | None = None
    running: Running | None = None
    resumed: bool = False


class Tuner:
    """Runs a command for what a study asks. `stop()` lets the commands under way end, and starts no other."""

    def __init__(self, study: Study, template: Template, reader: Reader, plan: Plan) -> None:
        if study.description.context is not None:
            raise InvalidInput(f"study {study.name!r} has a context, which a command cannot be given; use ask and tell")
        most = max(study.description.patience, 1)
        if plan.jobs > most:
            raise InvalidInput(f"jobs must be at most the study's patience, {most}, got {plan.jobs}")
        limits = {name: name for name, _ in study.description.limits}
        self.study, self.template, self.plan = study, template, plan
        self.reader = Reader(reader.field, reader.time, limits | dict(reader.measures or {}))
        self.started = self.done = self.failed = self.in_a_row = 0
        self.stopping = False

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
        """Each step when it is done, and None now and then while commands run."""
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
            params = job.suggestion.params
            job.running = Running(
                self.template.filled(params), variables(params), timeout=self.plan.timeout, grace=self.plan.grace
            )
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
            finished, job.running = job.running.finished(), None
            job.free_from = time.monotonic() + self.plan.pause
            step = self._told(job, finished)
            yield step
            if self.plan.stop_after is not None and self.in_a_row >= self.plan.stop_after:
                raise Stopped(self._too_many(step))

    def _told(self, job: Place, finished: Finished) -> TunedStep:
        assert job.suggestion is not None
        reward, trouble = None, finished.trouble
        measures: dict[str, float] = {}
        if not trouble:
            try:
                reward, measures = self.reader.read(finished.printed, seconds=finished.seconds)
            except BadOutput as error:
                if self.plan.stop_at_bad_output:
                    raise
                trouble = str(error)
        self.study.tell(job.suggestion, reward, failed=reward is None, measures=measures or None)
        self.done += 1
        self.failed += reward is None
        self.in_a_row = self.in_a_row + 1 if reward is None else 0
        return TunedStep(self.done, job.suggestion, reward, measures, trouble, finished.seconds, job.resumed)

    def _too_many(self, last: TunedStep) -> str:
        how_many = "the last command" if self.in_a_row == 1 else f"the last {self.in_a_row} commands"
        return (
            f"{how_many} failed ({last.trouble}); try by hand: {self.template.line(last.params)}; "
            "give --keep-going if so many failures are to be expected"
        )
