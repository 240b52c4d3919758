"""Events: whoever changes a study, those who follow it are told; and a stop of the service ends their streams."""

from __future__ import annotations

import json

import httpx

from driftwise import Float, Study
from serving import serving

BOX = {"x": Float(0, 1)}


def events(lines):
    """The data of server-sent events."""
    return (json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))


def test_changes_of_this_process_and_of_others_are_told(served, tmp_path):
    path = tmp_path / "a.db"
    url = served(path)
    here, there = Study("a", BOX, "random", path=path), Study("b", BOX, "random", path=url)
    with (
        httpx.stream("GET", f"{url}/v1/events?study=a", timeout=60) as only,
        httpx.stream("GET", f"{url}/v1/events", timeout=60) as every,
    ):
        some, all_ = events(only.iter_lines()), events(every.iter_lines())
        assert only.headers["content-type"].startswith("text/event-stream")
        assert next(some)["counts"]["told"] == 0  # how it stands
        assert Study.open("a", path=url).observe({"x": 0.5}, 1.0).new
        assert next(some)["counts"]["told"] == 1
        there.observe({"x": 0.5}, 1.0)
        here.observe({"x": 0.5}, 2.0)
        found = next(some)
        assert (found["study"], found["counts"]["told"]) == ("a", 2)
        here.delete()
        assert next(some) == {"study": "a", "counts": None}
        seen = [next(all_)["study"] for _ in range(3)]
        assert set(seen) <= {"a", "b"}


def test_changes_on_a_server_are_told_though_all_connections_were_lost(served, server, address):
    here = Study("a", BOX, "random", path=address)
    url = served(address)
    with httpx.stream("GET", f"{url}/v1/events?study=a", timeout=60) as stream:
        some = events(stream.iter_lines())
        assert next(some)["counts"]["told"] == 0
        for told in (1, 2):
            here.observe({"x": 0.5}, float(told))
            assert next(some)["counts"]["told"] == told
            assert server.kill_backend(told)  # of whom we do not know; all connections are lost with it


def test_a_stop_ends_the_streams(tmp_path):
    with serving(tmp_path / "a.db", grace_seconds=600.0) as url:
        client = httpx.Client(timeout=60)
        stream = client.send(client.build_request("GET", f"{url}/v1/events"), stream=True)
        lines = stream.iter_lines()
        assert next(lines).startswith(":")
    assert not [line for line in lines if line.startswith("data")]
    client.close()
