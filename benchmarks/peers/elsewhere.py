"""An engine of the lab that performs trials in a process of the peers' environment, and one that pays only once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.shelf import Shelf, result_of
from driftwise.errors import InvalidInput
from driftwise.lab.engine import Answer, Done, Failure, Reply, Work
from driftwise.lab.trials import Timing, Trial, TrialOutcome

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Elsewhere:
    """One process, one trial at a time. A process that dies is a failed trial; the next one gets a new process."""

    python: Path = PYTHON

    def __call__(self, work: Work) -> Iterator[Reply]:
        if not self.python.exists():
            raise InvalidInput(f"the peers are not installed: there is no {self.python}; run: make .venv-peers/ready")
        while work.waiting:
            with self._start() as process:
                try:
                    yield from _served(process, work)
                finally:
                    process.kill()

    def _start(self) -> subprocess.Popen[str]:
        command = [str(self.python), "-m", "benchmarks.peers.worker"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | ONE_THREAD, stdin=pipe, stdout=pipe, text=True)


def _served(process: subprocess.Popen[str], work: Work) -> Iterator[Reply]:
    """What one process does of the work: all, unless it dies."""
    while work.waiting and process.poll() is None:
        reply = Reply((_exchange(process, *work.take()),), 0.0)
        work.finish(reply)
        yield reply


def _exchange(process: subprocess.Popen[str], number: int, trial: Trial) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        print(json.dumps(request(trial)), file=process.stdin, flush=True)
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        return Failure(number, f"the process that ran it ended with status {process.wait()}")
    return answered(number, trial, json.loads(line))


def request(trial: Trial) -> dict[str, Any]:
    """A trial as a line for `worker`."""
    place = {"suite": trial.suite, "case": trial.case.name, "horizon": trial.horizon, "seed": trial.seed}
    return {"peer": trial.contender.label} | place


def answered(number: int, trial: Trial, answer: dict[str, Any]) -> Answer:
    """A line of `worker` as an answer; its key is that of this environment."""
    if "problem" in answer:
        return Failure(number, answer["problem"])
    timing = Timing(**answer["timing"] | {"key": trial.key})
    return Done(number, TrialOutcome(result_of(answer["result"] | {"key": trial.key}), timing), timing.wall)


@dataclass(frozen=True)
class PaidOnce:
    """An engine that takes from a shelf what lies there, and puts there what `engine` had to perform."""

    shelf: Shelf
    engine: Any

    def __call__(self, work: Work) -> Iterator[Reply]:
        trials = dict(work.waiting)
        for number, trial in trials.items():
            found = self.shelf.get(trial)
            if found is not None:
                work.waiting.remove((number, trial))
                yield Reply((Done(number, found, found.timing.wall),), 0.0)
        for reply in self.engine(work) if work.waiting else ():
            for answer in reply.answers:
                if isinstance(answer, Done):
                    self.shelf.put(trials[answer.number], answer.value.result, answer.value.timing)
            yield reply
