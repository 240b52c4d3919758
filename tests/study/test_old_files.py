"""Files that earlier versions wrote: they are read as they are, upgraded by the first write, and ask the same question.

`tests/fixtures/make.py` made them, with one study for each of several policies. A study of a policy that chooses
otherwise by now goes on with the policy of today.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from driftwise import Study, policy
from driftwise.errors import StoreError
from driftwise.records import Ask, Observation
from driftwise.store import open_store, schema, verify

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXPECTED = {number: json.loads((FIXTURES / f"format-{number}.json").read_text(encoding="utf-8")) for number in (1, 2)}
STUDIES = [(number, name) for number, expected in EXPECTED.items() for name in sorted(expected)]
OTHERWISE = ("auto",)  # the policies that choose otherwise than they did when the files were made


@pytest.fixture
def old(tmp_path):
    """A copy of the file of a format."""

    def copied(number):
        return Path(shutil.copy(FIXTURES / f"format-{number}.study", tmp_path / "old.db"))

    return copied


def version(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[60:64], "big")


def of_today(study, expected):
    """What a new policy chooses that is told the same log, with the default settings that the study was made with."""
    made = policy(expected["policy"], study.space)
    state = made.start()
    for seen in expected["log"]:
        state = made.update(state, Observation(seen[0], seen[1], tuple(seen[2]), seen[3]))
    pending = tuple(s.x for s in study.pending())
    return made.choose(state, Ask(expected["last"] + 1, 41.5, seed=study.description.seed, pending=pending)).tolist()


@pytest.mark.parametrize(("number", "name"), STUDIES)
def test_a_study_goes_on_where_it_was(old, number, name):
    expected, path = EXPECTED[number][name], old(number)
    study = Study.open(name, path=path)
    for _ in range(2):  # before and after the upgrade
        counts = study.describe().counts
        assert [counts.last, counts.asked, counts.told, counts.abandoned] == [
            expected[field] for field in ("last", "asked", "told", "abandoned")
        ]
        assert [s.id for s in study.pending()] == expected["pending"]
        assert [[o.number, o.at, list(o.x), o.y] for o in study.observations()] == expected["log"]
        assert study.ask(key="key 5").number == 5  # a key that is known; asking may upgrade
    following = of_today(study, expected) if name in OTHERWISE else expected["next"]
    assert study.ask(at=41.5).x == pytest.approx(tuple(following), abs=1e-6)
    assert not study.observe(study.pending()[0].params, 0.25, key="unasked").new


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_reading_leaves_the_file_as_it_is_and_the_first_write_upgrades_all_of_it(old, number):
    path = old(number)
    before = path.read_bytes()
    for name in Study.names(path):
        study = Study.open(name, path=path)
        study.describe(), study.pending(), list(study.observations())
        if name != "random":
            study.recommend()
    study.close()
    assert path.read_bytes() == before
    assert version(path) == number
    Study.open("random", path=path).ask()
    open_store(path).close()
    assert version(path) == schema.VERSION
    assert verify.check(path) == []
    for name, expected in EXPECTED[number].items():
        assert len(list(Study.open(name, path=path).observations())) == len(expected["log"])


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_several_who_have_it_open_when_one_of_them_upgrades_it(old, number, tmp_path):
    path = old(number)
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


def test_a_file_of_format_1_is_checked_after_its_upgrade(old, tmp_path):
    path = old(1)
    for call in (lambda: verify.check(path), lambda: verify.salvage(path, tmp_path / "new.db")):
        with pytest.raises(StoreError, match="it has an older format"):
            call()
    Study.open("random", path=path).ask()
    assert verify.check(path) == []


def test_a_file_of_format_2_is_checked_and_saved_as_it_is(old, tmp_path):
    path = old(2)
    before = path.read_bytes()
    assert verify.check(path) == []
    assert {saved.lost for saved in verify.salvage(path, tmp_path / "new.db")} == {0}
    assert verify.check(tmp_path / "new.db") == []
    assert path.read_bytes() == before
    connection = sqlite3.connect(path)
    connection.execute("UPDATE observations SET y = 1e6 WHERE number = 3")
    connection.commit()
    connection.close()
    assert {finding.problem for finding in verify.check(path)} >= {"observation 3 does not match its checksum"}


def test_an_upgrade_from_format_2_touches_no_row_of_a_log(old):
    """Rows keep their bytes and checksums, and nothing is read row by row, however long the log is."""
    path = old(2)
    tables = {"suggestions": 10, "observations": 8, "keys": 6}

    def contents():
        connection = sqlite3.connect(path)
        found = {name: [row[:n] for row in connection.execute(f"SELECT * FROM {name}")] for name, n in tables.items()}
        connection.close()
        return found

    before = contents()
    store = open_store(path)
    store.names()
    store.upgrade()
    store.close()
    assert version(path) == 3
    assert contents() == before


def test_an_upgrade_that_fails_leaves_the_old_file(old):
    path = old(1)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE observations SET y = 1e6 WHERE number = 3")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="damaged: row 3"):
        Study.open("random", path=path).ask()
    open_store(path).close()
    assert version(path) == 1
    assert Study.open("random", path=path).describe().counts.asked == 30
