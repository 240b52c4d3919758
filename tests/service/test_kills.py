"""Kill −9 of clients and of the service, a few times. `python -m tests.service.kills 300 0` does it for long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_killing_clients_and_the_service_loses_and_doubles_nothing():
    pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")
    words = [sys.executable, "-m", "tests.service.kills", "6", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["client"], figures["service"]) == (3, 3)
    assert figures["acknowledged"] > 12
    assert {
        name: figures[name] for name in ("lost", "doubled", "gaps", "changed questions", "errors")
    } == dict.fromkeys(("lost", "doubled", "gaps", "changed questions", "errors"), 0)
