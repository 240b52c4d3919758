"""Nothing acknowledged is lost: kills, the order of sync and acknowledgement, and sixteen processes on one file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftwise import Study

HERE = Path(__file__).parent
FORKLESS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def script(name: str, *arguments: object, before: tuple[str, ...] = ()) -> str:
    command = [*before, sys.executable, str(HERE / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@FORKLESS
@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    """As many as the contract promises. `tests/study/kills.py FOLDER 1000 1` does it for longer."""
    figures = json.loads(script("kills.py", tmp_path, 200, 0))
    print(figures)
    assert figures["kills"] == 200
    assert figures["acknowledged"] > 200  # it was busy
    assert figures["interrupts"] > 50
    assert figures["stored, not acknowledged"] > 0  # and some kills did fall between a commit and its acknowledgement
    for harm in ("lost", "doubled", "halves", "gaps", "too many", "changed questions"):
        assert figures[harm] == 0, harm


@FORKLESS
@pytest.mark.slow
def test_sixteen_processes_on_one_file(tmp_path):
    workers, asks = 16, 15
    path = tmp_path / "a.db"
    reports = [json.loads(line) for line in script("processes.py", path, workers, asks).splitlines()]
    assert [report["error"] for report in reports if "error" in report] == []  # "database is locked" would be here
    seen = [entry for report in reports for entry in report["seen"]]
    assert len(reports) == workers
    assert sorted(key for key, _, _ in seen) == sorted(f"w{w}-{i}" for w in range(workers) for i in range(asks))
    assert sorted(number for _, number, _ in seen) == list(range(1, workers * asks + 1))
    study = Study.open("s", path=path)
    assert [(o.number, o.y) for o in study.observations()] == [(n, n / 8) for n in range(1, workers * asks + 1)]
    counts = study.describe().counts
    assert (counts.asked, counts.told, counts.unanswered) == (workers * asks, workers * asks, 0)
    for key, number, id in seen[::20]:
        again = study.ask(key=key)
        assert (again.number, again.id) == (number, id)


# --- the system-call trace --------------------------------------------------------------------------------------------


def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


def unsynced(trace: str, path: Path) -> tuple[int, list[str]]:
    """How many acknowledgements there are, and those that went out while something written was not yet synced.

    Written are frames of the write-ahead log, and the file itself until it has its name. An acknowledgement before
    which nothing was written at all would be one of nothing, and counts as unsynced too.
    """
    acknowledged, bad, wrote, dirty = 0, [], False, set()
    for line in trace.splitlines():
        call = re.match(r"(?:\d+ +)?(\w+)\((\d+)<([^>]*)>(.*)", line)
        if not call:
            continue
        name, fd, file, rest = call.groups()
        if fd == "1" and '"ack ' in rest:
            acknowledged += 1
            if dirty or not wrote:
                bad.append(rest)
            wrote = False
        elif name in ("pwrite64", "write") and file.endswith(("-wal", ".new")):
            wrote = True
            dirty.add(file)
        elif name in ("fsync", "fdatasync") and rest.rstrip().endswith("= 0"):
            dirty.discard(file)
    return acknowledged, bad


@pytest.mark.slow
@pytest.mark.skipif(not can_trace(), reason="strace is not installed, or tracing is not permitted here")
def test_every_acknowledgement_follows_the_sync_of_its_frame(tmp_path):
    results = {}
    for synchronous in ("FULL", "OFF"):
        trace, path = tmp_path / f"{synchronous}.trace", tmp_path / f"{synchronous}.db"
        watch = ("strace", "-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o", str(trace))
        out = script("traced.py", path, synchronous, before=watch)
        results[synchronous] = unsynced(trace.read_text(), path)
        assert results[synchronous][0] == out.count("ack ") == 49
    assert results["FULL"][1] == []
    assert len(results["OFF"][1]) >= 48  # the control: without syncs this very check must fail
