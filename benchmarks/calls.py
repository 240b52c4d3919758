"""Calls of a live study, of this source tree and of others: python -m benchmarks calls --against ../other/src

Every tree works in a process of its own, one at a time, in many short turns: a ratio is of two turns side by side, with
the same noise of the machine. A process has a speed of its own, by where its memory happens to lie, so there are
several of each tree, and the interval (95%) is a bootstrap over these. Against itself, which is the default, a tree
shows how exact this is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result, duration
from driftwise.records import Array

ROOT = Path(__file__).parents[1]
HERE = ROOT / "src"
PLACES = {"memory": "in memory", "file": "in a file", "long": "10,000 observations"}
CASES = tuple((policy, place) for policy in ("sw-gp-ucb", "auto") for place in PLACES)
LONG = 10_000
PROCESSES, TURNS = 6, 6
SLOWER = 1.05


@dataclass(frozen=True)
class Tree:
    """A running process of a source tree."""

    process: Any

    def __call__(self, policy: str, place: str, fill: int = 0) -> dict[str, float]:
        print(json.dumps((policy, place, fill)), file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self) -> Any:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"driftwise of {self.process.args[-1]} ended with status {self.process.wait()}")
        return json.loads(line)


@contextmanager
def running(source: Path, folder: Path) -> Iterator[Tree]:
    command = [sys.executable, "-P", str(ROOT / "benchmarks" / "calls_child.py"), str(folder)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as process:
        tree = Tree(process)
        imported = Path(tree.answer())
        if source not in imported.parents:
            raise RuntimeError(f"{source} must be a source tree with driftwise in it; Python took {imported}")
        yield tree


def run(against: Sequence[Path] = ()) -> Iterator[Result]:
    for other in against or [HERE]:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure([HERE, other.resolve()], [Path(folder, "ours"), Path(folder, "theirs")])
        for what, seconds in measured.items():
            yield result(what, str(other), np.array(seconds).reshape(PROCESSES, TURNS, 2))


def measure(sources: Sequence[Path], folders: Sequence[Path]) -> dict[str, list[tuple[float, ...]]]:
    """The seconds of both in every turn of every process, by what was called."""
    measured: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for source, folder in zip(sources, folders, strict=True):
        folder.mkdir()
        prepare(source, folder)
    for _ in range(PROCESSES):
        with ExitStack() as stack:
            trees = [stack.enter_context(running(*pair)) for pair in zip(sources, folders, strict=True)]
            for policy, place in CASES:
                for turn in range(-1, TURNS):  # the first warms up
                    order = (0, 1) if turn % 2 else (1, 0)
                    answers = {i: trees[i](policy, place) for i in order}
                    for call in answers[0] if turn >= 0 else ():
                        if place != "memory" or "CPU" in call:  # what waits for nothing needs no clock
                            what = f"{call}: {policy}, {PLACES[place]}"
                            measured[what].append((answers[0][call], answers[1][call]))
    return measured


def prepare(source: Path, folder: Path) -> None:
    """The long studies: each tree has files of its own making, made where there is no disk to wait for if possible."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        with running(source, Path(made)) as tree:
            for policy, place in CASES:
                if place == "long":
                    tree(policy, place, LONG)
        shutil.copytree(made, folder, dirs_exist_ok=True)


def result(what: str, other: str, seconds: Array) -> Result:
    """One line, of (processes, turns, ours and theirs)."""
    ours, theirs = np.median(seconds, axis=(0, 1)).tolist()
    ratios = seconds[..., 0] / seconds[..., 1]
    low, high = interval(ratios)
    ratio = float(np.median(ratios))
    said = f"{duration(theirs)} ({other}), {low:.3f} – {high:.3f}×"
    return Result(what, duration(ours), said, ratio, target=f"≤ {SLOWER}×", met=ratio <= SLOWER)


def interval(ratios: Array, draws: int = 2000) -> tuple[float, float]:
    """Of the median, by a bootstrap over processes (rows)."""
    rows = np.random.default_rng(0).integers(len(ratios), size=(draws, len(ratios)))
    low, high = np.quantile(np.median(ratios[rows].reshape(draws, -1), axis=1), [0.025, 0.975]).tolist()
    return low, high
