"""A database that is away, and a clock that jumps: a clear answer, and everything goes on by itself."""

from __future__ import annotations

import os
import threading
import time

import httpx
import pytest

from driftwise import Float, Study
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens

BOX = {"x": Float(0, 1)}
AWAY = float(os.environ.get("DRIFTWISE_AWAY_SECONDS", "1"))  # the same test with 30 is for whoever has the time
YEARS = 10 * 365 * 86400.0


@pytest.mark.slow
def test_calls_wait_for_a_database_that_is_away_and_count_once(served, server, address, monkeypatch):
    monkeypatch.setattr("driftwise.service.app.READY_SECONDS", 0.2)
    url = served(address)
    study = Study("s", BOX, "random", path=url)
    asked = study.ask(n=4)
    study.tell(asked[0], 0.0)
    receipts = []
    clients = [threading.Thread(target=lambda s=s: receipts.append(study.tell(s, 1.0))) for s in asked[1:]]
    server.stop()
    try:
        for client in clients:
            client.start()
        ready = httpx.get(f"{url}/readyz", timeout=60)
        assert (ready.status_code, ready.json()["status"]) == (503, 503)
        assert httpx.get(f"{url}/healthz").status_code == 200
        time.sleep(AWAY)
        assert receipts == []
    finally:
        server.start()
    for client in clients:
        client.join(60)
    assert len(receipts) == 3
    assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    assert [(seen.number, seen.reward) for seen in study.observations()] == [(1, 0.0), (2, 1.0), (3, 1.0), (4, 1.0)]


def test_only_what_expires_goes_by_the_clock(served, tmp_path, monkeypatch):
    shift, real = [0.0], time.time
    monkeypatch.setattr(time, "time", lambda: real() + shift[0])
    path = tmp_path / "a.db"
    tokens = Tokens(Database(ServiceSettings(store=str(path))))
    _, ending = tokens.create("ending", ("admin",), days=1)
    _, lasting = tokens.create("lasting", ("admin",))
    url = served(path, requests_per_second=1e-6, burst=12)
    study = Study("s", BOX, "random", path=url, token=lasting)  # 1 request

    def status(token):
        return httpx.get(f"{url}/v1/studies", headers={"Authorization": f"Bearer {token}"}).status_code

    found = []
    for shift[0] in (0.0, YEARS, -YEARS):  # 3 requests each time
        found.append(status(ending))
        s = study.ask()
        assert study.tell(s, float(s.number)).new
        assert status(lasting) == 200
    assert found == [200, 401, 200]  # the day of the one token was over, and came back
    assert [(seen.number, seen.at) for seen in study.observations()] == [(1, 1.0), (2, 2.0), (3, 3.0)]  # 1 request
    assert status(lasting) == 200
    shift[0] = YEARS
    assert status(lasting) == 429  # ten years have not passed for who counts requests
