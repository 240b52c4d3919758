"""Busy processes on one file: `fairness.py POLICY WORKERS SECONDS`. Prints a JSON of shares and waits.

Each worker asks and tells as fast as it can. Fair is: no call takes much longer than the median call of its kind, and
each worker does about as many steps as any other.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from driftwise import Float, Study


def work(path: Path, policy: str, seconds: float) -> dict[str, list[float]]:
    study = Study.open("s", path=path)
    study.recommend()  # folds what is there: a start that all have
    waits: dict[str, list[float]] = {"ask": [], "tell": []}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        s = study.ask()
        asked = time.monotonic()
        study.tell(s, s.params["x"])
        waits["ask"].append(asked - began)
        waits["tell"].append(time.monotonic() - asked)
    return waits


def main(policy: str, workers: int, seconds: float) -> dict[str, float]:
    reader, writer = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        study = Study("s", {"x": Float(0, 1)}, policy, path=path)
        for _ in range(30):
            study.tell(study.ask(), 0.5)
        study.close()
        for _ in range(workers):
            if os.fork() == 0:
                os.write(writer, (json.dumps(work(path, policy, seconds)) + "\n").encode())
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            reports = [json.loads(line) for line in lines]
        for _ in range(workers):
            os.wait()
    figures: dict[str, float] = {"workers": len(reports)}
    for call in ("ask", "tell"):
        waits = sorted(wait for report in reports for wait in report[call])
        figures |= {f"{call} median": statistics.median(waits), f"{call} longest": waits[-1]}
        figures[f"{call} longest / median"] = waits[-1] / statistics.median(waits)
    steps = [len(report["ask"]) for report in reports]
    mean = statistics.mean(steps)
    return figures | {"steps": sum(steps), "least share": min(steps) / mean, "largest share": max(steps) / mean}


if __name__ == "__main__":
    print(json.dumps({k: round(v, 4) for k, v in main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).items()}))
