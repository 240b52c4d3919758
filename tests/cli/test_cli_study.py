"""driftwise study, and every way to get it wrong."""

import csv
import json
from pathlib import Path

import pytest

from driftwise import Candidates, Choice, Study

CREATE = "study create prices --float price=5:20 --int n=1:3 --choice mode=a,b --policy sw-gp-ucb:window=30"


def fill(good, n=4):
    good(CREATE)
    for i in range(n):
        asked = json.loads(good("study ask prices --json"))
        good(f"study tell prices {asked['id']} {i - 1.5}")


def test_a_study_from_the_shell(good):
    assert "study prices is in driftwise.db" in good(CREATE)
    asked = json.loads(good("study ask prices --key till-7 --json"))
    assert set(asked) == {"id", "number", "params", "at", "key"}
    assert asked["number"] == 1
    assert set(asked["params"]) == {"price", "n", "mode"}
    assert json.loads(good("study ask prices --key till-7 --json")) == asked
    assert json.loads(good(f"study tell prices {asked['id']} -3.5 --json")) == {
        "number": 1,
        "new": True,
        "in_window": True,
    }
    assert "told before" in good(f"study tell prices {asked['id']} -3.5")
    assert "observation 2" in good("study observe prices price=12.5 n=2 mode=b --reward 4")
    best = json.loads(good("study recommend prices --json"))
    assert set(best) == {"params", "mean", "std", "sure"}
    assert best["params"]["mode"] == "b"
    assert "mode = b" in good("study recommend prices")


def test_the_shell_and_the_library_share_the_study(good):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    study = Study.open("prices", path="driftwise.db")
    study.tell(asked["id"], 2.0)
    assert study.space.names == ("price", "n", "mode")
    assert study.policy.window == 30
    assert "Observation 1 was told before" in good(f"study tell prices {asked['id']} 2.0")


def test_parameters_keep_the_order_of_the_command_line(good):
    line = "--float b=0:1 --int a=1:3 --choice=c=x,y --float d=0:1 --policy random --int=e=1:2 --float a2=0:1"
    assert json.loads(good(f"study create ordered {line} --json"))["parameters"] == ["b", "a", "c", "d", "e", "a2"]
    assert json.loads(good("study create --choice z=x,y late --int y=1:2 --json"))["parameters"] == ["z", "y"]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_one_reward_is_no_plural(good, n):
    good("study create few --float x=0:1")
    for i in range(n):
        good(f"study observe few x=0.{i} --reward 1")
    text = good("study show few")
    assert f"{n} reward{'' if n == 1 else 's'}, 0 awaited" in text
    assert "1 rewards" not in text


@pytest.mark.parametrize("command", ["", "study"])
def test_exit_codes_are_in_the_help(good, command):
    text = " ".join(good(f"{command} --help").split())
    assert "Exit codes: 0 if the command succeeded; 2 if the input is wrong" in text


def test_create_twice_is_the_same_study_and_otherwise_a_conflict(good, refused):
    good(CREATE)
    good(CREATE)
    assert "already exists with different settings" in refused("study create prices --float price=5:21", code=1)
    said = refused("study create prices --float price=5:20 --int n=1:3", code=1)
    assert "mode is Choice(values=['a', 'b']) in the study and was not given" in said


def test_show_draws_each_parameter(good):
    fill(good)
    text = good("study show prices")
    assert "4 rewards" in text
    assert "price, best at" in text
    assert "▲" in text
    assert "░" in text
    assert "mode" in text


def test_show_one_parameter_and_a_picture(good, refused):
    fill(good)
    assert "mode" not in good("study show prices --parameter price").split("Best now")[1].split("\n", 1)[1]
    good("study show prices --png belief.png")
    assert Path("belief.png").read_bytes()[:4] == b"\x89PNG"
    assert "no parameter is called 'cost'" in refused("study show prices --parameter cost")


def test_show_says_nothing_of_drift_after_few_rewards(good):
    good("study create prices --float price=5:20")
    for price in range(7):
        good(f"study observe prices price={7 + price} --reward 1.{price}")
    few = good("study show prices")
    assert "How the world moves is estimated from 8 rewards on; the study has 7 rewards." in few
    assert "How the world moved" not in few
    good("study observe prices price=15 --reward 1")
    assert "How the world moved" in good("study show prices")


def test_show_without_rewards(good):
    good(CREATE)
    assert "no rewards yet" in good("study show prices")
    assert json.loads(good("study show prices --json"))["recommendation"] is None


def test_show_of_a_policy_that_believes_nothing(good, refused):
    good("study create prices --float price=5:20 --policy random")
    good("study observe prices price=7 --reward 1")
    assert "1 reward" in good("study show prices")
    assert json.loads(good("study show prices --json"))["recommendation"] is None
    assert "no belief" in refused("study show prices --png belief.png")


def test_show_of_candidates_that_share_no_coordinate(good):
    study = Study("places", Candidates([[0.123456789, 0.2], [0.3, 0.4]]), policy="sw-gp-ucb", path="driftwise.db")
    study.tell(study.ask(), 1.0)
    assert "0.123457" in good("study show places")
    good("study show places --png belief.png")


def test_what_to_type_next_can_be_typed(good):
    line = good("study create 'my prices' --float price=5:20 --path 'a b.db'").splitlines()[-1]
    assert line == "Next: driftwise study ask 'my prices' --path 'a b.db'"
    line = good(line.removeprefix("Next: driftwise ")).splitlines()[-1]
    assert "stored as observation 1" in good(line.removeprefix("Then: driftwise ").replace("REWARD", "3"))


def test_choices_are_written_as_they_are(good):
    Study("modes", {"mode": Choice(["7", 8, True])}, policy="sw-gp-ucb", path="driftwise.db")
    for written in ("7", "8", "True", "true"):
        good(f"study observe modes mode={written} --reward 1")
    found = [o["params"]["mode"] for o in json.loads(good("study export modes --json"))["observations"]]
    assert found == ["7", 8, True, True]


def test_show_json_counts(good):
    fill(good)
    waiting = json.loads(good("study ask prices --json"))
    data = json.loads(good("study show prices --json"))
    assert (data["asked"], data["told"], data["awaited"]) == (5, 4, 1)
    assert data["pending"] == [{key: waiting[key] for key in ("id", "number", "params")}]


def test_list_and_another_file(good, monkeypatch):
    good(CREATE)
    good("study create costs --float x=0:1 --minimize")
    assert [s["name"] for s in json.loads(good("study list --json"))["studies"]] == ["costs", "prices"]
    assert "minimize" in good("study show costs --json")
    monkeypatch.setenv("DRIFTWISE_PATH", "other.db")
    good("study create else --float rate=1e-4:1:log")
    assert "else" in good("study list")
    assert Path("other.db").exists()


@pytest.mark.parametrize("way", ["study export prices --json", "study export prices -o log.json"])
def test_export_json(good, way):
    fill(good)
    text = good(way) or Path("log.json").read_text()
    data = json.loads(text)
    assert data["study"] == "prices"
    assert [o["reward"] for o in data["observations"]] == [-1.5, -0.5, 0.5, 1.5]
    assert [set(o["params"]) for o in data["observations"]] == [{"price", "n", "mode"}] * 4


def test_export_of_parameters_that_are_called_as_our_columns(good):
    good("study create odd --float number=0:1 --int reward=1:3")
    good("study observe odd number=0.25 reward=2 --reward 7")
    [row] = csv.DictReader(good("study export odd").splitlines())
    assert row == {"number": "1", "at": "1.0", "params.number": "0.25", "params.reward": "2", "reward": "7.0"}
    [found] = json.loads(good("study export odd --json"))["observations"]
    assert found == {"number": 1, "at": 1.0, "params": {"number": 0.25, "reward": 2}, "reward": 7.0}


def test_export_csv(good):
    fill(good)
    good("study export prices -o log.csv")
    rows = list(csv.DictReader(Path("log.csv").read_text().splitlines()))
    assert list(rows[0]) == ["number", "at", "price", "n", "mode", "reward"]
    assert [float(row["reward"]) for row in rows] == [-1.5, -0.5, 0.5, 1.5]
    assert good("study export prices") == Path("log.csv").read_text()


def test_abandon(good):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    assert json.loads(good(f"study abandon prices {asked['id']} --json")) == {"id": asked["id"], "abandoned": True}
    assert "abandoned" in good(f"study abandon prices {asked['id']}")
    data = json.loads(good("study show prices --json"))
    assert (data["awaited"], data["abandoned"]) == (0, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("create x", "at least one parameter"),
        ("create x --float price", "--float is written as price=5:20, got 'price'"),
        ("create x --float price=5", "LOW:HIGH"),
        ("create x --float price=20:5", "parameter 'price': low must be below high"),
        ("create x --float price=a:5", "two numbers"),
        ("create x --float price=0:5:log", "log scale needs low > 0"),
        ("create x --float price=0:inf", "finite"),
        ("create x --int n=1:2.5", "two whole numbers"),
        ("create x --choice mode=a,a", "must differ"),
        ("create x --choice mode=", "--choice is written as mode=a,b"),
        ("create x --int n", "--int is written as n=1:10"),
        ("create x --float a=0:1 --int a=1:2", "given twice"),
        ("create x --float a=0:1 --policy nope", "no policy is called"),
        ("create x --float a=0:1 --policy r-gp-ucb:interval=0", "interval must be ≥ 1"),
        ("ask nope", "no study 'nope'"),
        ("tell prices nope 3", "no suggestion 'nope'"),
        ("tell prices nope abc", "'abc'"),
        ("tell prices nope nan", "reward must be finite"),
        ("tell prices nope 1e400", "reward must be finite"),
        ("observe prices price=1 n=1 mode=a --reward 1", "parameter 'price' must be a number from 5 to 20"),
        ("observe prices price=9 mode=a --reward 1", "parameter 'n' is missing"),
        ("observe prices price=9 n=1 mode=a cost=3 --reward 1", "unknown parameter 'cost'"),
        ("observe prices price=9 n=1 mode=c --reward 1", "must be one of ['a', 'b'], got 'c'"),
        ("observe prices price --reward 1", "NAME=VALUE, got 'price'"),
        ("observe prices price=9 price=10 --reward 1", "given twice"),
        ("recommend prices", "no rewards yet"),
        ("abandon prices nope", "no suggestion 'nope'"),
        ("export prices -o log.xls", "must end in .csv, .json or .jsonl"),
        ("dance prices", "No such command 'dance'"),
    ],
)
def test_study_refuses(good, refused, line, words):
    good(CREATE)
    assert words in refused(f"study {line}")


def test_a_second_reward_is_refused_and_nothing_changes(good, refused):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    good(f"study tell prices {asked['id']} 3")
    refused(f"study tell prices {asked['id']} 4", code=1)
    assert json.loads(good("study export prices --json"))["observations"][0]["reward"] == 3


def test_a_file_that_is_no_study_is_told_and_left_alone(refused):
    Path("notes.db").write_text("not a study")
    refused("study ask prices --path notes.db", code=1)
    assert Path("notes.db").read_text() == "not a study"


def test_a_file_that_is_not_there(refused):
    assert "driftwise.db" in refused("study ask prices")


def test_a_table_that_is_too_wide_becomes_a_list(good, monkeypatch):
    good("study create checkout-page-prices --float price=5:20 --int count=1:3 --policy sw-gp-ucb")
    monkeypatch.setenv("COLUMNS", "40")
    shown = [line.split() for line in good("study list").splitlines()]
    assert [line for line in shown if line] == [
        ["driftwise.db"],
        ["study", "checkout-page-prices"],
        ["policy", "sw-gp-ucb"],
        ["parameters", "price,", "count"],
        ["rewards", "0"],
        ["awaited", "0"],
    ]


def test_a_table_is_whole_in_a_narrow_terminal(good, monkeypatch):
    good("study create prices --float price=5:20 --int count=1:3 --policy sw-gp-ucb")
    monkeypatch.setenv("COLUMNS", "50")
    lines = good("study list").splitlines()
    assert max(map(len, lines)) <= 50
    columns = [line.rstrip() for line in lines if "study" in line or "prices" in line]
    assert "await" in columns[0]
    assert columns[1].endswith("0")
