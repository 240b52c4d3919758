"""A step of DriftSampler in Optuna relative to that of a Study, with the same policy, world and noise, in one run.

A step is ask, suggest and tell, in seconds of the processor, in memory and in each kind of file that Optuna has. In a
SQLite file Optuna's storage takes most of it, whatever the sampler. There the sampler's part is compared, too: the
step without that of RandomSampler, which reads nothing.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import BaseSampler, RandomSampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from driftwise.integrations.optuna import DriftSampler

STEPS, MOST = 300, 1.5
POLICIES: dict[str, dict[str, Any]] = {"auto": {}, "sw-gp-ucb": {"window": 60}}
Step = Callable[[int], None]


def journal(file: Path) -> BaseStorage:
    return JournalStorage(JournalFileBackend(str(file)))


def sqlite(file: Path) -> str:
    return f"sqlite:///{file}"


def memory(file: Path) -> None:
    """Optuna's default."""


STORAGES: dict[str, Callable[[Path], BaseStorage | str | None]] = {
    "in memory": memory,
    "in a journal file": journal,
    "in a SQLite file": sqlite,
}


def run() -> Iterator[Result]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for (name, options), where in product(POLICIES.items(), STORAGES):
        with tempfile.TemporaryDirectory() as folder:
            yield from compared(name, options, where, Path(folder))


def compared(name: str, options: dict[str, Any], where: str, folder: Path) -> Iterator[Result]:
    storage = STORAGES[where]
    ours, study, least = timed(
        [
            in_optuna(DriftSampler(name, seed=0, **options), storage(folder / "drift")),
            of_a_study(name, options, None if storage is memory else str(folder / "a.study")),
            in_optuna(RandomSampler(seed=0), storage(folder / "random")),
        ]
    )
    parts = {"a step": ours.median}
    if storage is sqlite:
        parts["the sampler's part of a step"] = ours.median - least.median
    for part, seconds in parts.items():
        yield Result(
            what=f"{name}: {part} in Optuna {where}, relative to a Study's step",
            ours=f"{duration(seconds)}; RandomSampler {duration(least.median)}",
            theirs=duration(study.median),
            ratio=seconds / study.median,
            target=f"≤ {MOST}",
            met=seconds <= MOST * study.median,
        )


def timed(steps: list[Step]) -> list[Stopwatch]:
    """The seconds of each, in turns: what else the machine does meets all of them."""
    watches = [Stopwatch() for _ in steps]
    for t in range(STEPS):
        for watch, step in zip(watches, steps, strict=True):
            watch(step, t)
    return watches


def value(x: float, y: float, t: int) -> float:
    """A hill that moves, and noise."""
    best = 0.5 + 0.3 * math.sin(t / 40)
    return -((x - best) ** 2) - (y - 0.4) ** 2 + random.Random(t).gauss(0, 0.02)


def in_optuna(sampler: BaseSampler, storage: BaseStorage | str | None) -> Step:
    study = optuna.create_study(sampler=sampler, direction="maximize", storage=storage)

    def step(t: int) -> None:
        trial = study.ask()
        study.tell(trial, value(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1), t))

    return step


def of_a_study(name: str, options: dict[str, Any], path: str | None) -> Step:
    study = dw.Study("a", {"x": dw.Float(0, 1), "y": dw.Float(0, 1)}, (name, options), path=path)

    def step(t: int) -> None:
        s = study.ask()
        study.tell(s, value(s.params["x"], s.params["y"], t))

    return step
