"""Kill −9 of a writer, a few times. `python -m tests.fleet.journal_kills 100 0` does it for long."""

import json
import subprocess
import sys
from pathlib import Path

from fleet.journal_kills import HARMS

ROOT = Path(__file__).parents[2]


def test_killing_a_writer_loses_and_doubles_nothing():
    words = [sys.executable, "-m", "tests.fleet.journal_kills", "5", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["entries"] > 0
    assert {name: figures[name] for name in HARMS} == dict.fromkeys(HARMS, 0)
