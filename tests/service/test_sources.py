"""Studies that tune by themselves, with a real Prometheus where there is one, and with a stand-in for its failures."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from driftwise import Float, Study
from driftwise.errors import InvalidInput
from driftwise.service.forever import Forever
from driftwise.tune.live_plan import LivePlan
from driftwise.tune.prometheus import SourceRefused, number_in
from serving import wait

PROMETHEUS = shutil.which("prometheus")


class Place:
    """A system that is tuned: it takes a setting as a webhook, shows a metric, and answers as Prometheus would."""

    def __init__(self) -> None:
        self.x: float | None = None
        self.settings: list[dict] = []
        self.data = True  # whether there is any
        self.answer: bytes | None = None  # instead of what Prometheus says
        self.refuses = False
        self.status = 200  # of a setting that is not refused
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                place.settings.append(body)
                place.x = body["params"]["x"]
                self._send(422 if place.refuses else place.status, b"")

            def do_GET(self) -> None:
                if urlsplit(self.path).path == "/metrics":
                    self._send(200, b"" if place.x is None else f"profit {place.profit()}\n".encode())
                    return
                place.queries.append(parse_qs(urlsplit(self.path).query))
                if place.answer is not None:
                    self._send(200, place.answer)
                    return
                result = [{"metric": {}, "value": [0, str(place.profit())]}] if place.data else []
                found = {"status": "success", "data": {"resultType": "vector", "result": result}}
                self._send(200, json.dumps(found).encode())

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self.queries: list[dict] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def profit(self) -> float:
        return 10 - (self.x - 0.3) ** 2


@pytest.fixture
def place():
    made = Place()
    yield made
    made.close()


@pytest.fixture
def study(tmp_path) -> Study:
    return Study("web", {"x": Float(0, 1)}, "sw-gp-ucb", path=tmp_path / "a.db", window=20)


def begin(url: str, place: Place, **more) -> None:
    body = {"prometheus": place.address, "query": "profit", "apply": "webhook", "target": f"{place.address}/apply"}
    body |= {"settle_seconds": 0.05, "average_seconds": 0.05, **more}
    httpx.put(f"{url}/v1/studies/web/source", json=body).raise_for_status()


def test_a_loop_asks_applies_waits_queries_and_tells(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    begin(url, place)
    wait(lambda: study.describe().counts.told >= 4)
    httpx.delete(f"{url}/v1/studies/web/source").raise_for_status()
    told = list(study.observations())
    for seen, applied in zip(told, place.settings, strict=False):
        assert applied["params"] == seen.params
        assert seen.reward == pytest.approx(10 - (seen.params["x"] - 0.3) ** 2)
    assert place.queries[0]["query"] == ["avg_over_time((profit)[50ms:2ms])"]
    assert httpx.get(f"{url}/v1/studies/web/source").status_code == 404


def test_a_loop_goes_on_where_it_was_when_the_service_is_started_again(served, place, study, tmp_path):
    from serving import serving

    with serving(tmp_path / "a.db") as url:
        begin(url, place, average_seconds=600.0)
        wait(lambda: httpx.get(f"{url}/v1/studies/web/source").json()["applied"])
    (first,) = place.settings
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:  # ten minutes pass
        database.execute("UPDATE service_sources SET applied = applied - 700")
    served(tmp_path / "a.db")
    wait(lambda: len(place.settings) == 2)
    assert [each["suggestion"] for each in place.settings] == [first["suggestion"], study.pending()[0].id]
    assert [seen.params for seen in study.observations()] == [first["params"]]  # neither asked nor applied again


def test_no_data_are_a_failure_and_never_a_zero(served, place, study, tmp_path):
    place.data = False
    begin(served(tmp_path / "a.db"), place)
    wait(lambda: study.describe().counts.failed >= 2)
    assert all(seen.failed and seen.reward is None for seen in study.observations())


def test_a_setting_that_is_refused_failed(served, place, study, tmp_path):
    place.refuses = True
    begin(served(tmp_path / "a.db"), place)
    wait(lambda: study.describe().counts.failed >= 2)
    assert place.queries == []


@pytest.mark.parametrize("status", [302, 503])
def test_a_webhook_that_leads_elsewhere_or_fails_has_not_applied_it(served, place, study, tmp_path, status):
    place.status = status
    url = served(tmp_path / "a.db")
    begin(url, place)
    wait(lambda: f"answered {status}" in httpx.get(f"{url}/v1/studies/web/source").json()["problem"])
    assert place.queries == []
    assert study.describe().counts.told == 0


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"status": "success"}', b"<html>", b"[" * 100_000])
def test_what_is_no_prometheus_is_said(place, body):
    import asyncio

    from driftwise.tune import prometheus

    place.answer = body

    async def ask() -> None:
        async with httpx.AsyncClient() as client:
            await prometheus.value(client, place.address, "up", 0.0)

    gc.collect()  # at the depth to which the last of these is read, a finaliser of earlier garbage would fail
    gc.disable()
    try:
        with pytest.raises((prometheus.SourceAway, SourceRefused)):
            asyncio.run(ask())
    finally:
        gc.enable()


def test_only_an_admin_sees_more_of_an_address_than_its_host(served, place, study, tmp_path):
    from driftwise.service.database import Database
    from driftwise.service.settings import ServiceSettings
    from driftwise.service.tokens import Tokens

    url = served(tmp_path / "a.db")
    begin(url, place, target=f"{place.address}/secret", average_seconds=600.0)
    _, reader = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db")))).create("r", ("read",))
    wait(lambda: httpx.get(f"{url}/v1/studies/web/source").status_code == 401)
    found = httpx.get(f"{url}/v1/studies/web/source", headers={"X-API-Key": reader}).json()
    assert found["target"] == place.address


def test_a_prometheus_that_is_away_is_waited_for(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    begin(url, place, prometheus=nobody)
    wait(lambda: "does not answer" in httpx.get(f"{url}/v1/studies/web/source").json()["problem"])
    assert study.describe().counts.told == 0  # it says nothing about the setting


def test_settings_as_files_and_as_flags(served, place, study, tmp_path):
    folder = tmp_path / "settings"
    folder.mkdir()
    url = served(tmp_path / "a.db", apply_folder=str(folder))
    begin(url, place, apply="file", target="web.json", average_seconds=600.0)
    wait((folder / "web.json").exists)
    assert json.loads((folder / "web.json").read_text())["params"] == study.pending()[0].params
    assert os.listdir(folder) == ["web.json"]  # and nothing half-written
    (folder / "usual").touch()
    assert (folder / "web.json").stat().st_mode == (folder / "usual").stat().st_mode  # who reads others reads this
    Study("other", {"x": Float(0, 1)}, "sw-gp-ucb", path=tmp_path / "a.db", window=20)
    taken = {"prometheus": place.address, "query": "up", "apply": "file", "target": "web.json"}
    assert httpx.put(f"{url}/v1/studies/other/source", json=taken).status_code == 409  # a file belongs to one study
    begin(url, place, apply="flag", target="", average_seconds=600.0)
    wait(lambda: len(study.pending()) == 2)
    wait(lambda: httpx.get(f"{url}/v1/studies/web/source").json()["applied"])
    for key in ("a", "b"):  # everybody has the setting that is measured
        body = {"context": {"targetingKey": key}}
        found = httpx.post(f"{url}/ofrep/v1/evaluate/flags/web.x", json=body).json()
        assert found["variant"] == study.pending()[1].id


@pytest.mark.slow
def test_between_two_steps_everybody_keeps_the_last_setting(served, place, study, tmp_path):
    url, place.x = served(tmp_path / "a.db"), 0.5
    begin(url, place, apply="flag", target="")
    body, variants = {"context": {"targetingKey": "a"}}, []

    def evaluated() -> int:
        found = httpx.post(f"{url}/ofrep/v1/evaluate/flags/web.x", json=body)
        variants.append(found.json().get("variant"))
        return found.status_code

    wait(lambda: evaluated() == 200)
    del variants[:-1]
    wait(lambda: evaluated() != 200 or study.describe().counts.told >= 5)
    assert None not in variants
    numbers = [int(each.partition("-")[0]) for each in variants]
    assert numbers == sorted(numbers)


def test_what_is_done_again_and_again_is_done_at_once_if_there_is_more():
    async def seen() -> list[int]:
        done = list[int]()

        async def work() -> None:
            done.append(len(done))
            if len(done) < 3:
                again.soon()

        again = Forever("test", work, pause=1e6)
        await again.start()
        for _ in range(100):
            await asyncio.sleep(0)
        await again.stop()
        return done

    assert asyncio.run(seen()) == [0, 1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        {"prometheus": "ftp://x"},
        {"prometheus": 5},
        {"prometheus": "http://[::1"},
        {"prometheus": "http://host:99999"},
        {"prometheus": "http://host/\0"},
        {"apply": "magic"},
        {"apply": "webhook", "target": "nowhere"},
        {"apply": "file", "target": "../etc"},
        {"average_seconds": 0},
        {"settle_seconds": 1e9},
        {"query": ""},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(bad):
    with pytest.raises(InvalidInput):
        LivePlan(**({"prometheus": "http://127.0.0.1:9090", "query": "up"} | bad))


def test_the_service_writes_no_file_unless_it_was_told_where(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        begin(url, place, apply="file", target="web.json")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"resultType": "vector", "result": []}, None),
        ({"resultType": "vector", "result": [{"value": [0, "NaN"]}]}, None),
        ({"resultType": "vector", "result": [{"value": [0, "1.5"]}]}, 1.5),
        ({"resultType": "scalar", "result": [0, "2"]}, 2.0),
    ],
)
def test_the_number_in_an_answer(data, value):
    assert number_in(data) == value


@pytest.mark.parametrize("data", [{"resultType": "vector", "result": [{}, {}]}, {"resultType": "matrix", "result": []}])
def test_an_answer_with_several_series_is_refused(data):
    with pytest.raises(SourceRefused, match="one"):
        number_in(data)


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="there is no prometheus on this machine")
def test_with_a_real_prometheus(served, place, study, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
        f"scrape_configs: [{{job_name: place, static_configs: [{{targets: ['{place.address[7:]}']}}]}}]\n"
    )
    command = [
        PROMETHEUS,
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"

            def ready() -> bool:
                try:
                    return httpx.get(f"{address}/-/ready").status_code == 200
                except httpx.HTTPError:
                    return False

            wait(ready)
            url = served(tmp_path / "a.db")
            begin(url, place, prometheus=address, settle_seconds=1.0, average_seconds=2.0)
            wait(lambda: study.describe().counts.rewards >= 2, 120.0)
            metrics = httpx.get(f"{url}/metrics").text
        finally:
            process.kill()
    for seen in study.observations():
        if not seen.failed:  # a busy machine may not have been scraped in time
            assert seen.reward == pytest.approx(10 - (seen.params["x"] - 0.3) ** 2)
    assert 'driftwise_study_rewards{study="web"}' in metrics


def test_the_grafana_dashboard_asks_for_metrics_that_exist(served, study, tmp_path):
    from pathlib import Path

    board = json.loads((Path(__file__).parents[2] / "examples" / "grafana" / "driftwise.json").read_text())
    url = served(tmp_path / "a.db")
    httpx.get(f"{url}/v1/studies")
    metrics = httpx.get(f"{url}/metrics").text
    asked = {name for panel in board["panels"] for name in re.findall(r"driftwise_\w+", panel["targets"][0]["expr"])}
    assert asked
    for name in asked:
        assert re.search(rf"^{name}[ {{]", metrics, re.MULTILINE), name
