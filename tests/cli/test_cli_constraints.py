"""driftwise study create with rules, limits and a safe start, and what show says of them."""

import json

import pytest

from driftwise import Int, Study
from driftwise.feasible import Limit, at_least, at_most
from driftwise.study.description import DEFAULTS

WEB = "study create web --int workers=1:32 --int cache_mb=16:1024:log --choice compression=none,zstd --policy sw-gp-ucb"


def opened(name="web"):
    return Study.open(name, path="driftwise.db")


def test_rules(good, refused):
    rules = """--where "workers * cache_mb <= 8192" --where "compression != 'none' or workers < 16" """
    made = json.loads(good(f"{WEB} {rules} --json"))
    assert made["where"] == ["workers * cache_mb <= 8192", "compression != 'none' or workers < 16"]
    assert 0.3 < made["allowed"] < 0.9
    for s in json.loads(good("study ask web -n 20 --json"))["suggestions"]:
        p = s["params"]
        assert p["workers"] * p["cache_mb"] <= 8192
        assert p["compression"] != "none" or p["workers"] < 16
    assert "must satisfy" in refused("study observe web workers=32 cache_mb=1024 compression=zstd --reward 1")
    shown = good("study show web").splitlines()
    assert shown[1:3] == [f"Rule: {rule}" for rule in made["where"]]
    assert shown[3] == f"About {100 * made['allowed']:.2g}% of all settings obey them."


def test_limits(good):
    good(f'{WEB} --limit "p99_ms<=200" --limit "hits >= 0.5" --limit "hits <= 1"')
    assert opened().description.limits == (("p99_ms", at_most(200)), ("hits", Limit(0.5, 1.0)))
    setting = "workers=4 cache_mb=64 compression=zstd"
    good(f"study observe web {setting} --reward 3 --measure p99_ms=150")
    text = good(f"study predict web {setting}")
    assert "p99_ms is 150 ±" in text
    assert "there, and at most 200 with probability" in text
    assert "hits was not measured yet; it must be at least 0.5 and at most 1." in text
    found = json.loads(good(f"study predict web {setting} --json"))
    assert set(found) == {"mean", "std", "works", "measures"}
    assert set(found["measures"]) == {"p99_ms"}
    assert 0 < found["measures"]["p99_ms"]["holds"] <= 1
    shown = good("study show web")
    assert "p99_ms must be at most 200." in shown
    assert "p99_ms is 150 ±" in shown
    data = json.loads(good("study show web --json"))
    assert data["limits"]["hits"] == {"low": 0.5, "high": 1.0}
    assert data["recommendation"]["measures"]["p99_ms"]["mean"] == pytest.approx(150)


def test_a_safe_study_begins_where_it_is_told(good):
    start = "--start workers=4 --start cache_mb=64 --start compression=zstd"
    good(f'{WEB} --limit "p99_ms<=200" --safe {start} --delta 0.01')
    assert json.loads(good("study ask web --json"))["params"] == {"workers": 4, "cache_mb": 64, "compression": "zstd"}
    assert (opened().description.safe, opened().description.delta) == (True, 0.01)
    assert "only where this holds with probability 0.99" in good("study show web")


def test_the_context_keeps_its_order(good):
    line = "--context-choice day=mon,tue --context-float traffic=0:1 --context-int hour=0:23"
    made = json.loads(good(f"{WEB} {line} --json"))
    assert made["context"] == ["day", "traffic", "hour"]
    assert made["parameters"] == ["workers", "cache_mb", "compression"]


def test_the_library_opens_what_the_shell_made(good):
    good('study create s --int n=1:9 --limit "hits>=0.5" --where "n < 8"')
    study = Study("s", {"n": Int(1, 9)}, limits={"hits": at_least(0.5)}, where="n < 8", path="driftwise.db")
    assert study.description == opened("s").description


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--where 'workers <'", "workers <"),
        ("--where 'workers < 0'", "no setting satisfies"),
        ("--where 'threads < 3'", "threads"),
        ("--limit p99_ms", "a limit is written as p99_ms<=200"),
        ("--limit 'p99_ms<200'", "a limit is written as p99_ms<=200"),
        ("--limit 'p99_ms<=fast'", "a limit is written as p99_ms<=200"),
        ("--limit 'p99_ms<=1' --limit 'p99_ms<=2'", "two limits on the same side"),
        ("--limit 'p99_ms<=1' --limit 'p99_ms>=2'", "low must be below high"),
        ("--safe", "--safe needs limits"),
        ("--safe --limit 'p99_ms<=200' --start workers=4", "'cache_mb' is missing"),
        ("--delta 2", "delta must be"),
        ("--context-float workers=0:1", "'workers' in both"),
        ("--context-float traffic", "--context-float is written as price=5:20"),
        ("--context-int traffic=0:1 --context-float traffic=0:1", "given twice"),
    ],
)
def test_refusals(refused, options, words):
    assert words in refused(f"{WEB} {options}")


def test_show_says_where_settings_failed(good):
    good(WEB)
    for n in (30, 31, 32):
        good(f"study observe web workers={n} cache_mb=64 compression=none --failed")
    assert "3 observations failed, last at workers = 32, cache_mb = 64" in " ".join(good("study show web").split())
    good("study observe web workers=4 cache_mb=64 compression=zstd --reward 1")
    good("study correct web 4 2 --why typo")
    shown = good("study show web")
    assert "1 reward, 3 failures, 1 correction, 0 awaited" in shown
    bottom = next(line for line in shown.splitlines() if "workers, best at" in line)
    lines = shown.splitlines()
    assert lines[lines.index(bottom) - 2].count("×") == 3
    assert "× 3" in next(line for line in lines if line.strip().startswith("none"))
    assert "× failed" in shown
    data = json.loads(good("study show web --json"))
    assert (data["told"], data["rewards"], data["failed"], data["corrections"]) == (4, 1, 3, 1)
    good("study show web --picture failed.svg")
    good("study show web --parameter compression --picture failed2.png")


def test_a_recommendation_says_whether_it_is_sure(good):
    good("study create s --float x=0:1 --policy sw-gp-ucb")
    good("study observe s x=0.5 --reward 1")
    best = json.loads(good("study recommend s --json"))
    assert best["params"] == {"x": 0.5}
    said = good("study recommend s")
    assert ("Not sure yet: little is known there so far." in said) == (not best["sure"])
    assert ("Not sure yet" in good("study show s")) == (not best["sure"])
    assert json.loads(good("study recommend s --fixed x=0.9 --json"))["sure"] is False
    assert "Not sure yet: little is known there so far." in good("study recommend s --fixed x=0.9")


def test_what_the_study_was_made_with_is_told(good, monkeypatch):
    good("study create s --float x=0:1 --policy sw-gp-ucb")
    monkeypatch.setitem(DEFAULTS, "patience", 64)
    assert "The study was made with patience=32; the default is now 64." in good("study show s")
    assert json.loads(good("study show s --json"))["kept"] == ["made with patience=32; the default is now 64"]


def test_a_rule_that_cannot_be_read_is_shown_with_a_mark_below_the_place(refused):
    said = refused("study create s --float x=0:1 --where 'x > y'")
    assert said.splitlines()[1:] == ["  x > y", "      ^"]
