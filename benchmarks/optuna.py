"""A step of DriftSampler in Optuna relative to that of a Study, with the same policy, world and noise, in one run.

A step is ask, suggest and tell, in seconds of the processor. In memory it is compared as a whole. In a SQLite file
Optuna's storage takes most of it, whatever the sampler: there the step of its RandomSampler is taken off.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import BaseSampler, RandomSampler

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from driftwise.integrations.optuna import DriftSampler

STEPS, MOST = 300, 1.5
POLICIES: dict[str, dict[str, Any]] = {"auto": {}, "sw-gp-ucb": {"window": 60}}
Step = Callable[[int], None]


def run() -> Iterator[Result]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in POLICIES.items():
            yield compared(f"{name}: a step in Optuna in memory, relative to a Study's", name, options, None)
            what = f"{name}: the sampler's part of a step in Optuna in a file, relative to a Study's step in a file"
            yield compared(what, name, options, Path(folder) / name)


def compared(what: str, name: str, options: dict[str, Any], file: Path | None) -> Result:
    sampler = DriftSampler(name, seed=0, **options)
    ours, study, storage = timed(
        [
            in_optuna(sampler, file, "drift"),
            of_a_study(name, options, file),
            in_optuna(RandomSampler(seed=0), file, "random"),
        ]
    )
    taken = ours.median - (0 if file is None else storage.median)
    return Result(
        what=what,
        ours=f"{said(ours)}; RandomSampler {duration(storage.median)}",
        theirs=said(study),
        ratio=taken / study.median,
        target=f"≤ {MOST}",
        met=taken <= MOST * study.median,
    )


def timed(steps: list[Step]) -> list[Stopwatch]:
    """The seconds of each, in turns: what else the machine does meets all of them."""
    watches = [Stopwatch() for _ in steps]
    for t in range(STEPS):
        for watch, step in zip(watches, steps, strict=True):
            watch(step, t)
    return watches


def said(watch: Stopwatch) -> str:
    return f"{duration(watch.median)} (mean {duration(sum(watch.seconds) / len(watch.seconds))})"


def value(x: float, y: float, t: int) -> float:
    """A hill that moves, and noise."""
    best = 0.5 + 0.3 * math.sin(t / 40)
    return -((x - best) ** 2) - (y - 0.4) ** 2 + random.Random(t).gauss(0, 0.02)


def in_optuna(sampler: BaseSampler, file: Path | None, name: str) -> Step:
    storage = None if file is None else f"sqlite:///{file}-{name}.optuna"
    study = optuna.create_study(sampler=sampler, direction="maximize", storage=storage)

    def step(t: int) -> None:
        trial = study.ask()
        study.tell(trial, value(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1), t))

    return step


def of_a_study(name: str, options: dict[str, Any], file: Path | None) -> Step:
    path = None if file is None else f"{file}.study"
    study = dw.Study("a", {"x": dw.Float(0, 1), "y": dw.Float(0, 1)}, (name, options), path=path)

    def step(t: int) -> None:
        s = study.ask()
        study.tell(s, value(s.params["x"], s.params["y"], t))

    return step
