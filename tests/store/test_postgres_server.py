"""What is particular to a server: locks, threads, lost connections, versions and damage."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from contracts.store import at, everything
from driftwise import Float, Study
from driftwise.errors import InvalidInput, NotFoundError, StoreError
from driftwise.log import Chosen, NewObservation, Outcome, open_store, schema, verify

pytest.importorskip("psycopg", reason="there is no psycopg: pip install 'driftwise[postgres]'")

from driftwise.log.postgres import Postgres
from driftwise.log.postgres_address import parsed
from driftwise.log.postgres_connect import connect

SOON = 30.0  # seconds after which a test that waits for a thread gives up


def backends(address: str) -> int:
    """Ends every other session of the server."""
    with connect(parsed(address)) as raw:
        ended = raw.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        return len(ended.fetchall())


def locks(address: str) -> int:
    """How many locks on rows and numbers are held or awaited, once all ended sessions are gone."""
    with connect(parsed(address)) as raw:
        query = (
            "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND (locktype = 'advisory' OR "
            "(locktype = 'transactionid' AND mode = 'ExclusiveLock'))"
        )
        for _ in range(200):
            row = raw.execute(query).fetchone()
            if row == (0,):
                return 0
            raw.execute("SELECT pg_sleep(0.02)")
        return int(row[0])


# --- one at a time for each study, and side by side for several ------------------------------------------------------


def test_others_tell_and_read_while_one_chooses_and_another_study_asks(address):
    store = open_store(address)
    log, other = store.create("a", "{}"), store.create("b", "{}")
    told = log.ask(None, at(0.5), 1000)

    def prepare(view):
        def choose():
            with ThreadPoolExecutor(1) as thread:
                thread.submit(log.tell, told.id, Outcome(1.0)).result(SOON)
                assert thread.submit(everything, log).result(SOON)[0].told == 1
                assert thread.submit(other.ask, None, at(0.5), 1000).result(SOON).number == 1
            return (Chosen((0.1,), 1.0),)

        return choose

    assert log.ask(None, prepare, 1000).number == 2


def test_asks_of_one_study_take_numbers_of_their_own(address):
    log = open_store(address).create("a", "{}")
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda i: log.ask(f"k{i}", at(i / 100), 1000), range(40)))
    assert sorted(asked.number for asked in made) == list(range(1, 41))
    assert all(log.ask(f"k{i}", at(0.5), 1000) == asked for i, asked in enumerate(made))


def test_many_threads_on_a_few_studies(address):
    names, each = ["a", "b", "c"], 12
    stores = [open_store(address)] * 2 + [Postgres(address)]

    def work(i: int) -> None:
        log = stores[i % 3].create(names[i % 3], "{}")
        asked = log.ask(f"k{i}", at(0.5), 1000)
        assert log.ask(f"k{i}", at(0.1), 1000) == asked
        assert log.tell(asked.id, Outcome(float(i))).new
        assert not log.tell(asked.id, Outcome(float(i))).new
        log.observe((0.5,), Outcome(-float(i)), None, f"o{i}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(len(names) * each)))
    for name in names:
        log = open_store(address).open(name)
        counts = everything(log)[0]
        assert (counts.last, counts.asked, counts.told, counts.unasked) == (2 * each, each, 2 * each, each)
    assert not verify.check(address)


def test_creating_in_many_threads_at_once(address):
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: Postgres(address).create("a", "{}").study, range(8)))
    assert set(made) == {1}


# --- lost connections and interrupts ---------------------------------------------------------------------------------


def test_a_lost_connection_is_opened_again(address):
    log = open_store(address).create("a", "{}")
    asked = log.ask("k", at(0.5), 1000)
    assert backends(address) > 0
    assert log.tell(asked.id, Outcome(1.0)).new
    assert backends(address) > 0
    assert log.ask(None, at(0.5), 1000).number == 2


def test_a_connection_lost_while_it_chooses_leaves_one_suggestion(address):
    log, lost = open_store(address).create("a", "{}"), []

    def prepare(view):
        def choose():
            lost.append(backends(address))
            return (Chosen((0.1,), 1.0),)

        return choose

    assert log.ask(None, prepare, 1000).number == 1
    assert lost == [1]
    assert everything(log)[0].asked == 1
    assert locks(address) == 0


@pytest.fixture
def unanswered(monkeypatch):
    """The next commit of what was written is stored, or not, and its answer is lost."""
    import psycopg

    commit, left = sa.Connection.commit, []

    def lose(connection):
        if left and not connection.get_execution_options().get("postgresql_readonly"):
            if left.pop():
                commit(connection)
            connection.invalidate()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        commit(connection)

    monkeypatch.setattr(sa.Connection, "commit", lose)
    return left


CALLS = {
    "ask": lambda log, told: log.ask(None, at(0.25), 1000).number,
    "ask with a key": lambda log, told: log.ask("k", at(0.25), 1000).number,
    "ask for several": lambda log, told: len(log.ask_many("b", lambda v: lambda: (Chosen((0.1,), 1.0),) * 3, 9, 3)),
    "tell": lambda log, told: log.tell(told.id, Outcome(1.0)).number,
    "abandon": lambda log, told: log.abandon(told.id),
    "observe with a key": lambda log, told: log.observe((0.5,), Outcome(1.0), None, "o").number,
    "load with keys": lambda log, told: log.load([NewObservation((0.5,), Outcome(2.0), key="l")]) and None,
    "correct": lambda log, told: log.correct(1, Outcome(5.0)).number,
}


@pytest.mark.parametrize("stored", [True, False])
def test_a_commit_whose_answer_is_lost_is_looked_up(address, unanswered, stored):
    store = open_store(address)
    for i, (name, call) in enumerate(CALLS.items()):
        disturbed, twin = (store.create(f"{name} {which}", "{}") for which in ("disturbed", "twin"))
        answers = []
        for log in (disturbed, twin):
            log.observe((0.5,), Outcome(1.0), None, "first")
            told = log.ask("told", at(0.5), 1000)
            before = log.read(lambda view: view.counts.told)
            assert before == 1
            if log is disturbed:
                unanswered.append(stored)
            answers.append(call(log, told))
        assert answers[0] == answers[1], (i, name)
        assert not unanswered, name
        assert everything(disturbed)[0] == everything(twin)[0], name
    assert not verify.check(address)


def test_a_lost_answer_that_nothing_can_resolve_is_reported(address, unanswered):
    log = open_store(address).create("a", "{}")
    unanswered.append(True)
    with pytest.raises(StoreError, match=r"not known whether the call was stored.*repeat a call that has a key"):
        log.observe((0.5,), Outcome(1.0))


def test_interrupts_leave_no_lock_and_the_call_works_again(address, monkeypatch):
    # Python prints an interrupt in the callback of a weak reference, and SQLAlchemy's pool logs it: neither does harm
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        raise Interrupted

    draw, kept = random.Random(5), []
    study, twin = (Study(n, {"x": Float(0, 1)}, "sw-gp-ucb", window=8, path=address) for n in ("disturbed", "twin"))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(25):
            for attempt in range(3):
                try:
                    signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0005, 0.02))
                    study.tell(study.ask(key=f"k{i}"), float(i % 7))
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except Interrupted as error:
                    kept.append((attempt, error))
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert locks(address) == 0
            s, t = study.ask(key=f"k{i}"), twin.ask(key=f"k{i}")
            assert (s.number, s.x) == (t.number, t.x)
            study.tell(s, float(i % 7))
            twin.tell(t, float(i % 7))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert kept
    assert study.describe().counts == twin.describe().counts


def test_a_signal_handler_may_use_the_store_inside_a_call(address):
    log, numbers = open_store(address).create("a", "{}"), []
    before = signal.signal(signal.SIGALRM, lambda *_: numbers.append(log.observe((0.5,), Outcome(1.0)).number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert log.read(lambda view: (time.sleep(0.5), view.counts.last)[1]) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
    assert numbers == [1]


# --- addresses, versions and damage ----------------------------------------------------------------------------------


def test_an_address_that_is_wrong_is_refused_at_once(server):
    for path, why in (
        ("postgresql://nobody@/postgres?host=/tmp/there-is-none", "cannot be reached"),
        (server.url("there_is_none"), "cannot be reached.*there_is_none"),
    ):
        with pytest.raises(StoreError, match=why):
            open_store(path)
    with pytest.raises(InvalidInput, match="schema must be"):
        open_store(server.url(schema="a;b"))


def test_opening_creates_nothing(address):
    with pytest.raises(NotFoundError, match="there is no study in postgresql://"):
        Study.open("a", path=address)
    with pytest.raises(NotFoundError):
        open_store(address, create=False)


def test_a_password_is_never_shown(server):
    path = server.url(password="s3cret", schema="with_password")
    study = Study("a", {"x": Float(0, 1)}, path=path)
    said = repr(study) + str(study.describe().path) + open_store(path).where
    assert "s3cret" not in said
    assert said.count("***") == 3
    with pytest.raises(NotFoundError) as refused:
        Study.open("b", path=path)
    assert "s3cret" not in str(refused.value)


def test_the_session_is_kept_as_promised(address):
    def setting(name):
        return open_store(address).reading(lambda c: c.exec_driver_sql(f"SHOW {name}").scalar())

    assert setting("synchronous_commit") == "on"
    assert setting("lock_timeout") == "10min"
    assert setting("transaction_isolation") == "repeatable read"


def change(address: str, statement: str) -> None:
    with connect(parsed(address)) as raw:
        raw.execute(statement.encode())


def test_another_format_is_refused(address):
    open_store(address).create("a", "{}")
    change(address, f"UPDATE format SET version = {schema.VERSION + 1}")
    with pytest.raises(StoreError, match="it has format 2, and this driftwise reads format 1"):
        Postgres(address)


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE entries SET body = set_byte(body, 15, 77) WHERE seq = 4", "entry 4 does not match"),
        ("DELETE FROM entries WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM entries WHERE seq = 9", "entry 9 is not the one"),
        ("UPDATE entries SET chain = chain + 1 WHERE seq = 5", "entry 5 does not continue"),
        ("UPDATE studies SET description = '[]'", "entry 1 does not continue"),
        ("UPDATE studies SET told = told - 1", "its entries say"),
    ],
)
def test_damage_is_found(address, statement, where):
    log = open_store(address).create("a", "{}")
    for i in range(4):
        log.tell(log.ask(f"k{i}", at(0.5), 1000).id, Outcome(float(i)))
    log.correct(4, Outcome(9.0))
    assert not verify.check(address)
    change(address, statement)
    (found,) = verify.check(address)
    assert found.study == "a"
    assert where in found.problem
    if "counts" not in found.problem:
        with pytest.raises(StoreError, match=where):
            log.read(lambda view: view.tail())


@pytest.mark.slow
def test_kills_of_clients_backends_and_the_server_lose_nothing(server):
    script = Path(__file__).parents[1] / "study" / "server_kills.py"
    done = subprocess.run([sys.executable, script, "10", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    for harm in ("lost", "doubled", "halves", "gaps", "too many", "changed questions"):
        assert figures[harm] == 0, figures
    assert min(figures[kind] for kind in ("of clients", "of backends", "of the server")) > 0
    assert figures["acknowledged"] > 0
