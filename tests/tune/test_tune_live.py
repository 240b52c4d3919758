"""`driftwise tune --apply`: a system that runs is given settings, and Prometheus is asked for the reward."""

import asyncio
import json
import signal
from typing import ClassVar

import httpx
import pytest
from tests.service.test_sources import Place
from tests.tune.scripts import started, until

from driftwise import Float, Study, at_most
from driftwise.errors import InvalidInput
from driftwise.records import Suggestion
from driftwise.tune import live
from driftwise.tune.live_plan import LivePlan

SMALL = "--float x=0:1 --policy sw-gp-ucb:window=10"
TIMES = "--settle 0.02 --average 0.05"


@pytest.fixture
def place():
    made = Place()
    yield made
    made.close()


@pytest.fixture
def line(place):
    """The command line, without what is tuned."""
    address = place.address
    return f"--apply webhook:{address}/apply --measure prometheus:{address} --query profit {TIMES}"


def opened() -> Study:
    return Study.open("s", path="driftwise.db")


def test_it_asks_applies_waits_queries_and_tells(place, line, good):
    *steps, end = map(json.loads, good(f"tune s {SMALL} --steps 4 --json {line}").splitlines())
    seen = list(opened().observations())
    assert [each["params"] for each in place.settings] == [o.params for o in seen] == [s["params"] for s in steps]
    assert [each["suggestion"] for each in place.settings] == [s["id"] for s in steps]
    assert all(o.reward == pytest.approx(10 - (o.params["x"] - 0.3) ** 2) for o in seen)
    assert place.queries[0]["query"] == ["avg_over_time((profit)[50ms:2ms])"]
    assert end["done"]["steps"] == 4
    assert end["command"] is None
    assert "Best now: x = " in good(f"tune s --steps 1 {line}")
    assert len(place.settings) == 5


def test_no_data_and_a_refusal_are_failures(place, line, good):
    place.data = False
    (step, _) = map(json.loads, good(f"tune s {SMALL} --steps 1 --json {line}").splitlines())
    assert step["why"] == live.NO_DATA
    place.data, place.refuses = True, True
    (step, _) = map(json.loads, good(f"tune s --steps 1 --json {line}").splitlines())
    assert "refused the setting with 422" in step["why"]
    assert opened().describe().counts.failed == 2


class Away(Place):
    """It answers the third time."""

    status = property(lambda self: 200 if len(self.settings) > 2 else 503, lambda self, _: None)


def test_what_is_away_is_waited_for(call, monkeypatch):
    """And it is said once what it is."""
    monkeypatch.setattr(live, "AGAIN", 0.01)
    place = Away()
    line = f"--apply webhook:{place.address} --measure prometheus:{place.address} --query profit {TIMES}"
    result = call(f"tune s {SMALL} --steps 1 {line}")
    place.close()
    assert result.exit_code == 0, result.output
    assert result.stderr.count("answered 503") == 1
    assert len(place.settings) == 3
    assert len({each["suggestion"] for each in place.settings}) == 1  # the same one, again and again


def test_what_a_study_refuses_is_said_and_tried_again(place, monkeypatch):
    monkeypatch.setattr(live, "AGAIN", 0.01)

    class Desk:
        said: ClassVar[list] = []

        async def ask(self):
            if not self.said:
                raise InvalidInput("not now")
            return Suggestion(id="1-a", number=1, at=1.0, params={"x": 0.5}, key="k", x=(0.5,))

        async def held_up(self, problem):
            self.said.append(problem)

        async def applied(self, at):
            self.said.append("applied")

        async def tell(self, suggestion, reward, trouble):
            if self.said[-1] != "not yet":
                raise InvalidInput("not yet")
            self.said.append(reward)

    async def step():
        plan = LivePlan(place.address, "profit", "webhook", place.address, 0.01, 0.01)
        async with httpx.AsyncClient() as client:
            await live.System("s", plan).step(client, Desk())

    asyncio.run(step())
    assert Desk.said == ["not now", "applied", "not yet", pytest.approx(9.96)]


def test_a_file(place, good, tmp_path):
    words = f"--apply file:web.json --measure prometheus:{place.address} --query profit {TIMES}"
    place.x = 0.5
    good(f"tune s {SMALL} --steps 2 {words}")
    told = list(opened().observations())
    assert json.loads((tmp_path / "web.json").read_text())["params"] == told[-1].params


def test_a_killed_run_is_taken_up_with_the_same_setting(place, tmp_path, line):
    words = ["tune", "s", *SMALL.split(), *line.replace("--settle 0.02", "--settle 60").split()]
    run = started(tmp_path, *words)
    until(lambda: place.settings, 180.0)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    again = started(tmp_path, *["tune", "s", "--steps", "1", "--json", *line.split()])
    said, errors = again.communicate()
    assert again.returncode == 0, errors
    assert json.loads(said.splitlines()[0])["resumed"]
    assert len({each["suggestion"] for each in place.settings}) == 1


def test_ctrl_c_waits_for_the_setting_and_again_ends_it(place, tmp_path, line):
    words = ["tune", "s", *SMALL.split(), *line.replace("--settle 0.02", "--settle 600").split()]
    run = started(tmp_path, *words)
    until(lambda: place.settings, 180.0)
    run.send_signal(signal.SIGINT)
    assert "Ctrl-C again" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode == 130
    assert len(Study.open("s", path=tmp_path / "driftwise.db").pending()) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--apply magic:x --measure prometheus:http://127.0.0.1 --query up", "--apply is written webhook:ADDRESS"),
        ("--apply webhook:http://127.0.0.1", "--apply needs --measure prometheus:ADDRESS"),
        ("--apply webhook:nowhere --measure prometheus:http://127.0.0.1 --query up", "target must be an address"),
        ("--apply webhook:http://127.0.0.1 --measure prometheus:http://127.0.0.1", "query must be PromQL"),
        ("--apply file:no/a.json --measure prometheus:http://127.0.0.1 --query up", "there is no folder"),
        ("--apply webhook:http://h --measure prometheus:http://h --query up --jobs 2", "one setting at a time"),
        ("--apply webhook:http://h --measure prometheus:http://h --query up -- true", "one setting at a time"),
    ],
)
def test_what_makes_no_sense_is_refused_before_there_is_a_study(refused, words, problem, tmp_path):
    assert problem in refused(f"tune s --float x=0:1 {words}")
    assert not list(tmp_path.glob("*.db"))


def test_limits_need_measures(refused, line):
    Study("s", {"x": Float(0, 1)}, limits={"p99": at_most(2.0)}, path="driftwise.db")
    assert "'p99' must have no limit" in refused(f"tune s {line}")
