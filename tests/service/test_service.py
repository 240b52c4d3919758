"""The service through its door: HTTP on this machine, against the same store opened directly."""

from __future__ import annotations

import json
import re
from itertools import product

import httpx
import pytest

from driftwise import Float, Study
from driftwise.errors import AccessError, ConflictError, InvalidInput, NotFoundError
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens

BOX = {"x": Float(0, 1)}


def tokens(path) -> Tokens:
    return Tokens(Database(ServiceSettings(store=str(path))))


def test_a_study_behind_the_service_is_the_study_of_the_file(served, tmp_path):
    path = tmp_path / "a.db"
    url = served(path)
    there = Study("a/b <i>", BOX, "sw-gp-ucb", path=url, window=5)
    s = there.ask("key")
    assert there.tell(s, 1.5).new
    here = Study.open("a/b <i>", path=path)
    assert here.ask("key") == s
    assert there.recommend() == here.recommend()
    assert list(there.observations()) == list(here.observations())
    assert there.ask("next").params == here.ask("next").params
    assert Study.names(url) == ["a/b <i>"]


def test_errors_come_back_as_they_were_raised(served, tmp_path):
    url = served(tmp_path / "a.db")
    study = Study("a", BOX, "sw-gp-ucb", path=url)
    s = study.ask()
    study.tell(s, 1.0)
    with pytest.raises(ConflictError, match=r"told 1\.0 before, now 2\.0"):
        study.tell(s, 2.0)
    with pytest.raises(NotFoundError, match="no study 'b'; it has 'a'"):
        Study.open("b", path=url)
    with pytest.raises(NotFoundError, match="no suggestion"):
        study.tell("77-none", 1.0)
    problem = httpx.post(f"{url}/v1/studies/a/observe", json={"params": {"x": 7.0}, "reward": 1.0})
    assert problem.status_code == 422
    assert problem.headers["content-type"] == "application/problem+json"
    said = problem.json()
    assert said["value"] == "7.0"
    assert said["rule"] == "parameter 'x' must be a number from 0 to 1"
    assert said["error"] == "InvalidInput"


def test_tokens_say_who_may_do_what(served, tmp_path):
    path = tmp_path / "a.db"
    known = tokens(path)
    _, admin = known.create("admin", ("admin",))
    _, reader = known.create("reader", ("read",), project="shop/")
    url = served(path)
    study = Study("shop/a", BOX, "sw-gp-ucb", path=url, token=admin)
    Study("other", BOX, "sw-gp-ucb", path=url, token=admin)
    with pytest.raises(AccessError, match="needs a token"):
        Study.names(url)
    with pytest.raises(AccessError, match="unknown, expired or revoked"):
        Study.names(url, token=admin + "x")
    assert Study.names(url, token=reader) == ["shop/a"]
    seen = Study.open("shop/a", path=url, token=reader)
    with pytest.raises(AccessError, match="scope ask"):
        seen.ask()
    with pytest.raises(NotFoundError):
        Study.open("other", path=url, token=reader)
    study.tell(study.ask(), 1.0)
    assert seen.describe().counts.told == 1
    with pytest.raises(InvalidInput, match="token goes with"):
        Study.open("shop/a", path=path, token=admin)


def test_a_study_cannot_import_a_module(served, tmp_path):
    url = served(tmp_path / "a.db")
    for body in ({"policy": "antigravity:x"}, {"options": {"inner": "antigravity:x"}}):
        answer = httpx.post(f"{url}/v1/studies", json={"name": "a", "space": {}, **body})
        assert answer.status_code == 422
        assert "--allow-import" in answer.json()["fix"]


def test_the_short_way_answers_as_the_ordinary_one(served, tmp_path):
    url = served(tmp_path / "a.db")
    study = Study("a/b", {"x": Float(0, 1)}, "random", path=url)
    asked = study.ask(key="k")
    bodies = [
        ("ask", {"key": "k"}),
        ("tell", {"suggestion": asked.id, "reward": 1}),
        ("observe", {"params": {"x": 0.5}, "reward": 2.0, "key": "o"}),
        ("observe", {"params": {"x": 7}, "reward": 2.0}),
        ("tell", {"suggestion": asked.id, "reward": 2.0}),
        ("tell", {"suggestion": "9-none", "reward": 2.0}),
        ("tell", {"suggestion": asked.id, "reward": "1"}),
        ("tell", {"suggestion": asked.id, "other": 1}),
        ("tell", None),
    ]
    study.tell(asked, 1.0)
    study.observe({"x": 0.5}, 2.0, key="o")  # from now on nothing is new
    with httpx.Client(base_url=url) as client:
        for name, (what, body) in product(("a%2Fb", "none", "n" * 900), bodies):
            quick, ordinary = (
                client.post(
                    f"/v1/studies/{name}/{what}",
                    content="{" if body is None else json.dumps(body),
                    headers={"Content-Type": kind},
                )
                for kind in ("application/json", "application/json; charset=utf-8")
            )
            assert (quick.status_code, quick.json()) == (ordinary.status_code, ordinary.json())
    answered = httpx.get(f"{url}/metrics").text
    assert set(re.findall('route="([^"]*/tell)"', answered)) == {"/v1/studies/{name}/tell"}


def test_the_service_says_how_the_world_moves_in_the_same_words(served, tmp_path):
    study = Study("a", BOX, path=tmp_path / "a.db")
    study.load({"params": {"x": i / 10}, "reward": float(i)} for i in range(10))
    url = served(tmp_path / "a.db")
    found = study.drift()
    said = httpx.get(f"{url}/v1/studies/a/drift").raise_for_status().json()
    assert (said["says"], said["outliers"]) == (list(found.says), list(found.outliers))
    assert Study.open("a", path=url).drift() == found
    assert httpx.get(f"{url}/v1/studies/a").json()["awaited"] == 0
