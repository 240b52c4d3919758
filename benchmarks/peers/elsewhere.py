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
from driftwise.lab.engine import Answer, Failure, Reply, Work
from driftwise.lab.trials import Timing, Trial

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
        trial = work.waiting.popleft()
        work.out[trial.key] = trial
        reply = Reply((_exchange(process, trial),), 0.0)
        work.finish(reply)
        yield reply


def _exchange(process: subprocess.Popen[str], trial: Trial) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        print(json.dumps(request(trial)), file=process.stdin, flush=True)
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        return Failure(trial.key, f"the process that ran it ended with status {process.wait()}")
    return answered(trial, json.loads(line))


def request(trial: Trial) -> dict[str, Any]:
    """A trial as a line for `worker`."""
    place = {"suite": trial.suite, "case": trial.case.name, "horizon": trial.horizon, "seed": trial.seed}
    return {"peer": trial.contender.label} | place


def answered(trial: Trial, answer: dict[str, Any]) -> Answer:
    """A line of `worker` as an answer."""
    if "problem" in answer:
        return Failure(trial.key, answer["problem"])
    return result_of(answer["result"]), Timing(**answer["timing"])


@dataclass(frozen=True)
class PaidOnce:
    """An engine that takes from a shelf what lies there, and puts there what `engine` had to perform."""

    shelf: Shelf
    engine: Any

    def __call__(self, work: Work) -> Iterator[Reply]:
        missing = []
        for trial in list(work.waiting):
            found = self.shelf.get(trial)
            if found is None:
                missing.append(trial)
            else:
                yield Reply((found,), 0.0)
        rest, trials = Work(missing), {trial.key: trial for trial in missing}
        for reply in self.engine(rest) if missing else ():
            for answer in reply.answers:
                if not isinstance(answer, Failure):
                    self.shelf.put(trials[answer[0].key], *answer)
            yield reply
