"""The checker of histories finds what is wrong with them; and one history of two services has nothing wrong.

`python -m benchmarks.linear --histories 200` does it for long.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from benchmarks.linear import REFUSED, Attempt, Placed, run, violations

ASK, TELL, SEEN, READ = ("ask", "ask-0-0"), ("tell", "tell-0-1"), ("observe", "observe-1-0"), ("read", "")
HISTORY = [
    Attempt(ASK, 0.0, 1.0, 200, {"id": "1-a", "number": 1}),
    Attempt(TELL, 2.0, reward=0.5, of="1-a"),  # cut
    Attempt(TELL, 3.0, 4.0, 200, {"number": 1}, 0.5, "1-a"),
    Attempt(SEEN, 2.5, 5.0, 200, {"number": 2}, 0.25),
    Attempt(READ, 6.0, 7.0, 200, {"entries": 3}),
    Attempt(ASK, 8.0, 9.0, 200, {"id": "1-a", "number": 1}),  # again
]
LOG = [Placed(1, ASK, 1, "1-a"), Placed(2, SEEN, 2, 0.25), Placed(3, TELL, 1, 0.5)]


def test_nothing_is_wrong_with_this_one():
    assert violations(HISTORY, LOG) == []
    assert violations(HISTORY, [LOG[0], LOG[2]._replace(seq=2), LOG[1]._replace(seq=3)]) == []  # at the same time


def test_what_was_cut_may_be_there_or_not():
    cut = [HISTORY[0], HISTORY[1]]
    assert violations(cut, LOG[:1]) == violations(cut, [LOG[0], LOG[2]._replace(seq=2)]) == []


def test_a_call_may_be_refused_if_another_is_there():
    rival = Attempt(("tell", "tell-r-0"), 3.0, 4.0, REFUSED, {}, 0.75, "1-a")
    assert violations([*HISTORY, rival], LOG) == []
    (wrong,) = violations([HISTORY[0], rival], LOG[:1])
    assert "refused without another" in wrong


@pytest.mark.parametrize(
    ("place", "attempt", "said"),
    [
        (5, {"answer": {"id": "2-b", "number": 2}}, "different answers"),
        (2, {"answer": {"number": 2}}, "answered otherwise"),
        (2, {"reward": 0.75}, None),  # the first attempt says what was told
        (4, {"answer": {"entries": 2}}, "a reader saw 2 entries, and 3 to inf were there"),
        (4, {"answer": {"entries": 4}}, None),  # more may have been there
        (4, {"began": -2.0, "ended": -1.0}, "a reader saw 3 entries, and 0 to 0 were there"),
        (3, {"began": 0.0, "ended": 1.5}, None),
        (3, {"began": -2.0, "ended": -1.0}, "which ended before it began"),
    ],
)
def test_a_wrong_answer_is_found(place, attempt, said):
    history = [replace(each, **attempt) if i == place else each for i, each in enumerate(HISTORY)]
    found = violations(history, LOG)
    assert bool(found) == (said is not None)
    assert said is None or any(said in wrong for wrong in found)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (LOG[:2], "acknowledged and is not there"),
        ([*LOG, Placed(4, TELL, 1, 0.5)], "is there 2 times"),
        ([*LOG, Placed(4, ("observe", "observe-9-9"), 3, 1.0)], "was never sent"),
        ([LOG[0], LOG[1], LOG[2]._replace(seq=4)], "places of the log have gaps"),
        ([LOG[0], LOG[1]._replace(number=3), LOG[2]], "numbers are missing or there twice"),
        ([LOG[0], LOG[1], LOG[2]._replace(holds=0.75)], "answered otherwise"),
        ([LOG[0]._replace(holds="1-b"), LOG[1], LOG[2]], "answered otherwise"),
        ([LOG[1]._replace(seq=1), LOG[0]._replace(seq=2), LOG[2]], "which ended before it began"),
    ],
)
def test_a_wrong_log_is_found(log, said):
    assert any(said in wrong for wrong in violations(HISTORY, log))


@pytest.mark.slow
def test_two_services_answer_as_one(server):
    pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")
    figures = asyncio.run(run(server.url(schema="linear"), 2, 0))
    assert figures["violations"] == 0
    assert figures["cut"] > 10
    assert figures["repeated"] > 10
