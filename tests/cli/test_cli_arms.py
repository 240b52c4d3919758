"""Arms with names and a past, from the command line."""

import json
from pathlib import Path

import pytest

from driftwise import Candidates, Study


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")


def test_arms_by_name(good):
    good("study create ads --arms red,green,blue")
    asked = json.loads(good("study ask ads --json"))
    assert asked["params"]["arm"] in ("red", "green", "blue")
    good(f"study tell ads {asked['id']} 1.5")
    good("study observe ads arm=blue --reward 2")
    assert json.loads(good("study recommend ads --json"))["params"] == {"arm": "blue"}
    assert good("study export ads").splitlines()[0] == "number,at,arm,reward"
    shown = good("study show ads")
    assert "blue" in shown
    assert "green" in shown
    assert Study.open("ads", path="driftwise.db").space == Candidates(labels=["red", "green", "blue"])


def test_a_label_that_looks_like_a_number_is_text(good):
    good("study create ads --arms 7,8")
    good("study observe ads arm=7 --reward 2")
    assert json.loads(good("study ask ads --json"))["params"]["arm"] in ("7", "8")


def test_arms_from_a_file(good):
    write("arms.csv", "colour,price,size\nred,1,2\ngreen,3,4\n")
    good("study create ads --arms-from arms.csv")
    space = Study.open("ads", path="driftwise.db").space
    assert space == Candidates([[1.0, 2.0], [3.0, 4.0]], ["colour", "price", "size"], labels=["red", "green"])
    good("study observe ads colour=red --reward 2")
    assert "colour" in good("study show ads")
    write("names.csv", "colour\nred\ngreen\n")
    good("study create more --arms-from names.csv")
    assert Study.open("more", path="driftwise.db").space == Candidates(labels=["red", "green"], names=["colour"])


@pytest.mark.parametrize(("option", "best"), [("", "blue"), ("--minimize", "green")])
def test_a_history_from_a_file(good, option, best):
    write("past.csv", "green,red,blue\n1,2,3\n1.5,,4\n1,2.5,3\n")  # another order than the arms have, and a gap
    good(f"study create ads --arms red,green,blue --history past.csv {option}")
    assert json.loads(good("study ask ads --json"))["params"] == {"arm": best}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--arms a,b --int n=1:2", "a study has parameters or arms, got --arms and --float, --int and --choice"),
        ("--arms a,b --arms-from arms.csv", "got --arms and --arms-from"),
        ("--arms a,,b", "--arms is written as red,green,blue, got 'a,,b'"),
        ("--arms a,a", "labels must differ, got 'a' twice"),
        ("--arms-from none.csv", "cannot read none.csv"),
        ("--arms-from empty.csv", "a row of headings and one for each arm, got 0 rows"),
        ("--arms-from ragged.csv", "row 3: 1 cells where the first row has 2"),
        ("--arms-from words.csv", "row 2: a coordinate must be a finite number, got 'b'"),
        ("--arms a,b --history past.csv", "history must have a column for each label, got none for 'b'"),
        ("--arms a,b --history twice.csv", "must have one column for each arm, got 'a' twice"),
        ("--arms a,b --history none.csv", "cannot read none.csv"),
        ("--arms a,b --history words.csv", "must be a finite number"),
        ("--arms a,b --history past.csv --policy random", "random has no option 'history'"),
        ("--float x=0:1 --history past.csv", "history is for Candidates"),
    ],
)
def test_bad_arms_are_refused(refused, line, words):
    write("arms.csv", "arm\na\nb\n")
    write("empty.csv", "")
    write("ragged.csv", "arm,x\na,1\nb\n")
    write("words.csv", "arm,x\na,b\n")
    write("past.csv", "a\n1\n2\n")
    write("twice.csv", "a,a\n1,2\n2,3\n")
    assert words in " ".join(refused(f"study create x {line}").split())
    assert not Path("driftwise.db").exists()
