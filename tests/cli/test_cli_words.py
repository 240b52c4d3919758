"""Errors in the words of the shell: options instead of Python's arguments, and a question after a slip of the pen."""

from __future__ import annotations

import re

import pytest

from driftwise import Float, Study
from driftwise.errors import NotFoundError
from driftwise.policies import policy
from driftwise.service import run
from driftwise.text import did_you_mean

PRICES = "study create prices --float price=5:20 --policy sw-gp-ucb"


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("study tell prices 1-x", "give --failed if the setting failed"),
        ("study observe prices price=7 --reward 1 --failed", "leave out reward, std and repeats, or --failed"),
        ("study create other --float rate=0:1:log", "drop :log or raise low"),
        ("study create other --float x=0:1 --safe", "--safe needs limits"),
        ("study ask prices --context a=1", "the study has no context, got {'a': 1}; leave it out"),
        ("study create other --float x=0:1 --path old.db --token t", "leave it out for a file"),
        ("study create other --float x=0:1 --policy r-perp", "give candidates, or Int and Choice parameters"),
        ("fleet create prices --float x=0:1 --shards 3", "with shards=2, now 3; leave this out, or take another name"),
        (
            "fleet create other " + " ".join(f"--float x{i}=0:1" for i in range(99)),
            "99 of them of numbers; give candidates",
        ),
    ],
)
def test_advice_names_the_options_of_the_command_line(good, refused, line, advice):
    good(PRICES)
    good("fleet create prices --float x=0:1 --shards 2")
    said = refused(line, code=1 if "fleet create prices" in line else 2)
    assert advice in said
    said += refused("study create prices --float price=5:30", code=1)
    assert "leave these out, or take another name" in said
    assert not re.search(r"\w+=(True|\.\.\.|\{\.\.\.)|\w\(\.\.\.|Study\.", said)


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("stduy list", "did you mean 'study'?"),
        ("study create other --float x=0:1 --policy atuo", "did you mean 'auto'?"),
        ("study create other --float x=0:1 --policy sw-gp-ucb:windw=7", "did you mean 'window'?"),
        ("study show pirces", "did you mean 'prices'?"),
        ("study show prices --parameter prise", "did you mean 'price'?"),
        ("study observe prices pric=7 --reward 1", "did you mean 'price'?"),
        ("study ask prices --fixed pricee=7", "did you mean 'price'?"),
        ("study fork prices more --float prce=1:7", "did you mean 'price'?"),
        ("store copy driftwise.db new.db --study price", "did you mean 'prices'?"),
    ],
)
def test_a_slip_of_the_pen_is_asked_about(good, refused, line, question):
    good(PRICES)
    good("study observe prices price=7 --reward 1")
    assert question in refused(line)


def test_the_library_asks_too_and_never_guesses(served, tmp_path):
    assert did_you_mean("zzz", ["auto"]) == ""
    with pytest.raises(NotFoundError, match=r"no policy is called 'atuo'; did you mean 'auto'\? there are"):
        policy("atuo", {"x": Float(0, 1)})
    Study("prices", {"x": Float(0, 1)}, "random", path=tmp_path / "a.db")
    with pytest.raises(NotFoundError, match=r"no study 'price'; did you mean 'prices'\? it has 'prices'"):
        Study.open("price", path=served(tmp_path / "a.db"))


def test_a_service_that_may_not_be_open_says_nothing_of_serving(call, monkeypatch):
    monkeypatch.setattr(run.uvicorn.Server, "run", lambda self: None)
    monkeypatch.setattr(run.logs, "set_up", lambda level: None)  # logs of this process are other tests'
    refused = call("serve --host 0.0.0.0 --port 0")
    assert refused.exit_code == 2
    assert "without a token the host must be this machine" in refused.stderr
    assert "Serving" not in refused.output
    assert "Serving driftwise.db at http://127.0.0.1:0" in call("serve --port 0").stdout
