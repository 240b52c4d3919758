"""Flags and sources of a study that is renamed, deleted or made again; plans that are replaced; two replicas."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from test_sources import Place, begin, wait

from driftwise import Float, Study
from driftwise.errors import StoreError

SPACE = {"x": Float(0, 1)}


def evaluated(url: str, name: str, key: str = "a") -> httpx.Response:
    return httpx.post(f"{url}/ofrep/v1/evaluate/flags/{name}.x", json={"context": {"targetingKey": key}})


def tracked(url: str, **more) -> list[str]:
    body = {"event": "e", "targeting_key": "a", "value": 7.0, **more}
    return httpx.post(f"{url}/v1/track", json=body).raise_for_status().json()["studies"]


@pytest.fixture
def place():
    made = Place()
    yield made
    made.close()


@pytest.fixture
def study(tmp_path) -> Study:
    return Study("web", SPACE, "sw-gp-ucb", path=tmp_path / "a.db", window=20)


@pytest.fixture
def url(served, study, tmp_path) -> str:
    address = served(tmp_path / "a.db")
    httpx.put(f"{address}/v1/studies/web/flags", json={"event": "e", "enough": 2}).raise_for_status()
    return address


def test_a_study_that_is_made_again_has_no_flags_holders_or_events_of_the_old_one(url, tmp_path):
    assert evaluated(url, "web").status_code == 200
    tracked(url)
    httpx.delete(f"{url}/v1/studies/web").raise_for_status()
    assert tracked(url) == []
    again = Study("web", SPACE, "sw-gp-ucb", path=url, window=20)
    assert evaluated(url, "web").json()["errorCode"] == "FLAG_NOT_FOUND"
    assert httpx.get(f"{url}/v1/studies/web/flags").status_code == 404
    httpx.put(f"{url}/v1/studies/web/flags", json={"event": "e", "enough": 2}).raise_for_status()
    assert tracked(url) == []  # nobody has a setting of it yet
    assert evaluated(url, "web").status_code == 200
    tracked(url)
    assert again.describe().counts.told == 0  # the event of the old study does not count here


def test_flags_follow_a_study_that_is_renamed(url, tmp_path):
    before = evaluated(url, "web").json()
    tracked(url)
    httpx.post(f"{url}/v1/studies/web/rename", json={"to": "shop"}).raise_for_status()
    Study("web", SPACE, "sw-gp-ucb", path=url, window=20)
    after = evaluated(url, "shop").json()
    assert (after["variant"], after["value"]) == (before["variant"], before["value"])
    assert evaluated(url, "web").status_code == 404
    assert tracked(url) == ["shop"]
    assert [seen.reward for seen in Study.open("shop", path=tmp_path / "a.db").observations()] == [7.0]


def test_a_name_with_a_slash_or_a_percent_sign_may_be_escaped(url):
    for name, path in (("a/b", "a%2Fb"), ("50%", "50%25"), ("a b", "a%20b")):
        Study(name, SPACE, "sw-gp-ucb", path=url, window=20)
        httpx.put(f"{url}/v1/studies/{path}/flags", json={}).raise_for_status()
        assert evaluated(url, path).json()["key"] == f"{name}.x"


@pytest.mark.slow
def test_a_reward_that_could_not_be_told_is_told_later(url, tmp_path, monkeypatch):
    """The sum is closed, and then the store is away for a moment."""
    from driftwise.service.flags import tracking

    real, away = tracking._tell, [True]

    def broken(*args, **options):
        if away[0]:
            raise StoreError("the store is away; try again")
        return real(*args, **options)

    monkeypatch.setattr(tracking, "_tell", broken)
    evaluated(url, "web")
    tracked(url, key="1")
    assert httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "a", "key": "2"}).status_code == 503
    away[0] = False
    found = Study.open("web", path=tmp_path / "a.db")
    wait(lambda: found.describe().counts.told == 1)
    assert [seen.reward for seen in found.observations()] == [4.0]


@pytest.mark.slow
def test_one_study_that_cannot_be_told_hides_no_other(url, tmp_path, monkeypatch):
    from driftwise.service.flags import tracking

    real = tracking._tell

    def broken(study, **options):
        if study.name == "a":
            raise StoreError("it is damaged; restore it")
        return real(study, **options)

    monkeypatch.setattr(tracking, "_tell", broken)
    for name in ("a", "z"):
        Study(name, SPACE, "sw-gp-ucb", path=url, window=20)
        plan = {"event": name, "enough": 9, "within_seconds": 0.1}
        httpx.put(f"{url}/v1/studies/{name}/flags", json=plan).raise_for_status()
        evaluated(url, name)
        tracked(url, event=name)
    last = Study.open("z", path=tmp_path / "a.db")
    wait(lambda: last.describe().counts.told == 1)


@pytest.mark.slow
def test_a_plan_that_is_deleted_takes_no_closed_reward_with_it(url, tmp_path, monkeypatch):
    from driftwise.service.flags import tracking

    real, away = tracking._tell, [True]
    monkeypatch.setattr(tracking, "_tell", lambda *a, **o: 1 / 0 if away[0] else real(*a, **o))
    evaluated(url, "web")
    tracked(url)
    assert httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "a"}).status_code == 500
    httpx.delete(f"{url}/v1/studies/web/flags").raise_for_status()
    away[0] = False
    found = Study.open("web", path=tmp_path / "a.db")
    wait(lambda: found.describe().counts.told == 1)


def test_what_is_pruned_is_what_no_event_can_refer_to(url, tmp_path):
    """A key that keeps its setting for a month still has it after a week."""
    import sqlalchemy as sa

    from driftwise.service.database import Database
    from driftwise.service.flags import tables, tracking
    from driftwise.service.settings import ServiceSettings

    httpx.put(f"{url}/v1/studies/web/flags", json={"event": "e", "keep_seconds": 30 * 86400}).raise_for_status()
    evaluated(url, "web")
    database = Database(ServiceSettings(store=str(tmp_path / "a.db")))
    for days, left in ((10, ["web"]), (60, [])):
        moved = sa.update(tables.holders).values(at=tables.holders.c.at - days * 86400.0)
        database.write(lambda connection, moved=moved: connection.execute(moved))
        database.write(tracking.prune)
        assert tracked(url) == left
    httpx.delete(f"{url}/v1/studies/web").raise_for_status()
    database.write(tracking.prune)
    for table in tables.metadata.sorted_tables:
        count = sa.select(sa.func.count()).select_from(table)
        assert database.read(lambda connection, count=count: connection.execute(count).scalar()) == 0


def test_a_source_that_is_set_again_begins_with_new_settings(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    for told in (2, 4):
        begin(url, place)
        wait(lambda told=told: study.describe().counts.told >= told)
        httpx.delete(f"{url}/v1/studies/web/source").raise_for_status()
    ids = [each["suggestion"] for each in place.settings]
    assert len(set(ids)) == len(ids)  # none was applied twice


def test_the_source_of_a_deleted_study_is_not_that_of_the_next(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    begin(url, place, average_seconds=600.0)
    wait(lambda: place.settings)
    httpx.delete(f"{url}/v1/studies/web").raise_for_status()
    again = Study("web", SPACE, "sw-gp-ucb", path=tmp_path / "a.db", window=20)
    assert httpx.get(f"{url}/v1/studies/web/source").status_code == 404
    assert again.pending() == []


def test_a_source_follows_a_study_that_is_renamed(served, place, study, tmp_path):
    url = served(tmp_path / "a.db")
    begin(url, place)
    wait(lambda: study.describe().counts.told >= 1)
    httpx.post(f"{url}/v1/studies/web/rename", json={"to": "shop"}).raise_for_status()
    renamed = Study.open("shop", path=tmp_path / "a.db")
    before = renamed.describe().counts.told
    wait(lambda: renamed.describe().counts.told > before + 1)
    assert httpx.get(f"{url}/v1/studies/shop/source").json()["problem"] == ""


@pytest.mark.slow
def test_replicas_on_postgresql_start_together_and_tell_a_reward_once(served, address):
    """Each event is sent to both, with its key: it counts once, and one reward is told."""
    from driftwise.service.app import create_app
    from driftwise.service.settings import ServiceSettings

    Study("first", SPACE, "sw-gp-ucb", path=address, window=20)  # so that the store is there, and no service's tables
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: create_app(ServiceSettings(store=address)), range(4)))
    one, two = served(address), served(address)
    found = Study("web", SPACE, "sw-gp-ucb", path=address, window=20)
    httpx.put(f"{one}/v1/studies/web/flags", json={"event": "e", "enough": 20}).raise_for_status()
    assert evaluated(one, "web").json() == evaluated(two, "web").json()
    with ThreadPoolExecutor(8) as threads:
        sent = [(url, i) for i in range(20) for url in (one, two)]
        list(threads.map(lambda each: tracked(each[0], key=str(each[1]), value=float(each[1])), sent))
    assert [(seen.reward, seen.repeats) for seen in found.observations()] == [(9.5, 20)]
