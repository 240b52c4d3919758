"""A file that an earlier driftwise wrote: it is read as it is, upgraded by the first write, and asks the same question.

`tests/fixtures/make.py` made it, with one study for each of ten policies.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from driftwise import Study
from driftwise.errors import StoreError
from driftwise.store import open_store, verify

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "format-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    shutil.copy(FIXTURES / "format-1.study", tmp_path / "old.db")
    return tmp_path / "old.db"


def version(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[60:64], "big")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_study_goes_on_where_it_was(path, name):
    expected = EXPECTED[name]
    study = Study.open(name, path=path)
    for _ in range(2):  # before and after the upgrade
        counts = study.describe().counts
        assert [counts.last, counts.asked, counts.told, counts.abandoned] == [
            expected[field] for field in ("last", "asked", "told", "abandoned")
        ]
        assert [s.id for s in study.pending()] == expected["pending"]
        assert [[o.number, o.at, list(o.x), o.y] for o in study.observations()] == expected["log"]
        assert study.ask(key="key 5").number == 5  # a key that is known; asking may upgrade
    assert study.ask(at=41.5).x == pytest.approx(tuple(expected["next"]), abs=1e-6)
    assert not study.observe(study.pending()[0].params, 0.25, key="unasked").new


def test_reading_leaves_the_file_as_it_is_and_the_first_write_upgrades_all_of_it(path):
    before = path.read_bytes()
    for name in Study.names(path):
        study = Study.open(name, path=path)
        study.describe(), study.pending(), list(study.observations())
        if name != "random":
            study.recommend()
    study.close()
    assert path.read_bytes() == before
    assert version(path) == 1
    Study.open("random", path=path).ask()
    open_store(path).close()
    assert version(path) == 2
    for name, expected in EXPECTED.items():
        assert len(list(Study.open(name, path=path).observations())) == len(expected["log"])


def test_several_who_have_it_open_when_one_of_them_upgrades_it(path, tmp_path):
    link = tmp_path / "link.db"  # another name, so that the process takes it for another file
    link.hardlink_to(path)
    one, two = Study.open("auto", path=path), Study.open("auto", path=link)
    assert one.recommend() == two.recommend()
    two.close()
    asked = one.ask()
    one.close()
    assert [s.id for s in two.pending()][-1] == asked.id
    assert two.tell(asked, 1.0).new
    assert np.isfinite(two.recommend().mean)


def test_a_file_is_checked_after_its_upgrade(path, tmp_path):
    for call in (lambda: verify.check(path), lambda: verify.salvage(path, tmp_path / "new.db")):
        with pytest.raises(StoreError, match="it has an older format"):
            call()
    Study.open("random", path=path).ask()
    assert verify.check(path) == []


def test_an_upgrade_that_fails_leaves_the_old_file(path):
    connection = sqlite3.connect(path)
    connection.execute("UPDATE observations SET y = 1e6 WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="damaged: row 3"):
        Study.open("random", path=path).ask()
    open_store(path).close()
    assert version(path) == 1
    assert Study.open("random", path=path).describe().counts.asked == 30
