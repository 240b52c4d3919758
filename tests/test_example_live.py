"""The live example, in short: a real server, a real Prometheus, flags in between, and nothing left afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "examples" / "live" / "run.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no prometheus on this machine"),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are counted in /proc"),
]


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files. Its path is short, and nobody else uses it."""
    pytest.importorskip("openfeature", reason="driftwise[openfeature] is not installed")
    pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def using(folder: Path) -> list[int]:
    """The processes whose command line or environment names a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            said = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in said and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def test_rewards_arrive_through_flags_and_prometheus_and_nothing_is_left(temporary, tmp_path):
    words = ["--seconds", "12", "--controls", "1", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, RUN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "dashboard: http://127.0.0.1:" in done.stdout
    found = json.loads((tmp_path / "live.json").read_text())
    told = [one for one in found["told"] if not one["failed"]]
    assert told[0]["params"] == {"level": 6, "slots": 16}  # the study begins with what the defaults cost
    assert told[1:]
    shown = {name: {value for _, value in points} for name, points in found["knobs"].items()}
    for one in told[1:]:  # the server took these settings, and Prometheus saw what they cost
        assert all(one["params"][name] in values for name, values in shown.items())
        assert one["cost"] > 0
    assert (tmp_path / "live.png").read_bytes().startswith(b"\x89PNG")
    assert list(temporary.iterdir()) == []
    assert using(temporary) == []


def test_an_interrupt_stops_everything(temporary, tmp_path):
    with subprocess.Popen([sys.executable, RUN, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert "dashboard" in process.stdout.readline()
        assert len(using(temporary)) >= 7  # itself, three servers, their load, Prometheus and driftwise
        process.send_signal(signal.SIGTERM)  # handled as Ctrl-C is
        process.stdout.read()
    assert process.returncode == 1
    assert list(temporary.iterdir()) == []
    assert using(temporary) == []
    assert not list(tmp_path.iterdir())
