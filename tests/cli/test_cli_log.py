"""driftwise study correct, retract, corrections, import and export."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from driftwise import Choice, Float, Int, Study
from driftwise.cli.app import app
from driftwise.cli.study_import import BATCH

ESCAPES = "\x1b[31m"


def opened(name="s"):
    return Study.open(name, path="driftwise.db")


def typed_in(line, text):
    return CliRunner().invoke(app, line, input=text, prog_name="driftwise")


# --- corrections ------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(good):
    good("study create s --float x=0:1 --policy sw-gp-ucb")
    for x in (0.1, 0.2, 0.3):
        good(f"study observe s x={x} --reward {10 * x}")


def test_corrections(told, good):
    assert good("study corrections s") == "Nothing was corrected.\n"
    line = "study correct s 2 -20.5 --measure ms=3 --why 'a [bold]typo' --who ann"
    assert good(line) == "Observation 2 is corrected.\n"
    assert good(line) == "Observation 2 had this outcome already; nothing changed.\n"
    assert json.loads(good("study retract s 3 --why 'the wrong machine' --json"))["new"] is True
    assert [o.reward for o in opened().observations()] == [1.0, -20.5]
    assert good("study correct s 3 --failed") == "Observation 3 is corrected.\n"
    first, second, third = json.loads(good("study corrections s --json"))["corrections"]
    assert (first["number"], first["who"], first["why"]) == (2, "ann", "a [bold]typo")
    assert (first["before"]["reward"], first["after"]["reward"]) == (2.0, -20.5)
    assert first["after"]["measures"] == {"ms": 3.0}
    assert (second["after"], third["before"], third["after"]["failed"]) == (None, None, True)
    shown = good("study corrections s")
    assert "a [bold]typo" in shown
    assert "-20.5, ms = 3" in shown
    assert "retracted" in shown


def test_a_correction_by_the_id_of_the_suggestion(told, good):
    asked = json.loads(good("study ask s --json"))
    good(f"study tell s {asked['id']} 5")
    assert good(f"study correct s {asked['id']} 6") == "Observation 4 is corrected.\n"


def test_who_is_the_login_name(told, good, monkeypatch):
    monkeypatch.setenv("LOGNAME", "grace")
    good("study retract s 1")
    monkeypatch.setattr("getpass.getuser", lambda: {}["nobody"])
    good("study retract s 2")
    assert [c.who for c in opened().corrections()] == ["grace", ""]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("correct s 9 1", "9"),
        ("correct s x 1", "no suggestion 'x'"),
        ("correct s 1", "reward must be a number, got None"),
        ("correct s 1 nan", "reward must be finite"),
        ("correct s 1 2 --failed", "has no reward"),
        (f"correct s 1 2 --why {'x' * 501}", "why must be text of at most 500"),
        ("retract s 0", "number must be ≥ 1, got 0"),
    ],
)
def test_bad_corrections(told, refused, line, words):
    assert words in refused(f"study {line}")
    assert opened().corrections() == []


# --- there and back again ---------------------------------------------------------------------------------------------

SPACE = {"x": Float(0, 1), "mode": Choice(["=1+1", "7", 8, True, ESCAPES, "", "-a"]), "at": Int(1, 9)}
CONTEXT = {"day": Choice(["mon", "+tue"]), "std": Float(0, 1)}


def study(name, path="driftwise.db"):
    return Study(name, SPACE, "auto", context=CONTEXT, path=path)


@pytest.fixture
def full(call):
    """Everything that an observation may have."""
    made = study("s")
    for i, mode in enumerate(SPACE["mode"].values):
        where = {"x": 0.1 * i + 1e-17, "mode": mode, "at": 1 + i}, {"day": ("mon", "+tue")[i % 2], "std": i / 7}
        details = [{"std": 0.1 + 0.2}, {"repeats": 3}, {"measures": {"ms": 1 / 3, "=x": 2.0}}, {}][i % 4]
        made.observe(where[0], -i / 3, at=1.7e9 + i, context=where[1], **details)
        made.observe(where[0], failed=True, context=where[1], measures={"crashes": 1.0})
    made.correct(1, 99.5)
    made.retract(3)
    return made


def contents(name, path="driftwise.db"):
    """All but the numbers, which count anew."""
    return [
        (o.at, o.params, o.context, o.reward, o.std, o.repeats, dict(o.measures), o.failed)
        for o in Study.open(name, path=path).observations()
    ]


@pytest.mark.parametrize("file", ["log.csv", "log.json", "log.jsonl"])
def test_what_is_exported_can_be_imported(full, good, file):
    study("new", "new.db")
    good(f"study export s -o {file}")
    assert good(f"study import new {file} --path new.db") == "13 observations stored, 0 known before.\n"
    assert contents("new", "new.db") == contents("s")


def test_the_columns_of_an_export(full, good):
    rows = list(csv.DictReader(good("study export s").splitlines()))
    assert list(rows[0]) == [
        *("number", "at", "x", "mode", "params.at", "day", "context.std", "reward"),
        *("measures.crashes", "measures.=x", "measures.ms", "std", "repeats", "failed"),
    ]
    assert [row["number"] for row in rows] == [str(n) for n in range(1, 15) if n != 3]
    assert [row["failed"] for row in rows][:3] == ["False", "True", "True"]
    lines = [json.loads(line) for line in good("study export s --jsonl").splitlines()]
    assert lines == json.loads(good("study export s --json"))["observations"]
    assert lines[1]["measures"] == {"crashes": 1.0}
    assert lines[1]["reward"] is None


def test_an_empty_study_has_its_header(good):
    study("s")
    assert good("study export s") == "number,at,x,mode,params.at,day,context.std,reward\n"
    assert json.loads(good("study export s --json")) == {"study": "s", "observations": []}
    assert good("study export s --jsonl") == ""


def test_standard_input_and_keys(good, told):
    good("study create t --float x=0:1 --policy sw-gp-ucb")
    text = good("study export s --jsonl")
    first = typed_in("study import t - --key-column number --json", text)
    assert json.loads(first.stdout) == {"new": 3, "known": 0}
    again = typed_in("study import t - --key-column number", good("study export s"))
    assert again.stdout == "0 observations stored, 3 known before.\n"
    flat = '{"x": 0.5, "reward": 1, "key": "k"}\n\n{"x": 0.6, "reward": 1, "measures.ms": 3}\n'
    assert typed_in("study import t -", flat).exit_code == 0
    assert dict(list(opened("t").observations())[-1].measures) == {"ms": 3}
    other = typed_in("study import t -", "key,x,reward\nk,0.5,2\n")
    assert other.exit_code == 1
    assert "row 1: key 'k' is known with another reward" in other.stderr


def test_a_spreadsheets_file(good, told):
    text = "\ufeffx,reward,failed,at\r\n0.5,1.25,,7\r\n0.75,,yes,\r\n\r\n"
    Path("log.csv").write_bytes(text.encode())
    good("study import s log.csv")
    last = list(opened().observations())[-2:]
    assert [(o.params["x"], o.reward, o.failed, o.at) for o in last] == [
        (0.5, 1.25, False, 7.0),
        (0.75, None, True, 7.0),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("x,reward\n0.5,1\n0.6,abc\n", "row 2: column 'reward' must be a number, got 'abc'"),
        ("x,reward\n0.5,1\n7,1\n", "row 2: parameter 'x' must be a number from 0 to 1, got 7"),
        ("x,reward\n0.5,1\n,1\n", "row 2: parameter 'x' is missing"),
        ("x,reward\n0.5,1\n0.5\n", "row 2 must have 2 cells as the header has, got 1"),
        ("x,reward\n0.5,1\n0.5,\n", "row 2: reward must be a number, got None"),
        ("x,reward\n0.5,1\n0.5,nan\n", "row 2: reward must be finite"),
        ("x,reward,failed\n0.5,,maybe\n", "row 1: column 'failed' must be true or false, got 'maybe'"),
        ("x,reward,measures.ms\n0.5,1,fast\n", "row 1: column 'measures.ms' must be a number, got 'fast'"),
        ("x,rewad\n0.5,1\n", "column 'rewad' is unknown; there may be x, reward, at, key"),
        ("x,x,reward\n1,1,1\n", "a column must have its own name, got 'x' twice"),
        ('x,reward\n0.5,1\n"0.5,1\n', "row 2"),
        ("x;reward\n0.5;1\n", "column 'x;reward' is unknown"),
        ('{"x": 0.5, "reward": 1}\n{"x": 0.5, "reward": "2"}\n', "row 2: reward must be a number, got '2'"),
        ('{"x": 0.5, "reward": 1}\n{"y": 0.5, "reward": 2}\n', "row 2: column 'y' is unknown"),
        ('{"x": 0.5, "reward": 1}\n{"x": 0.5,\n', "row 2 is not JSON"),
        ('{"x": 0.5, "reward": 1}\n[1]\n', "row 2 must be an object"),
        ('{"params": {"y": 0.5}, "reward": 1}\n', "row 1: unknown parameter 'y'"),
        ('{"params": 7, "reward": 1}\n', "row 1: column 'params'"),
        ('{"observations": 7}\n', "must have observations, a list"),
        ('{"observations": [7]}\n', "row 1 must be an object"),
        ("{" * 5000, "not JSON"),
    ],
)
def test_nothing_of_a_bad_file_is_stored(told, refused, text, words):
    Path("log.csv").write_text(text)
    said = refused("study import s log.csv")
    assert words in said
    assert "nothing was stored" in said
    assert len(list(opened().observations())) == 3


def test_an_error_after_a_whole_batch(good, told, refused):
    lines = ["x,reward\n", *["0.5,1\n"] * BATCH]
    Path("late.csv").write_text("".join([*lines, "7,1\n"]))
    Path("text.csv").write_text("".join([*lines, "a,b\n"]))
    for file, count in (("late.csv", BATCH), ("text.csv", 2 * BATCH)):
        said = refused(f"study import s {file}")
        assert f"row {BATCH + 1}: " in said
        assert f"rows 1 to {BATCH} are stored, and nothing after them" in said
        assert opened().describe().counts.told == 3 + count


def test_other_bad_imports(told, refused):
    assert "there is no file missing.csv" in refused("study import s missing.csv")
    assert "must be text in UTF-8" in refused("study import s driftwise.db")
    Path("log.csv").write_text("x,reward\n0.5,1\n")
    assert "a key in column 'id', got none" in refused("study import s log.csv --key-column id")
    assert "not both" in refused("study export s --json --jsonl")
