"""What an attack on the service found, in the small: times, keys, names, bodies, headers, sessions, settings."""

from __future__ import annotations

import os
import socket
import threading
import time

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from driftwise import Candidates, Float, Study, checks
from driftwise.errors import ConflictError, InvalidInput
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens
from driftwise.study import ask_tell

BOX = {"x": Float(0, 1)}


def post(url: str, where: str, body: dict) -> httpx.Response:
    return httpx.post(f"{url}/v1/studies/{where}", json=body, timeout=60)


# --- times ------------------------------------------------------------------------------------------------------------


def test_a_time_that_is_far_from_all_others_must_be_confirmed_and_retracting_it_sets_the_clock_back(served, tmp_path):
    url = served(tmp_path / "a.db")
    study = Study("s", BOX, "random", path=tmp_path / "a.db")
    for day in range(10):
        study.observe({"x": 0.5}, 1.0, at=1.7e9 + 86400 * day)
    wrong = {"params": {"x": 0.5}, "reward": 1.0, "at": 1.7e12}
    refused = post(url, "s/observe", wrong)
    assert refused.status_code == 422
    assert "far=true" in refused.json()["detail"]
    asked = post(url, "s/ask", {}).json()["suggestions"][0]
    assert post(url, "s/tell", {"suggestion": asked["id"], "reward": 1.0, "at": 1.7e12}).status_code == 422
    assert post(url, "s/ask", {"at": 1.7e12}).status_code == 422
    assert post(url, "s/observe", wrong | {"at": 1.7e9 + 400 * 86400}).status_code == 200  # a year later is not far
    taken = post(url, "s/observe", wrong | {"far": True})
    assert taken.status_code == 200
    assert post(url, "s/ask", {}).json()["suggestions"][0]["at"] == 1.7e12
    assert post(url, "s/retract", {"which": taken.json()["number"]}).status_code == 200
    assert post(url, "s/ask", {}).json()["suggestions"][0]["at"] == 1.7e9 + 400 * 86400


def test_a_time_has_a_bound(served, tmp_path):
    url = served(tmp_path / "a.db")
    Study("s", BOX, "random", path=tmp_path / "a.db")
    assert post(url, "s/observe", {"params": {"x": 0.5}, "reward": 1.0, "at": 1e308}).status_code == 400
    assert post(url, "s/ask", {"at": -1e308}).status_code == 400


# --- asks -------------------------------------------------------------------------------------------------------------


def test_more_suggestions_than_can_be_made_in_time_are_refused_early(served, tmp_path, monkeypatch):
    choose = ask_tell.decision

    def slowly(*given):
        time.sleep(0.1)
        return choose(*given)

    monkeypatch.setattr(ask_tell, "decision", slowly)
    url = served(tmp_path / "a.db", seconds=4.0)
    study = Study("s", BOX, "random", path=tmp_path / "a.db")
    began = time.monotonic()
    answer = post(url, "s/ask", {"n": 1000})
    assert time.monotonic() - began < 3.5
    assert answer.status_code == 422
    assert answer.json()["rule"].startswith("n must be at most ")
    assert study.describe().counts.asked == 0
    assert post(url, "s/ask", {"n": 2}).status_code == 200  # the turn was given back


def test_a_choice_ends_when_nobody_waits_for_it_any_more(served, tmp_path, monkeypatch):
    choose, calls = ask_tell.decision, []

    def slowly(*given):
        calls.append(time.monotonic())
        time.sleep(0.3 if len(calls) > 2 else 0.0)  # too late to refuse it early
        return choose(*given)

    monkeypatch.setattr(ask_tell, "decision", slowly)
    monkeypatch.setattr("driftwise.concurrency.deadline.EARLY", 1e9, raising=False)
    url = served(tmp_path / "a.db", seconds=1.0)
    Study("s", BOX, "random", path=tmp_path / "a.db")
    assert post(url, "s/ask", {"n": 1000}).status_code == 504
    time.sleep(1.0)
    made = len(calls)
    time.sleep(1.0)
    assert len(calls) == made


@pytest.mark.parametrize("other", [{"at": 7.0}, {"context": {"hour": 2.0}}, {"fixed": {"x": 0.75}}])
def test_a_known_key_with_another_question_is_a_conflict(tmp_path, other):
    study = Study("s", BOX, path=tmp_path / "a.db", context={"hour": Float(0, 24)})
    given = {"at": 5.0, "context": {"hour": 1.0}, "fixed": {"x": 0.5}}
    first = study.ask(key="k", **given)
    assert study.ask(key="k", **given) == first
    with pytest.raises(ConflictError, match="another time, context or fixed"):
        study.ask(key="k", **(given | other))


def test_patience_has_a_bound():
    with pytest.raises(InvalidInput, match="patience"):
        Study("s", BOX, patience=10**9)


# --- bodies, headers, names -------------------------------------------------------------------------------------------


def test_a_body_names_nothing_twice(served, tmp_path):
    url = served(tmp_path / "a.db")
    Study("s", BOX, "random", path=tmp_path / "a.db").ask()
    for where, body in (
        ("s/observe", '{"params": {"x": 0.5}, "reward": 1.0, "reward": 2.0}'),
        ("s/predict", '{"params": {"x": 0.5, "x": 0.25}}'),
    ):
        answer = httpx.post(
            f"{url}/v1/studies/{where}", content=body, headers={"Content-Type": "application/json"}, timeout=60
        )
        assert (answer.status_code, "twice" in answer.json()["detail"]) == (400, True)
    line = b'{"params": {"x": 0.5}, "reward": 1.0, "reward": 2.0}\n'
    assert httpx.post(f"{url}/v1/studies/s/observations", content=line, timeout=60).status_code == 422


def said(url: str, *parts: bytes, pause: float = 0.0) -> bytes:
    """What is answered to a request in parts."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except OSError:  # it was answered already
                break
            time.sleep(pause)
        return connection.recv(1000)


def test_a_body_must_arrive_in_a_time_as_a_whole(served, tmp_path):
    url = served(tmp_path / "a.db", idle_seconds=5.0, body_seconds=1.0)
    head = b"POST /v1/studies HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 50\r\n\r\n"
    assert said(url, head, *[b" "] * 10, pause=0.2).startswith(b"HTTP/1.1 408")


def test_a_request_has_one_host(served, tmp_path):
    url = served(tmp_path / "a.db")
    head = b"GET /v1/studies HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: example.org\r\n\r\n"
    assert said(url, head).startswith(b"HTTP/1.1 400")


def test_a_file_that_is_away_is_no_study_that_does_not_exist(served, tmp_path):
    path = tmp_path / "a.db"
    url = served(path)
    Study("s", BOX, "random", path=path)
    assert httpx.get(f"{url}/v1/studies", timeout=60).status_code == 200  # nobody needs a token
    for part in ("", "-wal", "-shm"):
        if os.path.exists(f"{path}{part}"):
            os.rename(f"{path}{part}", f"{path}-away{part}")
    assert post(url, "s/observe", {"params": {"x": 0.5}, "reward": 1.0}).status_code == 503


def test_an_address_has_no_spaces(tmp_path):
    from driftwise.tune.live_plan import LivePlan

    with pytest.raises(InvalidInput, match="address"):
        LivePlan("http://127.0.0.1:9090/a b", "up")
    with pytest.raises(InvalidInput, match="address"):
        Study("s", BOX, path="http://127.0.0.1:1/a b", timeout=0.1)


def test_errors_show_plain_numbers():
    assert checks.shown(np.float64(1.5)) == "1.5"
    with pytest.raises(InvalidInput) as error:
        Float(np.float64(3.0), np.float64(1.0))
    assert "np.float64" not in str(error.value)


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_a_session_ends_when_the_secret_of_its_token_is_another_one(served, tmp_path):
    tokens = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db"))))
    token, text = tokens.create("me", ("admin",))
    with httpx.Client(base_url=served(tmp_path / "a.db"), timeout=60) as client:
        client.post("/v1/session", headers={"Authorization": f"Bearer {text}"}).raise_for_status()
        assert client.get("/v1/studies").status_code == 200
        tokens.rotate(token.id)
        deadline = time.monotonic() + 10
        while client.get("/v1/studies").status_code == 200:
            assert time.monotonic() < deadline, "the session goes on"
            time.sleep(0.1)


def test_a_token_of_a_project_reads_no_fleet_and_a_name_is_no_path(served, tmp_path):
    from driftwise.fleet import Fleet

    folder = tmp_path / "fleets"
    folder.mkdir()
    (tmp_path / "secret").mkdir()
    Fleet("shop", Candidates([[0.0], [1.0]], names=["x"]), "sw-gp-ucb", path=folder, window=4).close()
    tokens = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db"))))
    _, project = tokens.create("project", ("admin",), project="shop")
    _, admin = tokens.create("admin", ("admin",))
    with httpx.Client(base_url=served(tmp_path / "a.db", fleets=str(folder)), timeout=60) as client:
        as_admin = {"Authorization": f"Bearer {admin}"}
        found = client.get("/v1/fleets/shop", headers={"Authorization": f"Bearer {project}"})
        assert found.status_code == 404
        assert client.get("/v1/fleets/shop", headers=as_admin).status_code == 200
        there, nowhere = (client.get(f"/v1/fleets/..%2F{name}", headers=as_admin) for name in ("secret", "none"))
        assert there.status_code == nowhere.status_code == 404
        assert there.json()["detail"].replace("secret", "none") == nowhere.json()["detail"]
        alike = client.post("/v1/fleets/shop/ask", json={"keys": ["a"] * 5000}, headers=as_admin, timeout=60)
        assert alike.status_code == 400


# --- settings ---------------------------------------------------------------------------------------------------------


def test_every_setting_is_an_option_and_a_variable(tmp_path, monkeypatch):
    from driftwise.cli.app import app
    from driftwise.service import run

    found = []
    monkeypatch.setattr(run, "serve", lambda settings, **_: found.append(settings))
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, "serve --session-hours 3 --threads 2 --allow-import a --allow-import b").exit_code == 0
    assert runner.invoke(app, "serve", env={"DRIFTWISE_STREAMS": "7", "DRIFTWISE_PATH": "b.db"}).exit_code == 0
    assert (found[0].session_hours, found[0].threads, found[0].allow_imports) == (3.0, 2, ("a", "b"))
    assert (found[1].streams, found[1].store) == (7, "b.db")


# --- pages ------------------------------------------------------------------------------------------------------------


def test_a_study_is_folded_once_for_asks_and_pages(served, tmp_path, monkeypatch):
    from driftwise.replay import Fold

    folded, lock, state = [0], threading.Lock(), Fold.state

    def counted(fold, missing):
        with lock:
            folded[0] += len(missing.log)
        return state(fold, missing)

    url = served(tmp_path / "a.db")
    study = Study("s", BOX, "sw-gp-ucb", path=tmp_path / "a.db", window=100)
    for i in range(20):
        study.observe({"x": i / 20}, 1.0)
    monkeypatch.setattr(Fold, "state", counted)
    post(url, "s/ask", {}).raise_for_status()
    httpx.get(f"{url}/dashboard/studies/s/belief", timeout=60).raise_for_status()
    httpx.get(f"{url}/dashboard/studies/s/head", timeout=60).raise_for_status()
    assert folded == [20]
