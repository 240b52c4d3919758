"""The table of bad input, row by row: a clear error, and nothing changed."""

from __future__ import annotations

import json
import math
import sqlite3

import numpy as np
import pytest

from driftwise import RBF, Candidates, Choice, Float, Int, Study
from driftwise.errors import ConflictError, InvalidInput, NotFoundError

SPACE = {"price": Float(5, 20), "size": Int(1, 3), "colour": Choice(["red", "blue"])}
GOOD = {"price": 7.0, "size": 2, "colour": "red"}


@pytest.fixture
def study(tmp_path):
    study = Study("shop", SPACE, policy="sw-gp-ucb", path=tmp_path / "a.db")
    study.tell(study.ask(key="first"), 1.0)
    study.ask(key="second")
    return study


@pytest.fixture(autouse=True)
def unchanged(request):
    """Whatever the test does, the file says the same before and after."""
    if "study" not in request.fixturenames:
        yield
        return
    path = request.getfixturevalue("study").path
    before = dump(path)
    yield
    assert dump(path) == before


def dump(path) -> list[str]:
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines


REWARDS = [
    math.nan,
    math.inf,
    -math.inf,
    json.loads("1e400"),
    json.loads("NaN"),
    10**400,
    10**5000,
    1e101,
    True,
    np.True_,
    "1.0",
    b"1",
    None,
    1j,
    [1.0],
    np.array([1.0]),
    np.float32("inf"),
]


@pytest.mark.parametrize("reward", REWARDS, ids=lambda r: f"{type(r).__name__}")
def test_rewards(study, reward):
    with pytest.raises(InvalidInput, match="reward must be") as caught:
        study.tell(study.pending()[0], reward)
    if not isinstance(reward, int) or reward < 10**100:
        shown = repr(reward.item() if isinstance(reward, np.generic) else reward)
        assert shown[:20] in str(caught.value)
    with pytest.raises(InvalidInput, match="reward must be"):
        study.observe(GOOD, reward)


@pytest.mark.parametrize("at", [math.nan, math.inf, "now", True, 10**400])
def test_times(study, at):
    for call in (
        lambda: study.ask(at=at),
        lambda: study.tell(study.pending()[0], 1.0, at=at),
        lambda: study.observe(GOOD, 1.0, at=at),
        lambda: study.recommend(at=at),
    ):
        with pytest.raises(InvalidInput, match="at must be"):
            call()


PARAMETERS = [
    (GOOD | {"price": 4.999}, "'price'.*5 to 20.*4.999"),
    (GOOD | {"price": 1e400}, "'price'"),
    (GOOD | {"price": math.nan}, "'price'.*5 to 20.*nan"),
    (GOOD | {"price": "7"}, "'price'.*5 to 20.*'7'"),
    (GOOD | {"price": True}, "'price'.*5 to 20.*True"),
    (GOOD | {"size": 4}, "'size'.*1 to 3.*4"),
    (GOOD | {"size": 1.5}, "'size'.*1 to 3.*1.5"),
    (GOOD | {"size": 10**400}, "'size'"),
    (GOOD | {"colour": "green"}, "'colour'.*red.*blue.*green"),
    (GOOD | {"colour": ["red"]}, "'colour'"),
    ({"price": 7.0, "size": 2}, "'colour' is missing.*red.*blue"),
    (GOOD | {"weight": 1}, "'weight'.*price, size, colour"),
    (GOOD | {3: 1}, "unknown parameter 3"),
    ({}, "missing"),
    (None, "params must be"),
    ("price", "params must be"),
]


@pytest.mark.parametrize(("params", "match"), PARAMETERS, ids=range(len(PARAMETERS)))
def test_parameters(study, params, match):
    with pytest.raises(InvalidInput, match=match):
        study.observe(params, 1.0)


BOUNDS = [
    lambda: Float(2, 1),
    lambda: Float(1, 1),
    lambda: Float(-math.inf, 1),
    lambda: Float(0, math.nan),
    lambda: Float(-1e308, 1e308),
    lambda: Float(0, 1, log=True),
    lambda: Float(-1, 1, log=True),
    lambda: Float("0", 1),
    lambda: Int(3, 2),
    lambda: Int(3, 3),
    lambda: Int(0.5, 3),
    lambda: Int(0, 3, log=True),
    lambda: Choice([]),
    lambda: Choice("red"),
    lambda: Choice([math.nan]),
    lambda: Candidates([]),
    lambda: Candidates([[math.inf]]),
    lambda: Study("a", {}, policy="sw-gp-ucb"),
    lambda: Study("a", {"x": 3}, policy="sw-gp-ucb"),
    lambda: Study("a", [Float(0, 1)], policy="sw-gp-ucb"),
]


@pytest.mark.parametrize("make", BOUNDS, ids=range(len(BOUNDS)))
def test_spaces(make):
    with pytest.raises(InvalidInput):
        make()


OPTIONS = [
    ("sw-gp-ucb", {"window": 0}, "window must be ≥ 1, got 0; use gp-ucb to keep everything"),
    ("sw-gp-ucb", {"window": 2.5}, "window"),
    ("r-gp-ucb", {"interval": -1}, "interval must be ≥ 1, got -1; use gp-ucb to keep everything"),
    ("sw-gp-ucb", {"noise": 0}, "noise must be > 0"),
    ("sw-gp-ucb", {"noise": -1.0}, "noise must be > 0"),
    ("sw-gp-ucb", {"noise": math.nan}, "noise"),
    ("sw-gp-ucb", {"width": -1.0}, "width"),
    ("sw-gp-ucb", {"width": "wide"}, "width"),
    ("sw-gp-ucb", {"kernel": 0.2}, "kernel"),
    ("sw-gp-ucb", {"kernel": RBF((0.1, 0.2))}, "2 lengthscales given for 4 dimensions"),
    ("sw-gp-ucb", {"delta": 0.0}, "delta must be strictly between 0 and 1"),
    ("sw-gp-ucb", {"seed": -1}, "seed must be ≥ 0"),
    ("sw-gp-ucb", {"seed": 2**64}, "seed must be at most"),
    ("sw-gp-ucb", {"patience": -1}, "patience must be ≥ 0"),
    ("sw-gp-ucb", {"direction": "up"}, "'maximize' or 'minimize', got 'up'"),
]


@pytest.mark.parametrize(("policy", "options", "match"), OPTIONS, ids=range(len(OPTIONS)))
def test_policies(tmp_path, policy, options, match):
    with pytest.raises(InvalidInput, match=match):
        Study("a", SPACE, policy, path=tmp_path / "a.db", **options)
    assert not (tmp_path / "a.db").exists()


def test_a_direction_that_is_no_text():
    for wrong in (np.arange(3), 1, ["minimize"]):
        with pytest.raises(InvalidInput, match="direction must be 'maximize' or 'minimize'"):
            Study("other", SPACE, policy="sw-gp-ucb", direction=wrong)


def test_lengthscales():
    for lengthscale in (0, -1.0, math.nan, (0.1, 0.0)):
        with pytest.raises(InvalidInput, match="lengthscale"):
            RBF(lengthscale)


@pytest.mark.parametrize("id", ["", "3-abcdef", "nobody", "1", "'; DROP TABLE studies; --", "\0", "x" * 10_000])
def test_unknown_suggestions(study, id):
    for call in (lambda: study.tell(id, 1.0), lambda: study.abandon(id)):
        with pytest.raises(NotFoundError, match="has no suggestion") as caught:
            call()
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("suggestion", [None, 1, GOOD, b"1-abc"])
def test_what_is_no_suggestion(study, suggestion):
    with pytest.raises(InvalidInput, match="a suggestion or its id"):
        study.tell(suggestion, 1.0)


def test_a_suggestion_of_another_study(study):
    stranger = Study("other", SPACE, policy="sw-gp-ucb").ask()
    with pytest.raises(NotFoundError, match=stranger.id):
        study.tell(stranger, 1.0)


def test_a_second_and_different_reward(study):
    first = study.ask(key="first")
    with pytest.raises(ConflictError, match=r"told 1\.0 before, now 2\.0"):
        study.tell(first, 2.0)
    with pytest.raises(ConflictError, match="has its reward"):
        study.abandon(first)


REFUSED = ["", "\0", "a\0b", "line\nbreak", "\x1b[31m", "x" * 10_000, "\ud800", "\u202e", None, 3, b"a"]
INERT = ["../../etc/passwd", "'; DROP TABLE studies; --", '"quoted"', "%s", "{name}", "名前", "a b", ":memory:", "\\"]


@pytest.mark.parametrize("name", REFUSED, ids=range(len(REFUSED)))
def test_names_and_keys_that_are_refused(study, name):
    with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
        Study(name, SPACE, policy="sw-gp-ucb", path=study.path)
    with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
        Study.open(name, path=study.path)
    if name is not None:
        with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
            study.ask(key=name)
        with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
            study.observe(GOOD, 1.0, key=name)


@pytest.mark.parametrize("name", INERT, ids=range(len(INERT)))
def test_names_and_keys_that_are_inert(tmp_path, name):
    path = tmp_path / "a.db"
    made = Study(name, SPACE, policy="sw-gp-ucb", path=path)
    s = made.ask(key=name)
    made.observe(GOOD, 1.0, key=name)
    again = Study.open(name, path=path)
    assert again.ask(key=name) == s
    assert not again.observe(GOOD, 1.0, key=name).new
    assert Study.names(path) == [name]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.db", "a.db-shm", "a.db-turns", "a.db-wal"]
