"""Fleets behind HTTP: the choices of a fleet in this process, rewards that count once, and the rules of tokens."""

from __future__ import annotations

import httpx
import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import AccessError, ConflictError, InvalidInput, NotFoundError

pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")

from driftwise.service import wire
from driftwise.service.fleet_client import RemoteFleet
from driftwise.service.settings import ServiceSettings

SPACE = {"price": dw.Float(5, 20), "mode": dw.Choice(["a", "b"])}
OPTIONS = {"window": 12, "engine": "numpy"}


def reward(params, step):
    return [np.sin(each["price"] / 3 + i) + (each["mode"] == "b") + step / 50 for i, each in enumerate(params)]


@pytest.fixture
def url(served, tmp_path):
    dw.Fleet("prices", SPACE, path=tmp_path / "fleets", **OPTIONS).close()
    return served(tmp_path / "a.db", fleets=str(tmp_path / "fleets"))


@pytest.mark.slow
def test_it_is_the_fleet_itself(url, tmp_path):
    remote, twin, keys = RemoteFleet("prices", url), dw.Fleet("twin", SPACE, **OPTIONS), ["apples", 7, "pears"]
    assert remote.description["where"] == "256 points of the box and 7 around each"
    for step in range(15):
        batch, expected = remote.ask(keys), twin.ask(keys)
        assert batch.params == expected.params
        assert batch.ids.tolist() == expected.ids.tolist()
        y = reward(batch.params, step)
        y[step % 3] = np.nan
        assert remote.tell(batch, y) == twin.tell(expected, y)
        assert remote.tell(batch, y).known == 2  # once
    advice, expected = remote.recommend(keys), twin.recommend(keys)
    assert np.array_equal(advice.mean, expected.mean)
    assert len(remote) == 3
    moved = httpx.post(f"{url}/v1/fleets/prices/drift", json={"keys": keys}).json()
    assert moved["told"] == twin.drift(keys).told.tolist()


def test_rewards_are_there_after_the_service(served, tmp_path):
    dw.Fleet("prices", SPACE, path=tmp_path, **OPTIONS).close()
    from tests.serving import serving

    with serving(tmp_path / "a.db", fleets=str(tmp_path)) as url:
        batch = RemoteFleet("prices", url).ask(["a", "b"])
        RemoteFleet("prices", url).tell(batch, [1.0, 2.0])
    with dw.Fleet.open("prices", path=tmp_path) as fleet:  # which the service has given up
        assert fleet.drift(["a", "b"]).told.tolist() == [1, 1]
        assert fleet.tell(batch.ids, [1.0, 2.0]).known == 2


def test_a_client_sends_many_keys_in_parts(url, monkeypatch):
    monkeypatch.setattr(wire, "FLEET_KEYS", 4)
    remote = RemoteFleet("prices", url)
    batch = remote.ask(list(range(10)))
    assert (len(batch.ids), len(batch.params)) == (10, 10)
    assert remote.tell(batch, np.arange(10.0)).new == 10


def test_errors_are_those_of_a_fleet(url):
    remote = RemoteFleet("prices", url)
    batch = remote.ask(["a"])
    remote.tell(batch, [1.0])
    with pytest.raises(ConflictError, match=r"was told 1\.0 before, now 2\.0"):
        remote.tell(batch, [2.0])
    with pytest.raises(NotFoundError, match="no suggestion"):
        remote.tell([99 << 32 | 1], [1.0])
    with pytest.raises(NotFoundError, match="has no key 'nobody'"):
        remote.recommend(["nobody"])
    with pytest.raises(NotFoundError, match="there is no fleet 'other'"):
        RemoteFleet("other", url)
    with pytest.raises(InvalidInput, match="a reward for each of the 1 suggestions"):
        remote.tell(batch, [1.0, 2.0])


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("ask", {"keys": []}, 400),
        ("ask", {"keys": [1.5]}, 400),
        ("ask", {"keys": [None]}, 400),
        ("ask", {"keys": [["a"]]}, 400),
        ("ask", {"keys": "abc"}, 400),
        ("ask", {"keys": list(range(wire.FLEET_KEYS + 1))}, 400),
        ("tell", {"ids": [1], "rewards": ["1"]}, 400),
        ("tell", {"ids": [-1], "rewards": [1.0]}, 400),
        ("tell", {"ids": [1, 2], "rewards": [1.0]}, 422),
        ("tell", {"ids": [1]}, 400),
    ],
)
def test_what_does_not_fit_is_refused(url, what, body, status):
    answer = httpx.post(f"{url}/v1/fleets/prices/{what}", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text


@pytest.mark.parametrize("name", ["..%2F..%2Fetc", "nothing", "%2E%2E"])
def test_a_name_leads_nowhere_else(url, name):
    assert httpx.get(f"{url}/v1/fleets/{name}").status_code in (404, 422)


def test_without_fleets_the_routes_say_so(served, tmp_path):
    with pytest.raises(NotFoundError, match="start it with --fleets PATH"):
        RemoteFleet("prices", served(tmp_path / "a.db"))
    with pytest.raises(InvalidInput, match="fleets must be a folder that exists"):
        ServiceSettings(fleets=str(tmp_path / "nowhere"))


def test_tokens_have_scopes_and_names(url, tmp_path):
    from driftwise.service.database import Database
    from driftwise.service.tokens import Tokens

    tokens = Tokens(Database(ServiceSettings(store=str(tmp_path / "a.db"))))
    _, asks = tokens.create("asks", ("ask", "read"), study="prices")
    _, other = tokens.create("other", ("admin",), project="shop")
    with pytest.raises(AccessError, match="needs a token"):
        RemoteFleet("prices", url)
    fleet = RemoteFleet("prices", url, token=asks)
    batch = fleet.ask(["a"])
    with pytest.raises(AccessError, match="scope tell"):
        fleet.tell(batch, [1.0])
    with pytest.raises(NotFoundError, match="there is no fleet 'prices'"):
        RemoteFleet("prices", url, token=other)
