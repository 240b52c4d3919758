"""What an attack on the service broke: a study, a page or a caller that takes everything, and the others wait."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from driftwise import Float, Study
from driftwise.service.choosing import Worker
from driftwise.service.database import Database
from driftwise.service.limits import Seats
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens
from driftwise.study import ask_tell
from serving import wait

BOX = {"x": Float(0, 1)}
SOON = 20.0  # seconds after which a test gives up


@pytest.fixture(params=["file", "postgres"])
def store(request, tmp_path):
    return str(tmp_path / "a.db") if request.param == "file" else request.getfixturevalue("address")


@pytest.fixture
def busy(monkeypatch):
    """Asks at time 99 take until the event is set."""
    choose, entered, done = ask_tell.decision, threading.Event(), threading.Event()

    def slowly(policy, state, ask):
        if ask.at == 99.0:
            entered.set()
            assert done.wait(60)
        return choose(policy, state, ask)

    monkeypatch.setattr(ask_tell, "decision", slowly)
    yield entered, done
    done.set()


def test_an_ask_that_computes_keeps_no_other_study_waiting(served, store, busy):
    entered, done = busy
    url = served(store)
    slow, other = (Study(name, BOX, "random", path=url) for name in ("slow", "other"))
    elsewhere = Study.open("other", path=store)
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(slow.ask, at=99.0)
        assert entered.wait(SOON)
        began = time.monotonic()
        for study in (other, elsewhere):
            study.tell(study.ask(), 1.0)
            study.observe({"x": 0.5}, 1.0)
            study.load([{"params": {"x": 0.25}, "reward": 2.0}])
        slow.observe({"x": 0.5}, 3.0)  # nor do its own rewards wait
        assert time.monotonic() - began < SOON / 2
        assert not asked.done()
        done.set()
        assert asked.result(SOON).number == 2


def test_a_queue_for_a_study_is_short_and_waits_no_longer_than_a_call_may_take(served, tmp_path, busy, monkeypatch):
    monkeypatch.setattr("driftwise.service.choosing.WAITING", 2)
    entered, done = busy
    url = served(tmp_path / "a.db", seconds=1.0)
    Study("s", BOX, "random", path=url)

    def ask(at: float) -> tuple[int, float]:
        began = time.monotonic()
        answer = httpx.post(f"{url}/v1/studies/s/ask", json={"at": at}, timeout=60)
        if answer.status_code == 429:
            assert float(answer.headers["retry-after"]) > 0
        return answer.status_code, time.monotonic() - began

    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(ask, 99.0)
        assert entered.wait(SOON)
        others = list(threads.map(ask, [1.0] * 6))
        statuses = [status for status, _ in others]
        assert set(statuses) == {429, 504}
        assert statuses.count(504) == 2
        assert max(seconds for _, seconds in others) < 5.0  # each waited for its own second alone
        assert first.result(SOON)[0] == 504
    done.set()
    wait(lambda: ask(1.0)[0] in (200, 201))
    study = Study.open("s", path=tmp_path / "a.db")
    assert (
        study.describe().counts.asked == 2
    )  # the one that had begun, and the last: what nobody waited for is not there


def test_reads_go_on_while_another_program_has_the_file_locked(served, tmp_path):
    url = served(tmp_path / "a.db")
    study = Study("s", BOX, "random", path=url)
    asked = study.ask()
    study.observe({"x": 0.5}, 1.0)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as thread:
        told = thread.submit(study.tell, asked, 2.0)
        for _ in range(5):
            began = time.monotonic()
            assert len(list(Study.open("s", path=url).observations())) == 1
            assert time.monotonic() - began < SOON / 2
        assert not told.done()
        other.execute("ROLLBACK")
        assert told.result(SOON).new
    other.close()


def test_a_page_that_takes_long_is_computed_once_and_tells_do_not_wait(served, tmp_path, monkeypatch):
    calls, run = [], Worker.run

    async def slowly(worker, name, work):
        calls.append(name)
        await asyncio.sleep(1.0)
        return await run(worker, name, work)

    monkeypatch.setattr(Worker, "run", slowly)
    url = served(tmp_path / "a.db", threads=2)
    study = Study("s", BOX, "auto", path=url)
    for i in range(4):
        study.observe({"x": i / 4}, float(i))
    other = Study("t", BOX, "random", path=url)
    with ThreadPoolExecutor(12) as threads:
        page = f"{url}/dashboard/studies/s/over-time"
        readers = [threads.submit(httpx.get, page, timeout=60) for _ in range(12)]
        wait(lambda: calls)
        began = time.monotonic()
        other.tell(other.ask(), 1.0)
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert time.monotonic() - began < 0.9
        assert {reader.result(SOON).status_code for reader in readers} == {200}
    assert calls == ["s"]


def test_a_stream_ends_when_its_token_does(served, tmp_path, monkeypatch):
    monkeypatch.setattr("driftwise.service.api.events.FRESH", 0.05)
    tokens = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db"))))
    _, admin = tokens.create("admin", ("admin",))
    token, text = tokens.create("reader", ("read",))
    url = served(tmp_path / "a.db")
    headers = {"Authorization": f"Bearer {text}"}
    with httpx.stream("GET", f"{url}/v1/events", headers=headers, timeout=SOON) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith(":")
        tokens.revoke(token.id)
        began = time.monotonic()
        assert not [line for line in lines if line.startswith("event")]
        assert time.monotonic() - began < 10.0
    assert Study.names(url, token=admin) == []


def test_unknown_tokens_are_not_looked_up_and_slowed_down(served, tmp_path):
    tokens = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db"))))
    tokens.create("admin", ("admin",))
    for text in ("dw_" + "x" * 50_000 + "_y", "dw__", "x" * 50_000, "dw_0123_y"):
        assert tokens.find(text) is None
    assert len(tokens._known) == 0
    url = served(tmp_path / "a.db", requests_per_second=0.001, burst=5)
    statuses = [
        httpx.get(f"{url}/v1/studies", headers={"Authorization": f"Bearer dw_{i:012x}_{'z' * 43}"}).status_code
        for i in range(8)
    ]
    assert statuses == [401] * 5 + [429] * 3


def test_nobody_takes_all_seats():
    seats = Seats(20)
    assert [seats.enter("a") for _ in range(3)] == [True, True, False]
    assert all(seats.enter(who) for who in "bbccddeeffgghhiijj")
    assert not seats.enter("k")
    seats.leave("a")
    assert seats.enter("k")
    assert seats.taken == 20


def test_what_nobody_waits_for_is_forgotten():
    from driftwise.service.choosing import Turns

    async def run() -> None:
        turns = Turns()
        await turns.take("s")
        waiting = asyncio.ensure_future(turns.take("s"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        turns.give("s")
        assert turns._locks == {}

    asyncio.run(run())
