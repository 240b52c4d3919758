"""Programs that the tests tune, and how `driftwise tune` is started as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

DRIFTWISE = [sys.executable, "-c", "from driftwise.cli import main; main()"]
FAST = ["--policy", "sw-gp-ucb:window=10"]


def script(folder: Path, body: str, name: str = "measure.py") -> str:
    """A program in Python, as the words of a command."""
    path = folder / name
    path.write_text("import json, os, signal, subprocess, sys, time\n" + body, encoding="utf-8")
    return f"{sys.executable} -S {path}"


def started(folder: Path, *words: str, **options) -> subprocess.Popen:
    """`driftwise …` in a folder."""
    environment = {**os.environ, "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*DRIFTWISE, *words], cwd=folder, env=environment, **pipes, **options)


def until(true, seconds: float = 60.0) -> None:
    """Waits for something that must become true; a limit only so that a failure ends."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        return _stat(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """The state, the parent and more."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def lines(path: Path) -> list:
    """The whole lines of a journal that programs write to."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
