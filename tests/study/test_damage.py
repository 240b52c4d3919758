"""A damaged file is never believed: each answer is right or an error, `study check` says what is wrong, and saves."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import damage
import pytest

from driftwise import Candidates, Study
from driftwise.errors import StoreError
from driftwise.store import open_store, verify

GRID = Candidates([[i / 10] for i in range(11)], names=["x"])


@pytest.mark.slow
def test_flipped_bytes_and_changed_rows():
    script = str(Path(__file__).parent / "damage.py")
    done = subprocess.run([sys.executable, script, "15", "15", "1"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["noticed"] > 7  # the damage was real
    assert {name: figures[name] for name in damage.HARMS} == dict.fromkeys(damage.HARMS, 0), done.stderr


def test_a_whole_file_is_whole_and_its_copy_is_the_same(tmp_path):
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    damage.make(path)
    assert verify.check(path) == []
    saved = verify.salvage(path, copy)
    assert [(s.lost, s.uncorrected) for s in saved] == [(0, 0)] * 3
    assert verify.check(copy) == []
    for name in ("a", "b"):
        one, two = Study.open(name, path=path), Study.open(name, path=copy)
        assert list(one.observations()) == list(two.observations())
        assert one.pending() == two.pending()
        assert one.describe().counts == two.describe().counts
        assert one.ask(key="k").x == two.ask(key="k").x
        assert two.ask(key="key 31") == one.ask(key="key 31")
        assert two._log.corrections() == one._log.corrections() != []
    one, two = (open_store(each).open("failing") for each in (path, copy))
    assert list(one.observations()) == list(two.observations())
    assert two.ask_many("batch", damage.three, 32, 3) == one.ask_many("batch", damage.three, 32, 3)


def test_what_is_whole_is_saved(tmp_path):
    path = tmp_path / "a.db"
    damage.make(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE observations SET y = 99 WHERE study = 1 AND number = 20")
    connection.execute("DELETE FROM suggestions WHERE study = 1 AND number = 30")
    connection.execute("DELETE FROM observations WHERE study = 1 AND number = 30")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    problems = [finding.problem for finding in verify.check(path) if finding.study == "a"]
    assert any("observation 20" in problem for problem in problems)
    assert any("missing: 30" in problem for problem in problems)
    saved = {s.study: s for s in verify.salvage(path, tmp_path / "saved.db")}
    assert path.read_bytes() == before
    assert (saved["a"].lost, saved["b"].lost) == (1, 0)
    assert verify.check(tmp_path / "saved.db") == []
    study = Study.open("a", path=tmp_path / "saved.db")
    numbers = [seen.number for seen in study.observations()]
    assert 20 not in numbers
    assert 30 not in numbers
    assert study.tell(study.ask(), 1.0).new


def test_a_correction_that_is_lost_is_never_passed_over(tmp_path):
    """Without its correction an observation is whole by itself, but no longer what holds."""
    path = tmp_path / "a.db"
    damage.make(path)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM corrections WHERE study = 1 AND ordinal = 2")
    connection.commit()
    connection.close()
    study = Study.open("a", path=path)
    for call in (study.recommend, study.ask, lambda: list(study.observations()), study._log.corrections):
        with pytest.raises(StoreError, match="some of its corrections are missing"):
            call()
    problems = {finding.problem for finding in verify.check(path)}
    assert {"the order of its corrections has gaps", "the checksum over all its corrections does not match"} <= problems
    saved = {s.study: s for s in verify.salvage(path, tmp_path / "saved.db")}
    assert (saved["a"].uncorrected, saved["b"].uncorrected) == (1, 0)
    assert verify.check(tmp_path / "saved.db") == []


def test_salvage_never_writes_over_a_file(tmp_path):
    damage.make(tmp_path / "a.db")
    with pytest.raises(StoreError, match="exists already"):
        verify.salvage(tmp_path / "a.db", tmp_path / "a.db")


# --- files that are replaced or lose their parts while a study is open ------------------------------------------------


@pytest.fixture
def study(tmp_path):
    made = Study("s", GRID, "sw-gp-ucb", path=tmp_path / "a.db", window=5)
    for i in range(10):
        made.tell(made.ask(), float(i))
    return made


def test_a_restored_backup_is_noticed(study, tmp_path):
    study.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "backup.db")
    for i in range(5):
        study.tell(study.ask(), float(i))
    study.recommend()
    study.close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "a.db")
    for _ in range(2):
        with pytest.raises(StoreError, match="Was a backup restored"):
            study.recommend()
        with pytest.raises(StoreError, match="Was a backup restored"):
            study.ask()
    again = Study.open("s", path=tmp_path / "a.db")
    assert again.describe().counts.told == 10
    assert again.recommend() == Study.open("s", path=tmp_path / "backup.db").recommend()


def test_another_history_of_the_same_length_is_noticed(study, tmp_path):
    study.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "other.db")
    other = Study.open("s", path=tmp_path / "other.db")
    study.tell(study.ask(), 1.0)
    other.tell(other.ask(), 2.0)
    study.recommend()
    study.close(), other.close()
    shutil.copy(tmp_path / "other.db", tmp_path / "a.db")
    with pytest.raises(StoreError, match="Was a backup restored"):
        study.recommend()


@pytest.mark.parametrize("part", ["-wal", "-shm"])
@pytest.mark.parametrize("call", ["tell", "ask", "recommend"])
def test_a_log_that_is_deleted_while_the_study_is_open(study, tmp_path, part, call):
    s = study.ask()
    os.unlink(tmp_path / f"a.db{part}")
    with pytest.raises(StoreError, match=f"a.db{part}: it was moved, replaced or deleted"):
        {"tell": lambda: study.tell(s, 1.0), "ask": study.ask, "recommend": study.recommend}[call]()
    # nobody else had it open, so that closing saved what was acknowledged
    counts = study.describe().counts
    assert (counts.asked, counts.told) == (11, 10)
    assert study.tell(s, 1.0).new


def test_a_file_that_is_replaced_while_the_study_is_open(study, tmp_path):
    study.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    study.ask()
    os.replace(tmp_path / "b.db", tmp_path / "a.db")
    with pytest.raises(StoreError, match="moved, replaced or deleted"):
        study.ask()


def test_random_bytes_are_never_taken_for_a_study(tmp_path):
    draw = random.Random(0)
    path = tmp_path / "a.db"
    damage.make(path)
    content = path.read_bytes()
    for _ in range(10):
        start = draw.randrange(100, len(content) - 5000)
        noise = bytes(draw.randrange(256) for _ in range(4096))
        path.write_bytes(content[:start] + noise + content[start + 4096 :])
        try:
            found = verify.check(path)
        except StoreError:
            continue
        assert found
