"""Clocks, and the record of what was measured."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Result:
    """One line of the table. `met` is None where there is no target to meet, or nothing to compare with."""

    what: str
    ours: str
    theirs: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


class Stopwatch:
    """Collects the seconds of what is called through it.

    By default these are seconds of the processor: on a quiet machine the same as the clock's, on a busy one without the
    waiting for other programs. What waits for a disk is timed by `time.perf_counter`.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.clock = clock
        self.seconds: list[float] = []

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        start = self.clock()
        answer = function(*arguments)
        self.seconds.append(self.clock() - start)
        return answer

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def alternate(contestants: Sequence[Callable[[], Any]], *, rounds: int, warm_up: int = 5) -> list[float]:
    """The median seconds of each, called in turns."""
    watches = [Stopwatch() for _ in contestants]
    for turn in range(warm_up + rounds):
        for watch, contestant in zip(watches, contestants, strict=True):
            watch(contestant)
        if turn + 1 == warm_up:
            watches = [Stopwatch() for _ in contestants]
    return [watch.median for watch in watches]


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def duration(seconds: float) -> str:
    """As a person would say it.

    >>> duration(0.0000712), duration(0.0021), duration(3.2)
    ('71 µs', '2.1 ms', '3.2 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
