"""How fast a fleet is on this machine: decisions a second, side by side in one run."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.fleet.fleet import Fleet
from driftwise.fleet.frames import JournalEntry
from driftwise.fleet.journal import open_journal
from driftwise.records import Array
from driftwise.spaces import Candidates
from driftwise.study import Study

OPTIONS: dict[str, Any] = {"noise": 0.01, "standardise": False}


@dataclass(frozen=True)
class Pace:
    """So many keys a second, and the name of what it is compared with."""

    what: str
    rate: float
    beside: str = ""


@dataclass(frozen=True)
class Workload:
    """`keys` streams with a window, on candidates in the plane; `steps` of them are timed once all windows are full."""

    keys: int = 512
    window: int = 64
    candidates: int = 256
    steps: int = 10
    durable: int = 1024  # rewards in a batch that is written

    def points(self) -> Array:
        return np.random.default_rng(0).random((self.candidates, 2))

    def fleet(self, **given: Any) -> Fleet:
        return Fleet("bench", Candidates(self.points()), "sw-gp-ucb", window=self.window, **OPTIONS, **given)


def timings(work: Workload) -> Iterator[Pace]:
    """Each as soon as it is known."""
    yield Pace("a loop over studies in memory", _studies(work))
    yield Pace("engine numpy", _fleet(work, engine="numpy"), "a loop over studies in memory")
    best = "numpy"
    try:
        work.fleet(engine="compiled").close()
    except InvalidInput:  # there is no Numba
        pass
    else:
        best = "compiled"
        yield Pace("engine compiled", _fleet(work, engine=best), "a loop over studies in memory")
    one = f"engine {best}, 1 process"
    yield Pace(one, _fleet(work, engine=best, shards=1, processes=1), f"engine {best}")
    yield Pace(f"engine {best}, 2 processes", _fleet(work, engine=best, shards=2, processes=2), one)
    with tempfile.TemporaryDirectory() as folder:
        floor = f"the journal alone, batches of {work.durable:,}"
        yield Pace(floor, _journal(work, Path(folder)))
        yield Pace(f"durable tells, batches of {work.durable:,}", _tells(work, Path(folder), best), floor)


def machine() -> str:
    """The processor's name and how many cores there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def _reward(points: Array, step: int) -> Array:
    noise = 0.1 * np.random.default_rng(step).standard_normal(len(points))
    return np.asarray(np.sin(5 * points[:, 0] + step / 20) + points[:, 1] + noise)


def _rate(count: int, step: Callable[[int], float], work: Workload) -> float:
    """Keys a second: the median over the timed steps."""
    times = [step(number) for number in range(work.window + 2 + work.steps)]
    return count / median(times[-work.steps :])


def _studies(work: Workload) -> float:
    count = max(work.keys // 16, 1)
    space = Candidates(work.points())
    studies = [Study(str(i), space, "sw-gp-ucb", window=work.window, **OPTIONS) for i in range(count)]

    def step(number: int) -> float:
        began = perf_counter()
        for study in studies:
            suggestion = study.ask()
            study.tell(suggestion, float(_reward(np.array([suggestion.x]), number)[0]))
        return perf_counter() - began

    return _rate(count, step, work)


def _fleet(work: Workload, **given: Any) -> float:
    keys = list(range(work.keys))
    with work.fleet(**given) as fleet:

        def step(number: int) -> float:
            began = perf_counter()
            batch = fleet.ask(keys)
            fleet.tell(batch, _reward(batch.points, number))
            return perf_counter() - began

        return _rate(len(keys), step, work)


def _tells(work: Workload, folder: Path, engine: str) -> float:
    keys = list(range(work.durable))
    with work.fleet(path=folder, engine=engine) as fleet:

        def step(number: int) -> float:
            batch = fleet.ask(keys)
            rewards = _reward(batch.points, number)
            began = perf_counter()
            fleet.tell(batch, rewards)
            return perf_counter() - began

        return _rate(len(keys), step, work)


def _journal(work: Workload, folder: Path) -> float:
    rows, reals = np.arange(work.durable), np.zeros(work.durable)
    told: dict[str, Any] = {"rows": rows, "numbers": rows.astype(np.int32), "rewards": reals, "surprises": reals}
    journal = open_journal(folder, "floor")

    def step(number: int) -> float:
        began = perf_counter()
        journal.append(JournalEntry("told", told))
        return perf_counter() - began

    try:
        return _rate(work.durable, step, work)
    finally:
        journal.close()
