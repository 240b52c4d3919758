"""Many processes on one study: `processes.py FILE WORKERS ASKS`; prints what each worker saw, a JSON line each.

Each worker asks under its own keys; 5% of its asks and tells are sent twice and 5% of its rewards are held back
until after the next ones.
"""

from __future__ import annotations

import json
import os
import random
import sys

from driftwise import RBF, Candidates, Study

SPACE = Candidates([[i / 20] for i in range(21)], names=["x"])


def work(path: str, worker: int, asks: int) -> list:
    draw = random.Random(worker)
    study = Study("s", SPACE, policy="sw-gp-ucb", path=path, window=20, kernel=RBF(0.2))
    seen, held = [], []
    for i in range(asks):
        key = f"w{worker}-{i}"
        s = study.ask(key=key)
        if draw.random() < 0.05:
            assert study.ask(key=key) == s
        held.append(s)
        if draw.random() < 0.05 and i + 1 < asks:
            continue  # this one's reward comes after the next one's
        for told in reversed(held):
            value = told.number / 8
            assert study.tell(told, value).new
            if draw.random() < 0.05:
                assert not study.tell(told, value).new
            seen.append([told.key, told.number, told.id])
        held.clear()
    return seen


def main(path: str, workers: int, asks: int) -> None:
    for worker in range(workers):
        if os.fork() == 0:
            try:
                report = {"seen": work(path, worker, asks)}
            except BaseException as error:
                report = {"error": repr(error)}
            os.write(1, (json.dumps(report) + "\n").encode())
            os._exit(0)
    for _ in range(workers):
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
