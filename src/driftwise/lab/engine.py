"""The one runner of the lab: jobs are performed in this process, in processes on this machine, or on a Ray cluster.

`demo`, `compare`, `lab run` and `lab theory` all make a list of jobs and give it to an engine. What comes back is the
same bytes whichever engine performs it: a job runs with one BLAS thread and draws from its own seed.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from driftwise import checks
from driftwise.concurrency.threads import cores, one_thread
from driftwise.errors import DriftwiseError, InvalidInput, missing_extra

BATCH = 0.25  # seconds of work that are sent at once; a longer job goes alone
MOST = 64  # jobs in a batch
SHARE = 4  # processes a core, at most
PATIENCE = 3  # times that workers may die in a row with nothing done
KILLED = "the process that ran it was killed, every time; if memory ran out, try again with fewer jobs"


class Job(Protocol):
    """A piece of work that any process can perform, and whose outcome depends on nothing but the job."""

    @property
    def cell(self) -> Hashable: ...  # jobs of one cell take about as long as each other
    def perform(self) -> Any: ...


Item = tuple[int, Job]  # a job, and its number in the list of all


@dataclass(frozen=True)
class Done:
    """What a job returned, and the seconds that it took."""

    number: int
    value: Any
    seconds: float


@dataclass(frozen=True)
class Failure:
    """A job that raised: what, in a line, and the error itself where it can be sent."""

    number: int
    problem: str
    error: Exception | None = field(default=None, compare=False)


Answer = Done | Failure


@dataclass(frozen=True)
class Reply:
    """What came of a batch, and all the CPU seconds of whoever performed it since it last replied."""

    answers: tuple[Answer, ...]
    cpu: float


class Engine(Protocol):
    """Performs batches of jobs, in any order and anywhere. What is left undone in `work` when it raises is lost."""

    def __call__(self, work: Work) -> Iterator[Reply]: ...


class Work:
    """Jobs to be done, handed out in batches that are no longer than they need be, and remembered until done."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.waiting: deque[Item] = deque(enumerate(jobs))
        self.out: dict[int, Job] = {}
        self._seconds: dict[Hashable, float] = {}  # of a job of a cell, as measured

    def __len__(self) -> int:
        return len(self.waiting) + len(self.out)

    def batches(self) -> Iterator[tuple[Item, ...]]:
        """All that waits, batch by batch, each made when it is asked for."""
        while self.waiting:
            yield self.batch()

    def batch(self) -> tuple[Item, ...]:
        """The next jobs, together about `BATCH` seconds by what is known of their cells."""
        taken, seconds = list[Item](), 0.0
        while self.waiting and len(taken) < MOST:
            seconds += self._seconds.get(self.waiting[0][1].cell, BATCH)
            if taken and seconds > BATCH:
                break
            taken.append(self.take())
        return tuple(taken)

    def take(self) -> Item:
        """The next job alone."""
        number, job = self.waiting.popleft()
        self.out[number] = job
        return number, job

    def finish(self, reply: Reply) -> None:
        """Takes note of what is done, and how long it took."""
        for answer in reply.answers:
            job = self.out.pop(answer.number)
            if isinstance(answer, Done):
                self._seconds[job.cell] = answer.seconds

    def put_back(self) -> None:
        """What was handed out and never came back waits again, behind the others: it may be what kills workers."""
        self.waiting.extend(self.out.items())
        self.out.clear()


def replies(jobs: Sequence[Job], engine: Engine) -> Generator[Reply, None, None]:
    """What an engine says of the jobs. Nothing is started where there is nothing to do."""
    if not jobs:
        return
    with warnings.catch_warnings():
        # joblib warns on Ctrl-C of what it cancels; the next run does that
        warnings.filterwarnings("ignore", message=".*still being processed by the workers")
        yield from engine(Work(jobs))


def perform_all(jobs: Sequence[Job], *, workers: int = 1, tell: Callable[[], None] = lambda: None) -> list[Any]:
    """What the jobs return, in their order, from as many processes. The first that fails ends it.

    `tell` is called as each one ends.
    """
    count, found = bounded(workers, len(jobs)), dict[int, Any]()
    with closing(replies(jobs, serial if count == 1 else Joblib(count))) as said:
        for answer in (answer for reply in said for answer in reply.answers):
            if isinstance(answer, Failure):
                raise answer.error or DriftwiseError(f"a run failed: {answer.problem}")
            found[answer.number] = answer.value
            tell()
    return [found[number] for number in range(len(jobs))]


# --- in a worker -----------------------------------------------------------------------------------------------------


@one_thread
def do(batch: tuple[Item, ...]) -> Reply:
    """Performs jobs with one BLAS thread; whatever they raise is an answer too."""
    answers = tuple(_answer(number, job) for number, job in batch)
    return Reply(answers, cpu_since_last())


def do_elsewhere(batch: tuple[Item, ...], path: tuple[str, ...]) -> Reply:
    """Performs jobs in a process that finds modules where the one does that sent them."""
    look_in(path)
    return do(batch)


def look_in(path: Iterable[str]) -> None:
    """Looks for modules, for example a user's own policies, in these folders too."""
    sys.path.extend(folder for folder in path if folder not in sys.path)


def follow(parent: int, path: tuple[str, ...] = ()) -> None:
    """Makes this process end when its parent does, however that ends: a killed run leaves nobody behind.

    It finds modules where its parent does.
    """
    look_in(path)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _answer(number: int, job: Job) -> Answer:
    began = time.perf_counter()
    try:
        return Done(number, job.perform(), time.perf_counter() - began)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
        said = " ".join(str(error).split())
        return Failure(number, f"{type(error).__name__}: {said:.400} ({where})", _sendable(error))


def _sendable(error: Exception) -> Exception | None:
    """The error, unless it cannot be pickled: then its line must do."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return None
    return error


_counted = 0.0


def cpu_since_last() -> float:
    """CPU seconds of this process since this was last called, or since it began: its imports count as well."""
    global _counted
    before, _counted = _counted, time.process_time()
    return _counted - before


# --- the engines -----------------------------------------------------------------------------------------------------


def serial(work: Work) -> Iterator[Reply]:
    """In this process, one job after the other."""
    while work.waiting:
        reply = do((work.take(),))
        work.finish(reply)
        yield reply


def bounded(jobs: int, tasks: int) -> int:
    """How many processes are started where `jobs` are asked for: no more than tasks, and at most SHARE per core.

    >>> bounded(99_999, 2), bounded(99_999, 10**6) == SHARE * cores()
    (2, True)
    """
    return min(checks.count("jobs", jobs), max(tasks, 1), SHARE * cores())


@dataclass(frozen=True)
class Joblib:
    """In `jobs` processes on this machine. What a process was doing when it was killed is done again."""

    jobs: int

    def __call__(self, work: Work) -> Iterator[Reply]:
        deaths = 0
        while len(work) and deaths < PATIENCE:
            try:
                for reply in _in_processes(work.batches(), bounded(self.jobs, len(work))):
                    deaths = 0
                    work.finish(reply)
                    yield reply
            except BrokenProcessPool:  # the base of what joblib raises when one is killed
                deaths += 1
                work.put_back()
        yield from _one_by_one(work)


def _in_processes(batches: Iterator[tuple[Item, ...]], workers: int) -> Iterator[Reply]:
    """Over processes with one BLAS thread each, which end with this one."""
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise missing_extra("lab", "joblib (for more than one job)") from None
    with parallel_config(backend="loky", inner_max_num_threads=1):
        made: Iterator[Reply] = Parallel(
            n_jobs=workers,
            return_as="generator_unordered",
            batch_size=1,  # batches are ours: joblib's own grow to seconds, which a kill would lose
            initializer=follow,
            initargs=(os.getpid(), tuple(sys.path)),  # idle workers are not used again if the path has changed
        )(delayed(do)(batch) for batch in batches)
    return made


def _one_by_one(work: Work) -> Iterator[Reply]:
    """One job at a time, in a process other than this one, to find the job that kills it."""
    while work.waiting:
        item = work.take()
        try:
            (reply,) = _in_processes(iter([(item,)]), workers=2)  # joblib has one worker stay in this process
        except BrokenProcessPool:
            reply = Reply((Failure(item[0], KILLED),), 0.0)
        work.finish(reply)
        yield reply


def engine(name: str, *, jobs: int | None = None, address: str | None = None) -> Engine:
    """An engine by name, with `jobs` workers: all cores where none are given.

    >>> engine("joblib", jobs=2)
    Joblib(jobs=2)
    """
    makers: dict[str, Callable[[], Engine]] = {
        "serial": lambda: serial,
        "joblib": lambda: Joblib(cores() if jobs is None else checks.count("jobs", jobs)),
        "ray": lambda: _ray(jobs, address),
    }
    if name not in makers:
        raise InvalidInput(f"the engine must be one of {', '.join(makers)}, got {name!r}")
    if address is not None and name != "ray":
        raise InvalidInput(f"an address is that of a Ray cluster, and the engine is {name}; use --engine ray")
    return makers[name]()


def _ray(jobs: int | None, address: str | None) -> Engine:
    from driftwise.lab.cluster import Ray

    if jobs is not None and address is None:  # a cluster has its own cores
        jobs = bounded(jobs, jobs)
    return Ray(None if jobs is None else checks.count("jobs", jobs), address)
