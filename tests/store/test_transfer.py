"""Studies go from a file to a server and back, as a whole, and are the same there."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from driftwise import Float, Study
from driftwise.errors import ConflictError
from driftwise.log import copies, open_store, transfer, verify


def lived(name: str, path) -> Study:
    """A study in which everything occurs that a log may hold."""
    draw = random.Random(name)
    study = Study(name, {"x": Float(0, 1)}, "sw-gp-ucb", window=8, path=path)
    for i in range(6):
        s = study.ask(key=f"ключ {i}" if i % 2 else None)
        if i == 3:
            study.abandon(s)
        else:
            study.tell(s, draw.gauss(0, 1), repeats=2 if i == 1 else 1, measures={"ms": draw.random()})
    study.tell(study.ask(n=3)[1], failed=True)
    study.observe({"x": draw.random()}, draw.random(), key="o", at=100.5)
    study.correct(1, 0.1 + 0.2, who="me", why="a typo")
    study.retract(2)
    return study


@pytest.fixture
def places(tmp_path, address):
    """A file with three studies, a server without any, and another file."""
    path = tmp_path / "a.db"
    for name in ("one", "two", "<three>"):
        lived(name, path)
    return str(path), address, str(tmp_path / "b.db")


def contents(path: str) -> dict:
    store = open_store(path, create=False)
    return {name: (store.open(name).description, store.open(name).read(copies.read)) for name in store.names()}


def test_there_and_back_is_the_same_to_the_last_bit(places):
    first, server, last = places
    for source, target in ((first, server), (server, last)):
        made = list(transfer.transfer(open_store(source), open_store(target), open_store(source).names()))
        assert [each.new for each in made] == [True] * 3
    assert repr(contents(first)) == repr(contents(server)) == repr(contents(last))
    assert not verify.check(server)
    for name in ("one", "two", "<three>"):
        asked = [Study.open(name, path=path).ask().x for path in places]
        assert asked[0] == asked[1] == asked[2]


def test_what_was_interrupted_is_called_again(places):
    first, server, _ = places
    steps = transfer.transfer(open_store(first), open_store(server), ["one", "two", "<three>"])
    next(steps)
    steps.close()  # as a kill would: each study is one transaction
    made = list(transfer.transfer(open_store(first), open_store(server), ["one", "two", "<three>"]))
    assert [each.new for each in made] == [False, True, True]
    assert repr(contents(first)) == repr(contents(server))


def test_a_study_that_differs_is_refused_and_left_alone(places):
    first, server, _ = places
    list(transfer.transfer(open_store(first), open_store(server), ["one"]))
    Study.open("one", path=server).observe({"x": 0.5}, 1.0)
    before = repr(contents(server))
    with pytest.raises(ConflictError, match="'one' that differs"):
        list(transfer.transfer(open_store(first), open_store(server), ["one"]))
    assert repr(contents(server)) == before


def test_by_command(places, good, refused):
    first, server, last = places
    made = json.loads(good(f"store copy {first} '{server}' --study two --json"))["studies"]
    assert [(each["study"], each["new"], each["observations"]) for each in made] == [("two", True, 7)]
    said = good(f"store copy {first} '{server}'")
    assert "two: was there already and is the same (7 observations, 9 suggestions)" in said
    assert "has no study 'four'" in refused(f"store copy {first} {last} --study four")
    listed = json.loads(good(f"study list --path '{server}' --json"))["studies"]
    assert {each["name"] for each in listed} == {"one", "two", "<three>"}
    assert "is intact" in good(f"study check --path '{server}'")


def test_a_digest_covers_everything(places):
    description, whole = contents(places[0])["one"]
    stands = whole.standing
    others = [
        replace(whole, entries=whole.entries[:-1]),
        replace(whole, entries=[*whole.entries[:-1], whole.entries[-1]._replace(body=b"{}")]),
        replace(whole, standing=replace(stands, awaiting=())),
        replace(whole, standing=replace(stands, counts=replace(stands.counts, told=0))),
    ]
    found = [transfer.digest(description, each) for each in (whole, *others)]
    assert len({*found, transfer.digest(description + " ", whole)}) == 6
