"""driftwise fleet: create, run and show, and every way to get a line wrong."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import driftwise as dw
from driftwise.cli.app import app
from driftwise.fleet.bench import Workload, timings
from pages import balanced, loads

CREATE = "fleet create prices --int price=5:20 --policy sw-gp-ucb:window=8 --engine numpy --shards 2"
KEYS = ["apples", "pears", 7, "plums"]


def run(text: str, line: str = "fleet run prices"):
    result = CliRunner().invoke(app, line, input=text, prog_name="driftwise")
    return [json.loads(reply) for reply in result.stdout.splitlines()], result


def asking(keys):
    return "".join(json.dumps({"key": key}) + "\n" for key in keys)


def telling(replies):
    return "".join(json.dumps({"id": each["id"], "reward": float(i)}) + "\n" for i, each in enumerate(replies))


def test_a_stream_is_answered_as_the_library_would(good):
    assert "The fleet prices is in fleets." in good(CREATE)
    twin = dw.Fleet("twin", {"price": dw.Int(5, 20)}, "sw-gp-ucb", window=8, engine="numpy", shards=2)
    for _ in range(2):
        batch = twin.ask(KEYS)
        replies, result = run(asking(KEYS))
        assert [(each["line"], each["key"], each["id"], each["params"]) for each in replies] == [
            (i + 1, key, id, params)
            for i, (key, id, params) in enumerate(zip(KEYS, batch.ids.tolist(), batch.params, strict=True))
        ]
        twin.tell(batch, np.arange(4.0))
        acknowledged, result = run(telling(replies))
        assert acknowledged == [{"line": i + 1, "id": each["id"], "told": True} for i, each in enumerate(replies)]
        assert "4 new rewards" in result.stderr
    _, again = run(telling(replies))
    assert "0 new rewards, 4 known before" in again.stderr


BAD = [
    ("nonsense", "headings such as key,id,reward"),
    ("[1]", "headings such as"),
    ('{"key": 1.5}', "a key must be a string or a whole number, got 1.5"),
    ('{"key": "apples"', "a line must be a JSON object"),
    ('{"reward": 3}', "a reward needs the id of its suggestion"),
    ('{"id": 3}', "a line must have a key, to ask, or an id and a reward, to tell"),
    ('{"id": 1e300, "reward": 2}', "id must be a whole number"),
    ('{"id": 99999999999, "reward": 2}', "no suggestion with such an id"),
    ('{"id": 9, "reward": 2}', "has no suggestion 9"),
    ('{"id": 1, "reward": "much"}', "reward must be a number, got 'much'"),
    ('{"id": 1, "reward": NaN}', "reward must be"),
]


def test_lines_that_are_wrong_stop_no_other(good):
    good(CREATE)
    (first,), _ = run(asking(["pears"]))
    assert first["id"] == 1
    lines = [
        line
        for pair in zip([bad for bad, _ in BAD], asking(range(len(BAD))).splitlines(), strict=True)
        for line in pair
    ]
    replies, result = run("\n".join([*lines, '{"id": 1, "reward": 2.5}']))  # of which the last has no end
    assert result.exit_code == 2
    assert f"{len(BAD)} of {2 * len(BAD) + 1} lines were refused" in result.stderr
    for i, (_, words) in enumerate(BAD):
        assert words in replies[2 * i]["error"]
        assert f"line {2 * i + 1}: " in result.stderr
        assert replies[2 * i + 1]["params"]
    assert replies[-1]["told"]
    conflict, result = run('{"id": 1, "reward": 5}\n\xff\n')
    assert "was told 2.5 before, now 5.0; the first stays" in conflict[0]["error"]


def test_csv_is_read_by_its_headings(good):
    good(CREATE)
    replies, _ = run('key\napples\n"a, b"\n\n7\n')
    assert [(each["line"], each["key"]) for each in replies] == [(2, "apples"), (3, "a, b"), (5, "7")]
    body = "".join(f"{each['id']},x,{i}.5\n" for i, each in enumerate(replies))
    told, result = run(f"id,note,reward\n{body}1,2\n")
    assert [each.get("told") for each in told] == [True, True, True, None]
    assert "a line must have 3 cells as the headings have, got 2" in told[-1]["error"]
    assert result.exit_code == 2


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_answered(good, tmp_path):
    """Tells that are sent again after the kill count once each."""
    good(CREATE)
    replies, _ = run(asking(range(50)))
    words = [sys.executable, "-c", "from driftwise.cli import main; main()", "fleet", "run", "prices", "--batch", "5"]
    process = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(telling(replies))
    process.stdin.flush()
    answered = [json.loads(process.stdout.readline()) for _ in range(7)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with dw.Fleet.open("prices", path=tmp_path / "fleets") as fleet:
        told = {key for key, count in zip(fleet.keys(), fleet.drift().told, strict=True) if count == 1}
    assert {replies[each["line"] - 1]["key"] for each in answered} <= told
    _, result = run(telling(replies))
    assert f"{50 - len(told)} new rewards, {len(told)} known before" in result.stderr


def test_show_has_figures_and_a_page(good, refused, tmp_path):
    good(CREATE)
    assert "has 0 keys" in good("fleet show prices")
    with dw.Fleet.open("prices", path="fleets") as fleet:
        for _ in range(12):
            fleet.tell(fleet.ask(KEYS), np.arange(4.0))
    found = json.loads(good("fleet show prices --json --worst 2"))
    assert found["keys"] == 4
    assert found["figures"]["rewards"] == dict.fromkeys(("least", "10%", "median", "90%", "greatest", "mean"), 12)
    assert len(found["worst"]) == 2
    (tmp_path / "lost.csv").write_text("key,regret\nplums,3\n7,9.5\n")
    text = good("fleet show prices --regret lost.csv --out page.html --worst 1")
    assert "9.5" in text.split("Keys that stand out")[1]
    page = (tmp_path / "page.html").read_text()
    assert balanced(page)
    assert not loads(page)
    assert page.count("<svg") == 6  # five figures, and the prices that are advised
    assert "4 keys were asked 48 times and told 48 rewards." in page
    assert "an .html file" in refused("fleet show prices --out page.txt")
    assert "has no fleet 'other'" in refused("fleet show other")


def test_another_definition_is_a_conflict(good, refused):
    good(CREATE)
    good(CREATE)
    assert "fleet 'prices' already exists with different settings" in refused(
        CREATE.replace("window=8", "window=9"), code=1
    )


def test_a_box_becomes_points_that_all_keys_share(good, tmp_path):
    assert "It chooses from 256 points of the box and 7 around each" in good(
        "fleet create x --float price=5:20 --float size=1:100 --policy sw-gp-ucb:window=8"
    )
    assert "It chooses from 256 points of the box;" in good("fleet create y --float price=5:20 --policy gp-ucb")


@pytest.mark.slow
def test_bench_compares_in_one_run(monkeypatch):
    monkeypatch.setattr("driftwise.fleet.build.find_spec", lambda package: None)  # to compile takes seconds
    found = {each.what: each for each in timings(Workload(keys=16, window=4, candidates=8, steps=1, durable=8))}
    assert all(each.rate > 0 and (not each.beside or each.beside in found) for each in found.values())
    assert {"a loop over studies in memory", "engine numpy", "durable tells, batches of 8"} <= set(found)
