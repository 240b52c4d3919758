"""The journal on a server: one writer, lost connections and damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.fleet.journal import open_journal
from fleet.journal_kills import HARMS
from fleet.test_journal import steps, tell

psycopg = pytest.importorskip("psycopg", reason="there is no psycopg: pip install 'driftwise[postgres]'")

from driftwise.log.postgres_address import parsed  # noqa: E402
from driftwise.log.postgres_connect import connect  # noqa: E402

ROOT = Path(__file__).parents[2]


def sql(address: str, query: str) -> list[tuple]:
    with connect(parsed(address)) as raw:
        return raw.execute(query).fetchall()


def cut_off(address: str) -> None:
    """Ends every other session of the server, and waits until they are gone."""
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    sql(address, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")


def test_a_second_writer_is_refused_and_other_journals_are_not(address, monkeypatch):
    monkeypatch.setattr("driftwise.fleet.journal.GRACE", 0.0)
    first, other = open_journal(address, "a"), open_journal(address, "b")
    with pytest.raises(StoreError, match="one writer, and it is open already"):
        open_journal(address, "a")
    first.append(tell(1))
    other.append(tell(2))
    first.snapshot({"x": np.arange(3)})
    assert (steps(first), steps(other)) == ([], [2])
    first.close()
    with pytest.raises(StoreError, match="is closed"):
        first.append(tell(1))
    assert open_journal(address, "a").latest()["x"].tolist() == [0, 1, 2]
    other.close()


def test_a_lost_connection_is_opened_again(address):
    journal = open_journal(address, "a")
    for number in range(3):
        cut_off(address)
        journal.append(tell(number))
        cut_off(address)
        assert steps(journal) == list(range(number + 1))
    cut_off(address)
    journal.snapshot({"x": np.arange(2)})
    cut_off(address)
    assert journal.latest()["x"].tolist() == [0, 1]
    journal.close()


def test_a_commit_that_nobody_heard_of_is_not_doubled(address, monkeypatch):
    journal = open_journal(address, "a")
    journal.append(tell(0))
    commit, left = sa.Connection.commit, [psycopg.OperationalError("gone")]

    def unheard(connection):
        commit(connection)
        if left:
            connection.invalidate()
            raise left.pop()

    monkeypatch.setattr(sa.Connection, "commit", unheard)
    journal.append(tell(1))
    assert not left
    journal.append(tell(2))
    journal.close()
    assert steps(open_journal(address, "a")) == [0, 1, 2]


@pytest.mark.parametrize("act", [lambda j: j.append(tell(8)), lambda j: (j.append(tell(8)), j.snapshot({}))])
def test_a_writer_that_was_cut_off_does_not_write_after_another(address, act):
    journal = open_journal(address, "a")
    journal.append(tell(0))
    cut_off(address)
    other = open_journal(address, "a")
    act(other)
    other.close()
    with pytest.raises(StoreError, match="another process wrote since"):
        journal.append(tell(1))
    with pytest.raises(StoreError, match="is closed"):
        journal.append(tell(1))


@pytest.mark.parametrize("number", [1, 2])
def test_damage_is_an_error(address, number):
    journal = open_journal(address, "a")
    journal.snapshot({"x": np.arange(3)})
    journal.append(tell(0))
    sql(address, f"UPDATE frames SET bytes = set_byte(bytes, 90, 255) WHERE number = {number} RETURNING 1")
    journal.close()
    journal = open_journal(address, "a")
    with pytest.raises(StoreError, match=f"the journal is damaged: frame {number} "):
        steps(journal) if number == 2 else journal.latest()
    journal.close()


def test_a_missing_frame_is_an_error(address):
    journal = open_journal(address, "a")
    for number in range(3):
        journal.append(tell(number))
    sql(address, "DELETE FROM frames WHERE number = 2 RETURNING 1")
    with pytest.raises(StoreError, match="the journal is damaged: frame 2 "):
        steps(journal)
    journal.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_does_not_end_the_session(address):
    journal = open_journal(address, "a")
    child = os.fork()
    if child == 0:
        try:
            journal.append(tell(1))
        except StoreError:
            journal.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    journal.append(tell(0))
    with pytest.raises(StoreError, match="one writer"):
        open_journal(address, "a")
    assert steps(journal) == [0]
    journal.close()


def test_a_large_snapshot_is_in_chunks(address, monkeypatch):
    monkeypatch.setattr("driftwise.fleet.journal.CHUNK", 1000)
    journal = open_journal(address, "a")
    journal.snapshot({"x": np.arange(1000.0), "none": np.zeros(0)})
    assert sql(address, "SELECT count(*) FROM frames")[0][0] >= 9
    assert journal.latest()["x"].tolist() == list(range(1000))
    journal.close()


def test_killing_a_writer_loses_and_doubles_nothing(address):
    words = [sys.executable, "-m", "tests.fleet.journal_kills", "6", "0", address]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["entries"] > 0
    assert {name: figures[name] for name in HARMS} == dict.fromkeys(HARMS, 0)
