"""A bounded, seeded part of the fuzz of the command line, and that it would see what it looks for.

`python -m tests.fuzz commands --tries 300 --seed 1` goes on for longer.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.commands import MARK, Ended, commands, lost, problems

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_command_is_brought_down_by_what_is_typed():
    # in a process of its own, which has no threads and may fork
    line = [sys.executable, "-m", "tests.fuzz", "commands", "--tries", "60", "--seed", "0"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_is_tried():
    found = {" ".join(command.words) for command in commands()}
    assert {"", "compare", "lab report", "study export", "study import", "study changes", "study fork"} <= found


def test_observations_that_are_lost_are_seen():
    before = {"live": [1, 2], "auto": [3]}
    assert lost(["study", "ask", "live"], before, {"live": [1, 2, 9], "auto": [3]}) == []
    assert lost(["study", "ask", "live"], before, {"live": [1], "auto": [3]}) == ["live"]
    assert lost(["study", "delete", "live", "--yes"], before, {"auto": [3]}) == []
    assert lost(["study", "delete", "live", "--yes"], before, {"live": [1, 2]}) == ["auto"]


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (Ended(3, "", False, False), "exit code 3"),
        (Ended(-24, "", False, False), "no progress"),
        (Ended(1, "driftwise: something unexpected happened", False, False), "something unexpected"),
        (Ended(1, "driftwise: Traceback (most recent call last)", False, False), "Traceback"),
        (Ended(0, "RuntimeWarning: overflow", False, False), "RuntimeWarning"),
        (Ended(0, "\x1b[31m", False, False), "as it is"),
        (Ended(0, "\u202e", False, False), "as it is"),
        (Ended(2, "", False, False), "without a word"),
        (Ended(0, "", False, True), "processes behind"),
    ],
)
def test_it_sees_what_it_looks_for(ended, problem):
    assert problem in "; ".join(problems(ended))


def test_a_long_run_that_shows_progress_is_none():
    assert problems(Ended(-24, f"{MARK}γ ━━━ 日本", True, False)) == []
