"""Flat for ever: a step at observation 100,000 against one at 1,000, and the memory between them.

States never change, so the early one is kept and both are stepped on in turns, in the same minute.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from driftwise.log.packing import pack

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration, resident
from driftwise.policies import AnyPolicy
from driftwise.records import Array, Ask, Observation
from driftwise.rng import generator

EARLY, LATE = 1000, 100_000
KERNEL = dw.Matern(2.5, 0.2)
SLOWER, MEGABYTES = 1.2, 1.0


def run() -> Iterator[Result]:
    points = np.random.default_rng(0).random((1000, 2))
    options = {"window": 100, "kernel": KERNEL}
    yield from fold("1,000 candidates", dw.policy("sw-gp-ucb", dw.Candidates(points), **options), steps=1000)
    square = {"a": dw.Float(0, 1), "b": dw.Float(0, 1)}
    yield from fold("a box, d = 2", dw.policy("sw-gp-ucb", square, **options), steps=200)
    yield from fold("auto on a box, d = 2", dw.policy("auto", square), steps=200)
    with tempfile.TemporaryDirectory() as folder:
        yield from live(Path(folder), square, options)


def fold(name: str, policy: AnyPolicy, *, steps: int) -> Iterator[Result]:
    """A policy in a simulation; up to the two ends the log is of random points."""

    def tell(state: Any, t: int, x: Array) -> Any:
        return policy.update(state, Observation(t, float(t), tuple(x.tolist()), float(np.sin(0.1 * t))))

    def step(state: Any, t: int) -> Any:
        return tell(state, t, policy.choose(state, Ask(t, float(t))))

    def after(n: int, state: Any, first: int = 1) -> Any:
        for t in range(first, n + 1):
            state = tell(state, t, policy.space.sample(generator(0, t), 1)[0])
        return state

    early, state = after(EARLY, policy.start()), after(EARLY, policy.start())
    before = resident()
    state = after(LATE, state, EARLY + 1)
    grown = resident() - before
    states, watches = [early, state], [Stopwatch(), Stopwatch()]
    for t in range(1, steps + 1):
        for i, last in enumerate((EARLY, LATE)):
            states[i] = watches[i](step, states[i], last + t)
    yield from _results(name, watches, grown)


def live(folder: Path, space: dict[str, Any], options: dict[str, Any]) -> Iterator[Result]:
    """A live study in a file: ask and tell, each on the disk before it returns; memory in processes of their own."""
    paths = [folder / f"{n}.db" for n in (EARLY, LATE)]
    for path, n in zip(paths, (EARLY, LATE), strict=True):
        _fill(path, n, space, options)
    alone = {"max_workers": 1, "max_tasks_per_child": 1, "mp_context": multiprocessing.get_context("spawn")}
    with ProcessPoolExecutor(**alone) as processes:
        before, after = processes.map(_memory_after_steps, paths)
    studies = [dw.Study.open("long", path=path) for path in paths]
    watches = [Stopwatch(time.perf_counter), Stopwatch(time.perf_counter)]
    for _ in range(100):
        for watch, study in zip(watches, studies, strict=True):
            watch(_step, study)
    yield from _results("a live study in a file, d = 2", watches, after - before)


def _step(study: dw.Study) -> None:
    suggestion = study.ask()
    study.tell(suggestion, float(np.sin(suggestion.number)))


def _memory_after_steps(path: Path) -> float:
    study = dw.Study.open("long", path=path)
    for _ in range(50):
        _step(study)
    return resident()


def _fill(path: Path, n: int, space: dict[str, Any], options: dict[str, Any]) -> None:
    """A study of n observations: the first 200 as a user stores them, the others written straight behind them."""
    study, rng = (
        dw.Study("long", space=space, path=path, **({"policy": "sw-gp-ucb"} | options)),
        np.random.default_rng(0),
    )
    for _ in range(200):
        a, b = rng.random(2).tolist()
        study.observe({"a": a, "b": b}, float(rng.standard_normal()))
    seen = list(study.observations())
    study.close()
    database = sqlite3.connect(path)
    with database:
        copies = ((i, seen[i % 200]) for i in range(201, n + 1))
        rows = ((1, i, i, s.at, s.y, pack(i, s.at, s.y, s.x)) for i, s in copies)
        database.executemany("INSERT INTO observations (study, number, arrival, at, y, x) VALUES (?,?,?,?,?,?)", rows)
        database.execute("UPDATE studies SET last = ?, told = ?, unasked = ?", (n, n, n))
    database.close()


def _results(name: str, watches: list[Stopwatch], grown: float) -> Iterator[Result]:
    early, late = (watch.median for watch in watches)
    yield Result(
        what=f"step at observation {LATE:,} against {EARLY:,}: {name}",
        ours=duration(late),
        theirs=f"{duration(early)} (ours, early)",
        ratio=late / early,
        target=f"≤ {SLOWER}×",
        met=late / early <= SLOWER,
    )
    yield Result(f"… memory grown: {name}", f"{grown:.2f} MB", target=f"< {MEGABYTES:.0f} MB", met=grown < MEGABYTES)
