"""What the peers did, kept in the repository, so that it is paid for once.

results/results.jsonl   one line a trial: its figures, its world's fingerprint, and R(t) at 50 steps at most
results/timings.jsonl   what it cost, on the machine that ran it
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.cases import fingerprint
from driftwise.lab.results import line
from driftwise.lab.trials import Result, Timing, Trial, TrialOutcome, checkpoints
from driftwise.records import Array

SHELF = Path(__file__).parent / "results"
POINTS = 50  # of a curve that is kept


class Shelf:
    """Read when it is made; every `put` is one line appended to each file. A torn last line is passed over."""

    def __init__(self, path: Path = SHELF) -> None:
        self.path = path
        self.results = {(r["key"], r["world"]): r for r in _lines(path / "results.jsonl")}
        self.timings = {(t["key"], t["world"]): t for t in _lines(path / "timings.jsonl")}

    def get(self, trial: Trial) -> TrialOutcome | None:
        """What was kept of this trial on this very world; a world that was defined anew has nothing yet."""
        if not any(name == trial.name for name, _ in self.results):
            return None
        at = trial.name, self._world(trial)
        if at not in self.results or at not in self.timings:
            return None
        result, timing = unpacked(self.results[at]), timing_of(self.timings[at])
        return TrialOutcome(replace(result, key=trial.key), replace(timing, key=trial.key))

    def put(self, trial: Trial, result: Result, timing: Timing) -> None:
        """Keeps it."""
        world = self._world(trial)
        at = trial.name, world  # of the peers the code is that of their packages, not ours
        self.timings[at] = {"key": trial.name, "world": world} | without(rounded(asdict(timing)), "key")
        self.results[at] = packed(replace(result, key=trial.name), world)
        self.path.mkdir(parents=True, exist_ok=True)
        for name, record in (("timings.jsonl", self.timings[at]), ("results.jsonl", self.results[at])):
            with (self.path / name).open("ab") as file:
                if file.tell() and not (self.path / name).read_bytes().endswith(b"\n"):
                    file.write(b"\n")  # behind what a kill tore off
                file.write(line(record))

    def _world(self, trial: Trial) -> str:
        return fingerprint(trial.case.environment(trial.seed), trial.horizon)


def packed(result: Result, world: str) -> dict[str, Any]:
    """A result as it is kept: R(t) at ⌈iT/50⌉, i = 1 … 50."""
    full = [0.0, *result.curve]
    steps = [0, *checkpoints(result.horizon)]
    kept = np.interp(kept_steps(result.horizon), steps, full)
    curve = [float(f"{value:.4e}") for value in kept]
    return {"key": result.key, "world": world} | asdict(replace(result, curve=tuple(curve)))


def unpacked(record: dict[str, Any]) -> Result:
    """A result as the lab has it: exact at the steps that were kept, in a straight line between them."""
    horizon = record["horizon"]
    curve = np.interp(checkpoints(horizon), [0, *kept_steps(horizon)], [0.0, *record["curve"]])
    return replace(result_of(without(record, "world")), curve=tuple(float(f"{value:.6e}") for value in curve))


def result_of(record: dict[str, Any]) -> Result:
    """A result from JSON, which knows no tuples."""
    exact: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
    return Result(**exact)


def timing_of(record: dict[str, Any]) -> Timing:
    """A timing from JSON."""
    return Timing(**without(record, "world"))


def kept_steps(horizon: int) -> Array:
    """The steps at which a curve is kept."""
    points = min(POINTS, horizon)
    return np.array([-(-i * horizon // points) for i in range(1, points + 1)])


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def rounded(record: dict[str, Any]) -> dict[str, Any]:
    """Seconds to four digits: more is noise."""
    return {key: float(f"{value:.3e}") if isinstance(value, float) else value for key, value in record.items()}


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    found = []
    for written in path.read_bytes().splitlines():
        try:
            found.append(json.loads(written))
        except ValueError:
            continue  # torn
    return found
