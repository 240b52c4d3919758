"""Busy processes on one file: `fairness.py POLICY WORKERS SECONDS`. Prints a JSON of shares and waits.

Each worker asks and tells as fast as it can, from a moment at which all are ready. Fair is: no call takes much longer
than the median call of its kind, and each worker does about as many steps as any other.

A call also waits whenever its process does not get one of the cores, which is the system's doing and not ours. On Linux
that time is known, so that the figures are given twice: by the clock, and "running" without the time in which the
process could have run but did not. While the holder of the lock is the one that waits for a core, all the others wait
for it; that time cannot be told apart.
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

Waits = dict[str, list[tuple[float, float]]]  # of each kind of call: seconds, and those of them without a core


def now() -> tuple[float, float]:
    """The time, and how much of it this process has waited for a core."""
    waited = int(SCHEDULED.read_text().split()[1]) / 1e9 if SCHEDULED.exists() else 0.0
    return time.monotonic(), waited


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
            waits[call].append((b[0] - a[0], b[1] - a[1]))
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
        waits = [(seconds, idle) for report in reports for seconds, idle in report[call]]
        longest, without_core = max(waits)
        figures |= _spread(call, [seconds for seconds, _ in waits])
        figures |= {f"{call} longest, without a core": without_core / longest}
        figures |= _spread(f"{call} running", [seconds - idle for seconds, idle in waits])
    steps = [len(report["step"]) for report in reports]
    mean = statistics.mean(steps)
    return figures | {"steps": sum(steps), "least share": min(steps) / mean, "largest share": max(steps) / mean}


def _spread(what: str, waits: list[float]) -> dict[str, float]:
    median, longest = statistics.median(waits), max(waits)
    return {f"{what} median": median, f"{what} longest": longest, f"{what} longest / median": longest / median}


if __name__ == "__main__":
    print(json.dumps({k: round(v, 4) for k, v in main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).items()}))
