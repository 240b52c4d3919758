"""Busy processes on one file: `fairness.py POLICY WORKERS SECONDS`. Prints a JSON of shares and waits.

Each worker asks and tells as fast as it can, from a moment at which all are ready. Fair is: no call takes much longer
than the median call of its kind, and each worker does about as many steps as any other.

A call waits for its turn and for the disk in its commit, and whenever its process does not get one of the cores: for
the longest call of each kind the share of its time is given that it waited for a core. With TMPDIR=/dev/shm there is no
disk to wait for.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from driftwise import Float, Study

SCHEDULED = Path("/proc/thread-self/schedstat")  # nanoseconds on a core and waiting for one, and turns
CALLS = ("ask", "tell", "step")

PARTS = ("without a core",)

Waits = dict[str, list[list[float]]]  # of each kind of call: seconds, and those of them in each part


def now() -> tuple[float, ...]:
    """The time, and how much of it was spent in each part so far."""
    no_core = int(SCHEDULED.read_text().split()[1]) / 1e9 if SCHEDULED.exists() else 0.0
    return time.monotonic(), no_core


def work(path: Path, seconds: float, wait_for_all: Callable[[], object]) -> Waits:
    study = Study.open("s", path=path)
    study.recommend()  # folds what is there: a start that all have
    waits: Waits = {call: [] for call in CALLS}
    wait_for_all()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = now()
        s = study.ask()
        asked = now()
        study.tell(s, s.params["x"])
        told = now()
        for call, (a, b) in zip(CALLS, ((began, asked), (asked, told), (began, told)), strict=True):
            waits[call].append([later - before for before, later in zip(a, b, strict=True)])
    return waits


def forked(workers: int, path: Path, seconds: float) -> list[Waits]:
    """What each of the workers measured."""
    (readies, ready), (starts, start) = os.pipe(), os.pipe()
    for worker in range(workers):
        if os.fork() == 0:
            os.close(start)
            waits = work(
                path, seconds, lambda: os.write(ready, b".") and os.read(starts, 1)
            )  # until all have closed it
            path.with_name(f"{worker}.json").write_text(json.dumps(waits))
            os._exit(0)
    for _ in range(workers):
        os.read(readies, 1)
    os.close(start)
    for _ in range(workers):
        os.wait()
    return [json.loads(path.with_name(f"{worker}.json").read_text()) for worker in range(workers)]


def main(policy: str, workers: int, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        study = Study("s", {"x": Float(0, 1)}, policy, path=path)
        for _ in range(30):
            study.tell(study.ask(), 0.5)
        study.close()
        reports = forked(workers, path, seconds)
    figures: dict[str, float] = {"workers": len(reports)}
    for call in CALLS:
        waits = [wait for report in reports for wait in report[call]]
        median, (longest, *parts) = statistics.median(wait[0] for wait in waits), max(waits)
        figures |= {f"{call} median": median, f"{call} longest": longest, f"{call} longest / median": longest / median}
        figures |= {f"{call} longest, {part}": spent / longest for part, spent in zip(PARTS, parts, strict=True)}
    steps = [len(report["step"]) for report in reports]
    mean = statistics.mean(steps)
    return figures | {"steps": sum(steps), "least share": min(steps) / mean, "largest share": max(steps) / mean}


if __name__ == "__main__":
    print(json.dumps({k: round(v, 4) for k, v in main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).items()}))
