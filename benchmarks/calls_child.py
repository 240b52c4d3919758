"""One source tree's part of `benchmarks.calls`: reads a case from each line, answers with the seconds of its calls.

Run in a process of its own with that tree on PYTHONPATH; it imports nothing of ours but driftwise, whichever that is.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import driftwise as dw

Seconds = dict[str, float]
POLICIES: dict[str, dict[str, Any]] = {
    "sw-gp-ucb": {"space": dw.Candidates([[i / 24] for i in range(25)], names=("x",)), "window": 100},
    "auto": {"space": {"x": dw.Float(0, 1)}},
}
WARM_UP, STEPS = 120, 15


class Laps:
    """The median seconds of each kind of call, by the clock and of the processor."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def __call__(self, kind: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        clock, processor = time.perf_counter(), time.process_time()
        answer = function(*arguments, **options)
        self.seconds[f"{kind}, CPU"].append(time.process_time() - processor)
        self.seconds[kind].append(time.perf_counter() - clock)
        return answer

    @property
    def medians(self) -> Seconds:
        return {kind: statistics.median(seconds) for kind, seconds in self.seconds.items()}


def study(policy: str, path: Path | None) -> dw.Study:
    return dw.Study("calls", policy=policy, path=path, **POLICIES[policy])


def steps(policy: str, path: Path | None) -> Iterator[Seconds]:
    """Some steps at a time of a study whose window is full."""
    path and path.unlink(missing_ok=True)
    live = study(policy, path)
    while True:
        laps = Laps()
        for _ in range(STEPS):
            asked = laps("ask", live.ask)
            laps("tell", live.tell, asked, reward(asked.number))
        if asked.number > WARM_UP:
            yield laps.medians


def fill(policy: str, path: Path, n: int) -> None:
    """A study of n observations."""
    long = study(policy, path)
    for number in range(1, n + 1):
        long.observe({"x": 7 * number % 25 / 24}, reward(number))
    long.close()


def openings(policy: str, kept: Path) -> Iterator[Seconds]:
    """A long study, opened, and its first question: of a copy, so that it always is the first."""
    copy = kept.with_suffix(".copy")
    while True:
        laps = Laps()
        shutil.copy(kept, copy)
        opened = laps("open", dw.Study.open, "calls", path=copy)
        laps("first ask", opened.ask)
        opened.close()
        copy.unlink()
        yield laps.medians


def reward(number: int) -> float:
    return math.sin(0.1 * number) + 0.1 * math.cos(number)


@cache
def case(policy: str, place: str, folder: Path) -> Iterator[Seconds]:
    if place == "long":
        return openings(policy, folder / f"{policy}.long")
    return steps(policy, folder / f"{policy}.db" if place == "file" else None)


def main(folder: Path) -> None:
    print(json.dumps(dw.__file__), flush=True)
    for line in sys.stdin:
        policy, place, n = json.loads(line)
        if n:
            fill(policy, folder / f"{policy}.long", n)
        print(json.dumps(None if n else next(case(policy, place, folder))), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
