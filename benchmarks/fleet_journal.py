"""Durable records a second, in batches of 1,024, beside the floor: a bare write and sync of the same bytes.

Both are called in turns. The clock is the wall's, since the time goes into waiting for the disk. With the environment
variable DRIFTWISE_BENCH_STORE, for example postgresql://…, there is a line for that store, too.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Result, Stopwatch, duration
from driftwise import RBF, Candidates, Fleet
from driftwise.fleet.frames import JournalEntry, packed
from driftwise.fleet.journal import Journal, open_journal

BATCH, ROUNDS = 1024, 400
KEYS, WINDOW = 10_000, 64  # of the snapshot
WARM, STEPS = 20, 100  # of the fleet
TARGET = 100_000


def run() -> Iterator[Result]:
    with on_disk() as folder:
        journal = open_journal(folder, "bench")
        with Path(folder, "floor").open("wb", buffering=0) as file:
            ours, floor, coding = in_turns([lambda: journal.append(batch()), bare(file.fileno()), coded])
        yield line("files", ours, f"floor {BATCH / floor:,.0f}/s", floor)
        yield Result("… of which making the frame", ours=duration(coding))
        yield from recovery(journal, folder)
        yield tells(folder)
    if store := os.environ.get("DRIFTWISE_BENCH_STORE"):
        there = open_journal(store, "bench")
        yield line("PostgreSQL", in_turns([lambda: there.append(batch())])[0])
        there.snapshot({})
        there.close()


def on_disk() -> tempfile.TemporaryDirectory[str]:
    """A folder on the disk of this one: the system's own for temporary files may be in memory."""
    Path("build").mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir="build")


def batch() -> JournalEntry:
    row = np.arange(BATCH)
    return JournalEntry("tell", {"row": row, "number": row, "reward": row / 7})


def coded() -> bytes:
    return packed(1, [batch()])


def bare(file: int) -> Callable[[], None]:
    """What any durable log must do: one write and one sync."""
    data = coded()

    def write() -> None:
        os.write(file, data)
        getattr(os, "fdatasync", os.fsync)(file)

    return write


def in_turns(calls: list[Callable[[], object]]) -> list[float]:
    """The mean seconds of each: a sync that waits for others counts in full."""
    watches = [Stopwatch(time.perf_counter) for _ in calls]
    for _ in range(ROUNDS):
        for watch, call in zip(watches, calls, strict=True):
            watch(call)
    return [sum(watch.seconds) / ROUNDS for watch in watches]


def line(kind: str, seconds: float, theirs: str = "", floor: float | None = None) -> Result:
    rate = BATCH / seconds
    what = f"durable records of 24 bytes, batches of {BATCH:,}, {kind}"
    ratio = None if floor is None else floor / seconds
    return Result(what, f"{rate:,.0f}/s", theirs, ratio, f"≥ {TARGET:,}/s", rate >= TARGET)


def recovery(journal: Journal, folder: str) -> Iterator[Result]:
    """Reading back what was appended, and a snapshot as large as that of 10,000 keys."""
    journal.close()
    watch = Stopwatch(time.perf_counter)
    journal = watch(open_journal, folder, "bench")
    found = watch(lambda: sum(len(entry.arrays["row"]) for entry in journal.entries()))
    assert found == BATCH * ROUNDS
    yield Result(f"{found:,} records read back", ours=f"{found / sum(watch.seconds):,.0f}/s")
    state = {"row": np.zeros((KEYS, WINDOW), np.int32), "reward": np.zeros((KEYS, WINDOW))}
    size, watch = sum(array.nbytes for array in state.values()) / 1e6, Stopwatch(time.perf_counter)
    watch(journal.snapshot, state)
    watch(journal.latest)
    written, read = watch.seconds
    yield Result(
        f"a snapshot of {size:.1f} MB", ours=f"written {size / written:,.0f} MB/s, read {size / read:,.0f} MB/s"
    )
    journal.close()


def tells(folder: str) -> Result:
    """The tells of a whole fleet, of which the journal is a part. The asks between them are not counted."""
    fleet, watch = small_fleet(folder), Stopwatch(time.perf_counter)
    for step in range(WARM + STEPS):
        asked = fleet.ask(range(BATCH))
        watch(fleet.tell, asked, np.sin(5 * asked.points[:, 0] + step / 10))
    fleet.close()
    rate = BATCH * STEPS / sum(watch.seconds[WARM:])
    what = f"durable tells of a fleet with {len(asked.space)} candidates, batches of {BATCH:,}, {fleet.engine}"
    return Result(what, f"{rate:,.0f}/s", target=f"≥ {TARGET:,}/s", met=rate >= TARGET)


def small_fleet(folder: str | None) -> Fleet:
    """Whose beliefs cost little, so that the journal shows: a million of them fit into an engine's memory."""
    space = Candidates([[i / 7] for i in range(8)], names=["x"])
    return Fleet("bench", space, "sw-gp-ucb", path=folder, window=8, kernel=RBF(0.2))
