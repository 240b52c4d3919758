"""driftwise study ask, tell, fail and observe, with all that is known of an outcome."""

import json

import pytest

from driftwise import Study

PLAIN = "study create s --float x=0:1 --choice mode=a,b --policy sw-gp-ucb"
SHOP = "study create s --float price=5:20 --context-float traffic=0:1 --context-choice day=1,2 --policy sw-gp-ucb"


def asked(good, options=""):
    return json.loads(good(f"study ask s {options} --json"))


def seen():
    return list(Study.open("s", path="driftwise.db").observations())


def test_several_suggestions_at_once(good):
    good(PLAIN)
    made = asked(good, "-n 3 --key batch")["suggestions"]
    assert [s["number"] for s in made] == [1, 2, 3]
    assert len({tuple(s["params"].values()) for s in made}) == 3
    assert asked(good, "-n 3 --key batch")["suggestions"] == made
    lines = good("study ask s -n 2").splitlines()
    assert lines[0] == "Try these 2 settings, each with its ID:"
    assert lines[-1] == "Then, for each ID: driftwise study tell s ID REWARD"
    assert good("study ask s -n 1").startswith("Try this setting")


def test_pinned_parameters(good):
    good(PLAIN)
    for _ in range(3):
        assert asked(good, "--fixed mode=b")["params"]["mode"] == "b"


def test_a_context(good, refused):
    said = good(SHOP)
    assert "ask s --context traffic=VALUE --context day=VALUE" in said
    s = asked(good, "--context traffic=0.25 --context day=2")
    assert s["context"] == {"traffic": 0.25, "day": 2}
    assert set(s["params"]) == {"price"}
    good(f"study tell s {s['id']} 3")
    good("study observe s price=7 --reward 2 --context traffic=0.5 --context day=1")
    assert [o.context for o in seen()] == [{"traffic": 0.25, "day": 2}, {"traffic": 0.5, "day": 1}]
    best = json.loads(good("study recommend s --context traffic=0.5 --context day=1 --json"))
    assert best["context"] == {"traffic": 0.5, "day": 1}
    assert "is expected" in good("study predict s price=7 --context traffic=0.5 --context day=1")
    words = "study 's' has a context; give --context traffic=VALUE --context day=VALUE"
    for line in ("ask s", "recommend s", "predict s price=7", "observe s price=7 --reward 1"):
        assert words in refused(f"study {line}")
    shown = good("study show s")
    assert "In the newest context, traffic = 0.5, day = 1:" in shown
    data = json.loads(good("study show s --json"))
    assert (data["parameters"], data["context"]) == (["price"], ["traffic", "day"])
    assert data["recommendation"]["context"] == {"traffic": 0.5, "day": 1}


def test_show_of_a_context_without_rewards(good):
    good(SHOP)
    assert "no rewards yet" in good("study show s")
    assert json.loads(good("study show s --json"))["recommendation"] is None


def test_failures(good):
    good(PLAIN)
    first, second, third = asked(good, "-n 3")["suggestions"]
    assert good(f"study fail s {first['id']} --measure ms=900") == "The failure is stored as observation 1.\n"
    assert "told before" in good(f"study fail s {first['id']} --measure ms=900")
    assert "failure is stored" in good(f"study tell s {second['id']} --failed")
    assert "failure is stored" in good("study observe s x=0.5 mode=a --failed")
    good(f"study tell s {third['id']} 2")
    assert [(o.number, o.failed) for o in seen()] == [(1, True), (2, True), (3, False), (4, True)]
    assert dict(seen()[0].measures) == {"ms": 900.0}


def test_what_is_known_of_a_reward(good):
    good("study create s --float x=0:1")
    good("study observe s x=0.1 --reward -2 --std 0.3 --measure p99_ms=180 --measure errors=0 --at 7")
    good("study observe s x=0.2 --reward 2 --repeats 20 --key k")
    assert "told before" in good("study observe s x=0.2 --reward 2 --repeats 20 --key k")
    id = asked(good)["id"]
    good(f"study tell s {id} -1.5 --std 0.1 --key t")
    one, two, three = seen()
    assert (one.reward, one.std, dict(one.measures), one.at) == (-2.0, 0.3, {"p99_ms": 180.0, "errors": 0.0}, 7.0)
    assert (two.repeats, three.reward, three.std) == (20, -1.5, 0.1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ask s -n 0", "n must be ≥ 1"),
        ("ask s -n 100000", "n must be at most 1,000"),
        ("ask s --fixed x", "a setting is written NAME=VALUE"),
        ("ask s --fixed y=1", "'y'"),
        ("ask s --fixed x=3", "'x' must be a number from 0 to 1"),
        ("ask s --context y=1", "no context"),
        ("tell s 1-x", "reward must be a number, got None"),
        ("tell s 1-x 3 --failed", "a setting that failed has no reward"),
        ("tell s 1-x 3 --std 0", "std must be"),
        ("tell s 1-x 3 --measure ms", "a measure is written NAME=VALUE, got 'ms'"),
        ("tell s 1-x 3 --measure ms=fast", "measure 'ms' must be a number, got 'fast'"),
        ("tell s 1-x 3 --measure ms=nan", "measure 'ms' must be finite"),
        ("tell s 1-x 3 --measure ms=1 --measure ms=2", "measure 'ms' is given twice"),
        ("tell s 1-x 3 --faild", "--faild"),
        ("fail s 1-x", "no suggestion '1-x'"),
        ("observe s x=0.5 mode=a", "reward must be a number, got None"),
        ("predict s x=0.5 mode=a", "no rewards yet"),
        ("predict s x=0.5", "parameter 'mode' is missing"),
    ],
)
def test_refusals(good, refused, line, words):
    good(PLAIN)
    assert words in refused(f"study {line}")
    assert seen() == []
