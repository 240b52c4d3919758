"""Kill −9 of a fleet, 10 times. `python -m tests.fleet.kills 300 0` does it for long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("space", ["candidates", "box"])
def test_killing_a_fleet_loses_doubles_and_changes_nothing(space, monkeypatch):
    monkeypatch.setenv("DRIFTWISE_KILLS_SPACE", space)
    words = [sys.executable, "-m", "tests.fleet.kills", "10", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["kills"], figures["told"] > 25) == (10, True)
    harms = ("lost", "doubled", "changed answers", "changed advice", "changed questions", "errors")
    assert {name: figures[name] for name in harms} == dict.fromkeys(harms, 0)
