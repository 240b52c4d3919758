"""Who performs trials: this process, processes on this machine, or a Ray cluster. The results are the same bytes."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from driftwise import checks
from driftwise.concurrency.threads import one_thread
from driftwise.errors import DriftwiseError, InvalidInput, missing_extra
from driftwise.lab.trials import Result, Timing, Trial, perform

BATCH = 0.25  # seconds of work that are sent at once; a longer trial goes alone
MOST = 64  # trials in a batch
SHARE = 4  # processes a core, at most
PATIENCE = 3  # times that workers may die in a row with nothing done


A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Failure:
    """A trial that raised, and what, in a line."""

    key: str
    problem: str


Answer = tuple[Result, Timing] | Failure


@dataclass(frozen=True)
class Reply:
    """What came of a batch, and all the CPU seconds of whoever performed it since it last replied."""

    answers: tuple[Answer, ...]
    cpu: float


class Engine(Protocol):
    """Performs batches of trials, in any order and anywhere. What is left undone in `work` when it raises is lost."""

    def __call__(self, work: Work) -> Iterator[Reply]: ...


class Work:
    """Trials to be done, handed out in batches that are no longer than they need be, and remembered until done."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.waiting = deque(trials)
        self.out: dict[str, Trial] = {}
        self._seconds: dict[tuple[str, str, str], float] = {}  # of a trial of a cell, as measured

    def __len__(self) -> int:
        return len(self.waiting) + len(self.out)

    def batches(self) -> Iterator[tuple[Trial, ...]]:
        """All that waits, batch by batch, each made when it is asked for."""
        while self.waiting:
            yield self.batch()

    def batch(self) -> tuple[Trial, ...]:
        """The next trials, together about `BATCH` seconds by what is known of their kind."""
        taken, seconds = list[Trial](), 0.0
        while self.waiting and len(taken) < MOST:
            seconds += self._seconds.get(self.waiting[0].cell, BATCH)
            if taken and seconds > BATCH:
                break
            taken.append(self.waiting.popleft())
        self.out.update((trial.key, trial) for trial in taken)
        return tuple(taken)

    def finish(self, reply: Reply) -> None:
        """Takes note of what is done, and how long it took."""
        for answer in reply.answers:
            key = answer.key if isinstance(answer, Failure) else answer[0].key
            trial = self.out.pop(key)
            if not isinstance(answer, Failure):
                self._seconds[trial.cell] = answer[1].wall

    def put_back(self) -> None:
        """What was handed out and never came back waits again, behind the others: it may be what kills workers."""
        self.waiting.extend(self.out.values())
        self.out.clear()


# --- in a worker -----------------------------------------------------------------------------------------------------


@one_thread
def do(batch: tuple[Trial, ...]) -> Reply:
    """Performs trials with one BLAS thread; whatever they raise is an answer too."""
    answers = tuple(_answer(trial) for trial in batch)
    return Reply(answers, cpu_since_last())


def follow(parent: int) -> None:
    """Makes this process end when its parent does, however that ends: a killed run leaves nobody behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _answer(trial: Trial) -> Answer:
    try:
        return perform(trial)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
        said = " ".join(str(error).split())
        return Failure(trial.key, f"{type(error).__name__}: {said:.400} ({where})")


_told = 0.0


def cpu_since_last() -> float:
    """CPU seconds of this process since this was last called, or since it began: its imports count as well."""
    global _told
    before, _told = _told, time.process_time()
    return _told - before


# --- the engines -----------------------------------------------------------------------------------------------------


def serial(work: Work) -> Iterator[Reply]:
    """In this process, one trial after the other."""
    while work.waiting:
        trial = work.waiting.popleft()
        work.out[trial.key] = trial
        reply = do((trial,))
        work.finish(reply)
        yield reply


def in_processes(function: Callable[[A], B], items: Sequence[A], *, jobs: int) -> Iterator[B]:
    """What `function` gives for each item, as it comes; with several jobs from processes that end with this one."""
    workers = bounded(jobs, len(items))
    try:
        yield from map(function, items) if workers == 1 else _spread(function, items, workers)
    except BrokenExecutor as error:
        raise DriftwiseError(
            f"one of {workers} processes was killed, perhaps because memory ran out; try again with fewer jobs"
        ) from error


def bounded(jobs: int, tasks: int) -> int:
    """How many processes are started where `jobs` are asked for: no more than tasks, and at most SHARE a core.

    >>> bounded(99_999, 2), bounded(99_999, 10**6) == SHARE * cores()
    (2, True)
    """
    return min(checks.count("jobs", jobs), max(tasks, 1), SHARE * cores())


def _spread(function: Callable[[A], B], items: Iterable[A], workers: int, **options: Any) -> Iterator[B]:
    """Over processes with one BLAS thread each."""
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise missing_extra("lab", "joblib (for more than one job)") from None
    with parallel_config(backend="loky", inner_max_num_threads=1):
        told = {"return_as": "generator_unordered", "initializer": follow, "initargs": (os.getpid(),)}
        made: Iterator[B] = Parallel(n_jobs=workers, **told, **options)(delayed(function)(item) for item in items)
    return made


@dataclass(frozen=True)
class Joblib:
    """In `jobs` processes on this machine. What a process was doing when it was killed is done again."""

    jobs: int

    def __call__(self, work: Work) -> Iterator[Reply]:
        try:
            from joblib.externals.loky.process_executor import TerminatedWorkerError
        except ImportError:
            raise missing_extra("lab", "joblib") from None
        deaths = 0
        while len(work) and deaths < PATIENCE:
            # batches are ours: joblib's own grow to seconds, which a kill would lose
            replies = _spread(do, work.batches(), bounded(self.jobs, len(work)), batch_size=1)
            try:
                for reply in replies:
                    deaths = 0
                    work.finish(reply)
                    yield reply
            except TerminatedWorkerError:
                deaths += 1
                work.put_back()
        yield from _one_by_one(work)


def _one_by_one(work: Work) -> Iterator[Reply]:
    """Each trial in a process of its own, to find the one that kills it."""
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    while work.waiting:
        trial = work.waiting.popleft()
        work.out[trial.key] = trial
        try:
            reply = get_reusable_executor(max_workers=1).submit(do, (trial,)).result()
        except TerminatedWorkerError:
            reply = Reply((Failure(trial.key, "the process that ran it was killed, every time"),), 0.0)
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


def cores() -> int:
    """How many this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
