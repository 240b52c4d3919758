"""A service that is away: how long a call waits, and how a program goes on without it."""

from __future__ import annotations

import inspect
import logging
import os
import socket
import threading
import time

import pytest

from driftwise import Float, Study
from driftwise.cli import study_create, study_export, study_files, study_import, study_look, study_show, study_tell
from driftwise.errors import InvalidInput, NotFoundError, StoreError
from driftwise.service.connection import TIMEOUT, Connection
from driftwise.service.fleet_client import RemoteFleet

BOX = {"x": Float(0, 1)}


@pytest.fixture
def silent():
    """The address of a service that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def seconds(call) -> float:
    begun = time.monotonic()
    with pytest.raises(StoreError, match="no answer within"):
        call()
    return time.monotonic() - begun


@pytest.mark.parametrize("kind", ["silent", "nobody"])
def test_a_call_takes_its_timeout_in_all_with_what_is_tried_again(kind, request):
    url = request.getfixturevalue(kind)
    calls = [
        lambda: Study("a", BOX, path=url, timeout=0.2),
        lambda: Study.open("a", path=url, timeout=0.2),
        lambda: Study.names(url, timeout=0.2),
        lambda: Study("b", BOX).fork("a", path=url, timeout=0.2),
        lambda: RemoteFleet("a", url, timeout=0.2),
        lambda: list(Connection(url, timeout=0.2).lines("/studies/a/observations")),
    ]
    for call in calls:
        assert seconds(call) < 1.5


def test_the_default_is_ten_seconds(nobody):
    assert Connection.to(nobody, None).timeout == TIMEOUT == 10.0


@pytest.mark.slow
def test_a_call_takes_the_default_in_all(nobody):
    assert 5 < seconds(lambda: Study.names(nobody)) < 11


def test_answers_that_ask_to_come_back_do_not_outlast_the_timeout():
    answers = b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            there, _ = server.accept()
            there.recv(10_000)
            there.sendall(answers)
            there.close()

        one = threading.Thread(target=answer)
        one.start()
        begun = time.monotonic()
        with pytest.raises(StoreError, match="503"):
            Study.names(url, timeout=1.0)
        assert time.monotonic() - begun < 1.0
        one.join()


@pytest.mark.parametrize("bad", [0, -1, "3", float("nan"), True])
def test_a_timeout_is_positive_and_goes_with_an_address(bad, nobody, tmp_path):
    with pytest.raises(InvalidInput, match="timeout"):
        Study.names(nobody, timeout=bad)
    with pytest.raises(InvalidInput, match="timeout goes with the address of a service"):
        Study("a", BOX, path=tmp_path / "a.db", timeout=3.0)


def test_every_command_that_takes_a_token_takes_a_timeout():
    modules = [study_create, study_export, study_files, study_import, study_look, study_show, study_tell]
    found = [
        parameters
        for module in modules
        for function in vars(module).values()
        if inspect.isfunction(function) and "token" in (parameters := inspect.signature(function).parameters)
    ]
    assert len(found) >= 18
    assert all("timeout" in parameters for parameters in found)


def test_the_shell_waits_as_long_as_it_is_told(nobody, call):
    begun = time.monotonic()
    result = call(f"study ask a --path {nobody} --timeout 0.3")
    assert result.exit_code != 0
    assert "no answer within 0.3 seconds" in result.stderr
    assert time.monotonic() - begun < 5


def test_the_flags_client_has_the_same_timeout(silent):
    pytest.importorskip("openfeature.contrib.provider.ofrep", reason="driftwise[openfeature] is not installed")
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import OpenFeatureError

    from driftwise.service.flags.provider import DriftwiseProvider

    assert sum(DriftwiseProvider(silent).timeout) == TIMEOUT
    begun = time.monotonic()
    with pytest.raises(OpenFeatureError):
        DriftwiseProvider(silent, timeout=0.6).resolve_integer_details("web.x", 4, EvaluationContext("host"))
    assert time.monotonic() - begun < 1


# --- going on without it ----------------------------------------------------------------------------------------------


def test_a_program_goes_on_with_its_last_setting(served, tmp_path, caplog):
    url = served(tmp_path / "a.db")
    study = Study("a", BOX, "sw-gp-ucb", path=url, timeout=5)
    assert study.current is None
    first = study.ask(fallback={"x": 0.5})
    assert first.stored
    assert study.current == first.params
    study.tell(first, 1.0)
    way, study._connection = study._connection, Connection("http://127.0.0.1:9", timeout=0.2)  # the service is away
    with caplog.at_level(logging.WARNING, logger="driftwise"):
        spare = study.ask("tuesday", at=7.0, fallback=study.current)
    assert "goes on with the fallback" in caplog.text
    assert (spare.stored, spare.number, spare.params) == (False, 0, first.params)
    with pytest.raises(StoreError):
        study.ask()
    with pytest.raises(StoreError):
        study.tell(spare, 2.0)
    study.abandon(study.ask(fallback={"x": 0.25}))  # nothing is stored, so there is nothing to give up
    assert study.current == {"x": 0.25}
    study._connection = way  # and is back
    assert study.tell(spare, 2.0).new
    assert not study.tell(spare, 2.0).new
    told = list(study.observations())
    assert [(seen.number, seen.params, seen.reward, seen.at) for seen in told] == [
        (1, first.params, 1.0, 1.0),
        (2, first.params, 2.0, 7.0),
    ]
    assert study.pending() == []
    with pytest.raises(NotFoundError, match="no suggestion 'fallback-"):
        study.tell(spare.id, 2.0)


def test_a_file_that_cannot_be_written_has_a_fallback_too(tmp_path):
    study = Study("a", BOX | {"y": Float(0, 1)}, "sw-gp-ucb", path=tmp_path / "a.db")
    study.close()
    for file in tmp_path.iterdir():
        os.truncate(file, 1000)
    found = study.ask(n=2, fixed={"x": 0.75}, fallback={"x": 0.5, "y": 0.25})
    assert [(each.stored, each.params) for each in found] == [(False, {"x": 0.75, "y": 0.25})] * 2
    assert found[0].id != found[1].id


@pytest.mark.parametrize("bad", [{"x": 7}, {}, {"x": 0.5, "z": 1}, 3, "x"])
def test_a_wrong_fallback_is_refused_before_it_is_needed(bad):
    study = Study("a", BOX, "sw-gp-ucb")
    with pytest.raises(InvalidInput):
        study.ask(fallback=bad)
    assert study.describe().counts.asked == 0
