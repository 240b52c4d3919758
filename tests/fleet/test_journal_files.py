"""What is particular to journals in files: one writer, damage, files that go away, a full disk."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from test_journal import steps, tell

from driftwise import Candidates, Fleet
from driftwise.errors import StoreError
from driftwise.fleet.journal import open_journal


def test_a_second_writer_is_refused(tmp_path):
    journal = open_journal(tmp_path, "a")
    code = f"from driftwise.fleet.journal import open_journal; open_journal({str(tmp_path)!r}, 'a')"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "a journal has one writer" in other.stderr
    with pytest.raises(StoreError, match="a journal has one writer"):
        open_journal(tmp_path, "a")
    open_journal(tmp_path, "b").close()
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="is closed"):
        journal.append(tell(1))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_journal_that_nobody_has_any_more_can_be_opened(tmp_path):
    open_journal(tmp_path, "a").append(tell(0))
    assert steps(open_journal(tmp_path, "a")) == [0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_neither_writes_nor_holds_the_lock(tmp_path):
    journal = open_journal(tmp_path, "a")
    journal.append(tell(0))
    child = os.fork()
    if child == 0:
        try:
            journal.append(tell(1))
            os._exit(1)
        except StoreError:
            journal.close()
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    journal.append(tell(1))
    with pytest.raises(StoreError, match="one writer"):
        open_journal(tmp_path, "a")
    assert steps(journal) == [0, 1]


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("at", [0, 5, 20, 40, -1])
def test_damage_is_an_error_that_names_the_frame(tmp_path, number, at):
    journal = open_journal(tmp_path, "a")
    journal.snapshot({"x": np.arange(3)})
    journal.append(tell(0))
    journal.append(tell(1))
    journal.close()
    file = sqlite3.connect(tmp_path / "a.db")
    [data] = file.execute("SELECT bytes FROM frames WHERE number = ?", (number,)).fetchone()
    changed = bytearray(data)
    changed[at] ^= 1
    file.execute("UPDATE frames SET bytes = ? WHERE number = ?", (bytes(changed), number))
    file.commit()
    file.close()
    journal = open_journal(tmp_path, "a")
    with pytest.raises(StoreError, match=f"frame {number} "):
        (journal.latest(), steps(journal))


@pytest.mark.parametrize("act", ["unlink", "truncate"])
def test_a_fleet_whose_journal_goes_away_acknowledges_nothing_more(tmp_path, act):
    fleet = Fleet("f", Candidates([[0.0], [1.0]]), "sw-gp-ucb", window=4, engine="numpy", path=tmp_path)
    asked = fleet.ask(["a", "b"])
    file = tmp_path / "f-0.db"
    if act == "unlink":
        file.unlink()
        with pytest.raises(StoreError, match="moved, replaced or deleted"):
            fleet.tell(asked, np.array([1.0, 2.0]))
    else:
        fleet.close()
        os.truncate(file, 0)
        with pytest.raises(StoreError, match="no study file"):
            Fleet.open("f", path=tmp_path)


def test_a_disk_that_refuses_to_write(tmp_path):
    """What was acknowledged before is there after, and the journal goes on once there is room."""
    journal, acknowledged = open_journal(tmp_path, "a"), []
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limit[1]))
    try:
        with pytest.raises(StoreError, match="disk"):
            fill(journal, acknowledged)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert acknowledged
    assert len(list(journal.entries())) == len(acknowledged)
    journal.append(tell(7, 1000))
    journal.close()
    assert len(list(open_journal(tmp_path, "a").entries())) == len(acknowledged) + 1


def fill(journal, acknowledged: list[int]) -> None:
    for number in range(1000):
        journal.append(tell(number, 1000))
        acknowledged.append(number)
