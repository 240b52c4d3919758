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
from driftwise.log import verify

GRID = Candidates([[i / 10] for i in range(11)], names=["x"])


@pytest.mark.slow
def test_changed_bodies_and_flipped_bytes():
    script = str(Path(__file__).parent / "damage.py")
    done = subprocess.run([sys.executable, script, "40", "15", "1"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {name: figures[name] for name in damage.HARMS} == dict.fromkeys(damage.HARMS, 0), done.stderr


def test_a_whole_file_is_whole(tmp_path):
    damage.make(tmp_path / "a.db")
    assert verify.check(tmp_path / "a.db") == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM entries WHERE study = 1 AND seq = 20", "entry 20 is missing"),
        ("DELETE FROM entries WHERE study = 1 AND seq = (SELECT max(seq) FROM entries WHERE study = 1)", "is not the"),
        ("UPDATE studies SET description = replace(description, '12', '13') WHERE study = 1", "entry 1 does not"),
        ("UPDATE studies SET told = told + 1 WHERE study = 1", "its entries say"),
    ],
)
def test_what_was_changed_by_hand_is_found(tmp_path, statement, said):
    path = tmp_path / "a.db"
    damage.make(path)
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    (found,) = verify.check(path)
    assert found.study == "a"
    assert said in found.problem


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
