"""Group commit: calls that arrive together are one transaction, and each has its own answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller

import pytest
import sqlalchemy as sa

from driftwise import Float, Study
from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.studies import Studies

BOX = {"x": Float(0, 1)}


@pytest.fixture(params=["file", "server"])
def store(request, tmp_path):
    return str(tmp_path / "a.db") if request.param == "file" else request.getfixturevalue("address")


def written(store, calls, fails=lambda store: None, names=()):
    """The answers to calls that are there before the first group begins, and how many transactions there were."""
    settings = ServiceSettings(store=store)
    transactions = 0

    async def run():
        nonlocal transactions
        async with Studies(settings, Database(settings)) as studies:
            for name in names:
                studies.kept.get(name)
            fails(studies.store)
            before = studies.store.writing

            def counted(*args, **options):
                nonlocal transactions
                transactions += 1
                return before(*args, **options)

            studies.store.writing = counted
            answers = await asyncio.gather(*(call(studies) for call in calls), return_exceptions=True)
            del studies.store.writing
            return answers

    return asyncio.run(run()), transactions


def test_what_arrives_together_is_one_transaction_with_an_answer_for_each(store):
    studies = [Study(f"s{i}", BOX, "random", path=store) for i in range(3)]
    asked = [study.ask() for study in studies for _ in range(2)]
    names = [f"s{i // 2}" for i in range(6)]
    calls = [
        methodcaller("store_entry", name, s.id, reward=float(i))
        for i, (name, s) in enumerate(zip(names, asked, strict=True))
    ]
    answers, transactions = written(store, calls)
    assert [answer.new for answer in answers] == [True] * 6
    assert transactions == 1
    assert [seen.reward for study in studies for seen in study.observations()] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_an_error_is_its_callers_alone(store):
    study = Study("s", BOX, "random", path=store)
    first, second = study.ask(), study.ask()
    study.tell(first, 1.0)
    calls = [
        methodcaller("store_entry", "s", first.id, reward=2.0),
        methodcaller("store_entry", "s", second.id, reward=3.0),
        methodcaller("store_entry", "s", {"x": 0.5}, reward=4.0, key="k"),
        methodcaller("store_entry", "s", {"x": 0.5}, reward=4.0, key="k"),
        methodcaller("store_entry", "s", "99-none", reward=1.0),
        methodcaller("store_entry", "none", first.id, reward=1.0),
    ]
    answers, _ = written(store, calls)
    assert [type(answer) for answer in answers[:1]] == [ConflictError]
    assert (answers[1].new, answers[2].new, answers[3].new) == (True, True, False)
    assert [type(answer) for answer in answers[4:]] == [NotFoundError, NotFoundError]
    assert [seen.reward for seen in study.observations()] == [1.0, 3.0, 4.0]


def test_a_store_that_fails_answers_everybody_and_stores_nothing(tmp_path, monkeypatch):
    path = str(tmp_path / "a.db")
    study = Study("s", BOX, "random", path=path)
    asked = [study.ask() for _ in range(3)]

    def full(*_, **__):
        raise StoreError("the disk is full; make room and try again")

    def fails(store):
        monkeypatch.setattr(type(store), "writing", full)

    answers, _ = written(path, [methodcaller("store_entry", "s", s.id, reward=1.0) for s in asked], fails)
    assert {type(answer) for answer in answers} == {StoreError}
    monkeypatch.undo()
    assert list(study.observations()) == []
    answers, _ = written(path, [methodcaller("store_entry", "s", s.id, reward=1.0) for s in asked])
    assert all(answer.new for answer in answers)


def test_a_study_that_was_deleted_and_made_again_elsewhere_is_found(served, tmp_path):
    path = tmp_path / "a.db"
    url = served(path)
    there = Study("s", BOX, "random", path=url)
    there.tell(there.ask(), 1.0)
    Study.open("s", path=path).delete()
    with pytest.raises(NotFoundError):
        there.observe({"x": 0.5}, 1.0)
    Study("s", BOX, "random", path=path, seed=7)
    assert there.observe({"x": 0.5}, 2.0).number == 1
    assert there.ask().number == 2


def test_many_clients_at_once_lose_and_double_nothing(served, store):
    url = served(store)
    studies = [Study(f"s{i}", BOX, "random", path=url) for i in range(4)]
    asked = [(study, s) for study in studies for s in study.ask(n=25)]
    with ThreadPoolExecutor(8) as pool:
        twice = [*asked, *asked[::5]]
        receipts = list(pool.map(lambda pair: pair[0].tell(pair[1], float(pair[1].number)), twice))
    assert sum(receipt.new for receipt in receipts) == 100
    for study in studies:
        assert [(o.number, o.reward) for o in study.observations()] == [(n, float(n)) for n in range(1, 26)]


def test_the_statements_of_a_group_do_not_depend_on_how_many_tells_it_has(store, monkeypatch):
    def statements(count):
        studies = [Study(f"{count}-{i}", BOX, "random", path=store) for i in range(count)]
        calls = [methodcaller("store_entry", study.name, study.ask().id, reward=1.0) for study in studies]
        found = []
        execute = sa.Connection.execute

        def counted(connection, statement, *args, **options):
            found.append(statement)
            return execute(connection, statement, *args, **options)

        monkeypatch.setattr(sa.Connection, "execute", counted)
        answers, transactions = written(store, calls, lambda store: found.clear(), [study.name for study in studies])
        monkeypatch.undo()
        assert (transactions, sum(answer.new for answer in answers)) == (1, count)
        return len(found)

    assert statements(2) == statements(20)


def test_a_group_does_not_wait_for_a_study_that_somebody_else_has_locked(address):
    import psycopg

    studies = [Study(f"s{i}", BOX, "random", path=address) for i in range(3)]
    asked = [study.ask() for study in studies]
    settings = ServiceSettings(store=address)
    locked = psycopg.connect(address.partition("&schema=")[0])
    schema = address.partition("&schema=")[2]

    async def run():
        async with Studies(settings, Database(settings)) as service:
            locked.execute(f"SELECT FROM {schema}.studies WHERE name = 's1' FOR UPDATE")
            tasks = [asyncio.ensure_future(service.store_entry(f"s{i}", s.id, reward=1.0)) for i, s in enumerate(asked)]
            await asyncio.gather(tasks[0], tasks[2])
            assert not tasks[1].done()
            locked.rollback()
            return (await tasks[1]).new

    assert asyncio.run(run())
    locked.close()
