"""A durable fleet that is made, taken through 20 steps of every key, killed with −9 and opened again.

`python -m benchmarks fleet-restart` does it with 10,000 and 100,000 keys. The environment variables
DRIFTWISE_BENCH_KEYS and DRIFTWISE_BENCH_STEPS give other numbers. What is measured is the journal: its time, memory and
disk. Therefore the space is small, with 8 candidates and a window of 8, so that the beliefs of a million keys fit into
what the engine holds in memory. Its processes: `python -m benchmarks.fleet_restart work FOLDER KEYS`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fleet_journal import on_disk, small_fleet
from benchmarks.measure import Result, resident

KEYS = [int(n) for n in os.environ.get("DRIFTWISE_BENCH_KEYS", "10000,100000").split(",")]
STEPS, BATCH = int(os.environ.get("DRIFTWISE_BENCH_STEPS", "20")), 8192
SECONDS = 60.0  # in which a shard of a million keys is to be back


def run() -> Iterator[Result]:
    for keys in KEYS:
        with on_disk() as folder:
            worked = part("work", folder, keys)
            disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            opened = part("open", folder, keys)
        assert opened["told"] == keys * STEPS, "every reward that was acknowledged is there"
        rate = keys * STEPS / worked["seconds"]
        yield Result(
            f"{keys:,} keys, {STEPS} durable steps each, batches of {BATCH:,}, {worked['engine']}",
            ours=f"{worked['seconds']:.0f} s, {rate:,.0f} steps/s",
            theirs=f"{worked['megabytes']:,.0f} MB of memory, {disk / 1e6:,.0f} MB of disk",
        )
        yield Result(
            "… opened again after kill −9",
            ours=f"{opened['seconds']:.1f} s, {1e6 * opened['seconds'] / keys:.0f} µs a key",
            theirs=f"{opened['megabytes']:,.0f} MB of memory, first ask of {BATCH:,} keys {opened['ask']:.2f} s",
            target=f"≤ {SECONDS:.0f} s for 1,000,000" if keys >= 10**6 else "",
            met=opened["seconds"] <= SECONDS if keys >= 10**6 else None,
        )


def part(what: str, folder: str, keys: int) -> dict[str, Any]:
    """What a process says, which is killed as soon as it has said it."""
    words = [sys.executable, "-m", "benchmarks.fleet_restart", what, folder, str(keys)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        child.kill()
    return json.loads(line)


def warm() -> None:
    """What a process does once: imports, and Numba's compiling."""
    fleet = small_fleet(None)
    fleet.tell(fleet.ask([0]), [1.0])


def work(folder: str, keys: int) -> dict[str, Any]:
    warm()
    began, fleet = time.perf_counter(), small_fleet(folder)
    for step in range(STEPS):
        for first in range(0, keys, BATCH):
            batch = fleet.ask(range(first, min(first + BATCH, keys)))
            fleet.tell(batch, np.sin(5 * batch.points[:, 0] + step / 10))
    return {"seconds": time.perf_counter() - began, "megabytes": resident(), "engine": fleet.engine}


def open_again(folder: str, keys: int) -> dict[str, Any]:
    warm()
    began = time.perf_counter()
    fleet = small_fleet(folder)
    seconds = time.perf_counter() - began
    megabytes, told = resident(), int(fleet.drift().told.sum())
    began = time.perf_counter()
    fleet.ask(range(min(BATCH, keys)))
    return {"seconds": seconds, "megabytes": megabytes, "told": told, "ask": time.perf_counter() - began}


if __name__ == "__main__":
    said = {"work": work, "open": open_again}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    print(json.dumps(said), flush=True)
    time.sleep(60)  # it is killed now
