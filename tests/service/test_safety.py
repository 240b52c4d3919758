"""Who may do what, and what a hostile or broken client can do: nothing, with a clear answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading

import httpx
import pytest

from driftwise import Float, Study
from driftwise.errors import AccessError, InvalidInput, NotFoundError, StoreError
from driftwise.service import run
from driftwise.service.access import COOKIE
from driftwise.service.connection import Connection
from driftwise.service.database import Database
from driftwise.service.events import BACKLOG, Follower, StudyEvent
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens

BOX = {"x": Float(0, 1)}


def tokens(path) -> Tokens:
    return Tokens(Database(ServiceSettings(store=str(path))))


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_openapi_says_that_either_header_has_the_token(served, tmp_path):
    schema = httpx.get(f"{served(tmp_path / 'a.db')}/v1/openapi.json").json()
    headers = schema["components"]["securitySchemes"]
    assert headers["APIKeyHeader"] == {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same token.",
    }
    routes = [route for path in schema["paths"].values() for route in path.values() if "security" in route]
    assert len(routes) > 20
    assert all(route["security"] == [{"HTTPBearer": []}, {"APIKeyHeader": []}] for route in routes)


def test_a_token_is_stored_as_a_digest_and_rotates_and_ends(tmp_path):
    path = tmp_path / "a.db"
    known = tokens(path)
    token, text = known.create("me", ("ask", "read"), days=1)
    secret = text.split("_", 2)[2]
    known._database.write(lambda connection: None)
    assert secret.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert known.find(text) == token
    assert token.scopes == ("read", "ask")
    for wrong in ("", "dw_", f"dw_{token.id}_", f"dw_{token.id}_{secret[:-1]}", f"dw_0_{secret}", text + "x", "ünï"):
        assert known.find(wrong) is None
    new = known.rotate(token.id, grace_hours=1)
    assert known.find(new) == known.find(text) == token
    newest = known.rotate(token.id)
    assert known.find(newest) == token
    assert known.find(text) is None
    assert known.find(new) is None
    known.revoke(token.id)
    assert known.find(newest) is None
    with pytest.raises(NotFoundError):
        known.rotate(token.id)
    assert [each.id for each in known.list()] == [token.id]


def test_a_token_expires(tmp_path, monkeypatch):
    known = tokens(tmp_path / "a.db")
    _, text = known.create("me", ("read",), days=1)
    assert known.find(text) is not None
    monkeypatch.setattr("driftwise.service.tokens.time.time", lambda: 4e9)
    assert known.find(text) is None


def test_a_service_is_not_open_to_the_network_without_a_token(tmp_path):
    settings = ServiceSettings(store=str(tmp_path / "a.db"), host="0.0.0.0")
    with pytest.raises(InvalidInput, match="driftwise token create"):
        run.server_of(settings)
    tokens(tmp_path / "a.db").create("me", ("read",))
    assert run.server_of(settings).config.host == "0.0.0.0"


def test_without_tokens_the_host_must_be_this_machine_and_no_page_of_another_site_may_call(served, tmp_path):
    url = served(tmp_path / "a.db")
    assert httpx.get(f"{url}/v1/studies").status_code == 200
    assert httpx.get(f"{url}/v1/studies", headers={"Host": "evil.example"}).status_code == 421
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert httpx.get(f"{url}/v1/studies", headers=headers).status_code == 403
    answer = httpx.options(f"{url}/v1/studies", headers={"Origin": "http://evil.example"})
    assert not any(name.startswith("access-control") for name in answer.headers)


ROUTES = [
    ("POST", "/v1/studies", {"name": "a", "space": {"x": {"type": "Float", "low": 0, "high": 1}}}, "admin"),
    ("GET", "/v1/studies/a", None, "read"),
    ("POST", "/v1/studies/a/ask", {}, "ask"),
    ("POST", "/v1/studies/a/tell", {"suggestion": "1-x", "reward": 1.0}, "tell"),
    ("POST", "/v1/studies/a/observe", {"params": {"x": 0.5}, "reward": 1.0}, "tell"),
    ("POST", "/v1/studies/a/abandon", {"suggestion": "1-x"}, "tell"),
    ("POST", "/v1/studies/a/correct", {"which": 1, "reward": 1.0}, "admin"),
    ("POST", "/v1/studies/a/retract", {"which": 1}, "admin"),
    ("POST", "/v1/studies/a/recommend", {}, "read"),
    ("POST", "/v1/studies/a/predict", {"params": {"x": 0.5}}, "read"),
    ("GET", "/v1/studies/a/drift", None, "read"),
    ("GET", "/v1/studies/a/observations", None, "read"),
    ("POST", "/v1/studies/a/observations", None, "admin"),
    ("POST", "/v1/studies/a/copy", {"to": "b"}, "admin"),
    ("POST", "/v1/studies/a/rename", {"to": "c"}, "admin"),
    ("GET", "/v1/audit", None, "admin"),
    ("DELETE", "/v1/studies/a", None, "admin"),
]


def test_every_route_needs_its_scope_and_its_project(served, tmp_path):
    path = tmp_path / "a.db"
    known = tokens(path)
    texts = {scope: known.create(scope, (scope,))[1] for scope in ("read", "tell", "ask")}
    _, foreign = known.create("foreign", ("admin",), project="other/")
    url = served(path)
    Study("a", BOX, "sw-gp-ucb", path=path)
    with httpx.Client(base_url=url) as client:
        for method, where, body, scope in ROUTES:
            assert client.request(method, where, json=body).status_code == 401, where
            for held, text in texts.items():
                status = client.request(method, where, json=body, headers=bearer(text)).status_code
                assert (status == 403) == (held != scope), (method, where, held, status)
            refused = client.request(method, where, json=body, headers=bearer(foreign)).status_code
            assert refused in (403, 404), where


def test_a_session_is_a_cookie_that_no_script_reads_and_changes_need_more_than_it(served, tmp_path):
    path = tmp_path / "a.db"
    known = tokens(path)
    token, text = known.create("me", ("admin",))
    url = served(path)
    with httpx.Client(base_url=url) as client:
        begun = client.post("/v1/session", headers=bearer(text))
        said = begun.headers["set-cookie"].lower()
        assert "httponly" in said
        assert "samesite=strict" in said
        assert client.cookies[COOKIE] not in begun.text
        assert client.get("/v1/studies").json()["studies"] == []
        body = {"name": "a", "space": {"x": {"type": "Float", "low": 0, "high": 1}}}
        assert client.post("/v1/studies", json=body).status_code == 403
        csrf = {"X-CSRF-Token": client.get("/v1/session").json()["csrf"]}
        assert client.post("/v1/studies", json=body, headers={**csrf, "Origin": "http://evil"}).status_code == 403
        assert client.post("/v1/studies", json=body, headers=csrf).status_code == 201
        assert client.delete("/v1/session", headers=csrf).status_code == 204
        assert client.get("/v1/studies").status_code == 401
        client.post("/v1/session", headers=bearer(text))
        known.revoke(token.id)
        # a service that knew the token asks again after two seconds; a new one at once
    with httpx.Client(base_url=served(path)) as fresh:
        assert fresh.get("/v1/studies", headers=bearer(text)).status_code == 401


def test_every_change_is_in_the_audit(served, tmp_path):
    path = tmp_path / "a.db"
    token, text = tokens(path).create("me", ("admin",))
    url = served(path)
    study = Study("a", BOX, "sw-gp-ucb", path=url, token=text)
    s = study.ask()
    study.tell(s, 1.0)
    study.tell(s, 1.0)
    study.correct(1, 2.0)
    study.copy("b").delete()
    with httpx.Client(base_url=url, headers=bearer(text)) as client:
        expected = [("create", "a"), ("ask", "a"), ("tell", "a"), ("correct", "a"), ("copy", "a"), ("delete", "b")]
        for _ in range(200):
            found = client.get("/v1/audit").json()
            if len(found) == len(expected):
                break
    assert sorted((each["action"], each["study"]) for each in found) == sorted(expected)
    assert {each["who"] for each in found} == {token.id}


# --- names and values are text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "../../etc/passwd", "a/b/ask", "%2F%25", "' OR 1=1 --", "☃"]
)
def test_names_are_inert(served, tmp_path, name):
    url = served(tmp_path / "a.db")
    study = Study(name, BOX, "sw-gp-ucb", path=url)
    study.tell(study.ask(), 1.0)
    assert Study.names(url) == [name]
    assert Study.open(name, path=url).describe().counts.told == 1
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.startswith("a.db")) == []


def test_every_answer_is_strict_with_browsers(served, tmp_path):
    url = served(tmp_path / "a.db")
    for where in ("/healthz", "/v1/studies", "/v1/studies/none", "/nothing"):
        headers = httpx.get(f"{url}{where}").headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "text/html" not in headers["content-type"]


def test_no_error_shows_where_the_store_is(served, tmp_path):
    path = tmp_path / "secret-place" / "a.db"
    path.parent.mkdir()
    url = served(path)
    Study("a", BOX, "sw-gp-ucb", path=url)
    answers = [httpx.post(f"{url}/v1/studies/a/copy", json={"to": "a"}), httpx.get(f"{url}/v1/studies/b")]
    assert [answer.status_code for answer in answers] == [409, 404]
    assert not any("secret-place" in answer.text for answer in answers)
    hidden = ServiceSettings(store="postgresql://me:hunter2@db/x")
    assert "hunter2" not in hidden.scrubbed(f"{hidden.store} is away") + hidden.shown
    short = ServiceSettings(store="postgres://me@db/x?password=hunter2")
    assert short.is_postgres
    assert "hunter2" not in short.shown


@pytest.mark.parametrize("kind", [StoreError, TimeoutError])
def test_a_study_that_cannot_be_read_hides_no_other_and_shows_no_path(served, tmp_path, monkeypatch, kind):
    from driftwise.service.dashboard import views

    real, path = views.glance, tmp_path / "secret-place.db"

    def broken(study):
        if study.name == "a":
            raise kind(f"{path}: it is damaged")
        return real(study)

    monkeypatch.setattr(views, "glance", broken)
    url = served(path)
    for name in ("a", "b"):
        Study(name, BOX, "sw-gp-ucb", path=url)
    answer = httpx.get(f"{url}/dashboard/studies")
    assert [each["name"] for each in answer.json()["studies"]] == ["a", "b"]
    assert "damaged" in answer.text
    assert "secret-place" not in answer.text


def test_a_body_without_its_header_is_refused_with_the_fix(served, tmp_path):
    answer = httpx.post(f"{served(tmp_path / 'a.db')}/v1/studies", content=b'{"name": "a"}')
    assert (answer.status_code, "Content-Type must be application/json" in answer.json()["detail"]) == (400, True)


# --- too much, too slow, too often ------------------------------------------------------------------------------------


def test_bodies_lines_and_rates_are_bounded(served, tmp_path):
    url = served(tmp_path / "a.db", body_bytes=10_000, line_bytes=200, requests_per_second=0.001, burst=8)
    with httpx.Client(base_url=url) as client:
        large = client.post("/v1/studies", content=b'{"name": "' + b"a" * 10_000_000 + b'"}')
        assert large.status_code == 413
        assert "10,000 bytes" in large.json()["rule"]

        def endless():
            for _ in range(100):
                yield b"a" * 1000

        assert client.post("/v1/studies", content=endless()).status_code == 413
        client.post("/v1/studies", json={"name": "a", "space": {"x": {"type": "Float", "low": 0, "high": 1}}})
        line = json.dumps({"params": {"x": 0.5}, "reward": 1.0, "key": "k" * 200}).encode()
        assert client.post("/v1/studies/a/observations", content=line + b"\n").status_code == 413
        statuses = [client.get("/v1/studies").status_code for _ in range(12)]
    assert statuses[-1] == 429
    assert set(statuses) == {200, 429}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /v1/studies HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        b"POST /v1/studies HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{",
    ],
)
def test_a_client_that_falls_silent_is_let_go_and_harms_nobody(served, tmp_path, sent):
    url = served(tmp_path / "a.db", idle_seconds=1.0)
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as silent:
        silent.sendall(sent)
        assert httpx.get(f"{url}/healthz").status_code == 200
        said = b""
        while part := silent.recv(1000):
            said += part
    assert said == b"" or said.startswith(b"HTTP/1.1 408")


def test_a_head_without_end_is_refused(served, tmp_path):
    url = served(tmp_path / "a.db")
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=30) as hostile:
        hostile.sendall(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            for _ in range(100):
                hostile.sendall(b"x: " + b"y" * 2000 + b"\r\n")
            assert hostile.recv(1000)[:12] in (b"HTTP/1.1 400", b"")


def test_a_reader_that_is_slow_costs_bounded_memory():
    follower = Follower(None)
    for i in range(BACKLOG + 5):
        follower.put(StudyEvent(f"s{i}", None))
        follower.put(StudyEvent("same", None))
    assert len(follower.waiting) <= BACKLOG
    found = asyncio.run(follower.take())
    assert StudyEvent("", None) in found


def test_bad_json_is_a_problem_and_no_number_that_is_none_is_stored(served, tmp_path):
    url = served(tmp_path / "a.db")
    Study("a", BOX, "sw-gp-ucb", path=url)
    with httpx.Client(base_url=url) as client:
        where = "/v1/studies/a/observe"
        for bad in ("1e400", "NaN", "-Infinity", '"1"', "true"):
            answer = client.post(where, content=f'{{"params": {{"x": 0.5}}, "reward": {bad}}}')
            assert answer.status_code in (400, 422), bad
            assert answer.headers["content-type"] == "application/problem+json"
        for text in ("", "{", "[]", '{"params": {}, "more": 1}', "\x00", "[" * 5000):
            assert client.post(where, content=text).status_code in (400, 422), text[:20]
        assert client.get("/v1/studies/a").json()["counts"]["told"] == 0


def whole(connection) -> bytes:
    """A request or an answer that says its length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while len(body) < sum(lengths):
        part = connection.recv(65536)
        data, body = data + part, body + part
    return data


# --- the client -------------------------------------------------------------------------------------------------------


def test_the_client_repeats_what_may_be_repeated_and_the_service_counts_it_once(tmp_path, served):
    """A proxy that cuts every second connection after the service has answered: the answer is lost, the call is not."""
    url = served(tmp_path / "a.db")
    port = int(url.rpartition(":")[2])
    cut = 0

    def pipe(client):
        nonlocal cut
        cut += 1
        lost = cut % 2
        with client, socket.create_connection(("127.0.0.1", port)) as upstream:
            upstream.sendall(whole(client))
            answer = whole(upstream)
            if not lost:
                client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    pipe(proxy.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        study = Study("a", BOX, "sw-gp-ucb", path=f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for i in range(3):
            assert study.tell(study.ask(), float(i)).number == i + 1
        assert study.observe({"x": 0.5}, 7.0).number == 4
        study.close()
        proxy.shutdown(socket.SHUT_RDWR)
    direct = Study.open("a", path=url)
    assert [(o.number, o.reward) for o in direct.observations()] == [(1, 0.0), (2, 1.0), (3, 2.0), (4, 7.0)]
    assert direct.describe().counts.asked == 3
    assert cut >= 8


def test_a_service_that_is_away_is_a_clear_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match=r"no answer within 0\.2 seconds"):
        Connection(f"http://127.0.0.1:{port}", timeout=0.2).call("GET", "/studies")
    with pytest.raises(InvalidInput, match="address"):
        Study.open("a", path="http://")


def test_the_token_comes_from_the_environment_too(served, tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    _, text = tokens(path).create("me", ("read",))
    url = served(path)
    with pytest.raises(AccessError):
        Study.names(url)
    monkeypatch.setenv("DRIFTWISE_TOKEN", text)
    assert Study.names(url) == []
