"""driftwise study copy, rename, delete and fork."""

import json

import pytest

from driftwise import Float, Int, Study
from driftwise.spaces import Box


def opened(name, path="driftwise.db"):
    return Study.open(name, path=path)


@pytest.fixture
def study(good):
    good("study create s --float price=5:20 --int n=1:3 --policy sw-gp-ucb:window=30 --minimize --where 'n < 3'")
    for price in range(5, 20, 3):
        good(f"study observe s price={price} n=2 --reward {price - 10} --key k{price}")


def rewards(name, path="driftwise.db"):
    return [o.reward for o in opened(name, path).observations()]


def test_copy(study, good, refused):
    assert good("study copy s t") == "The study t is in driftwise.db.\n"
    assert json.loads(good("study copy s s --to other.db --json"))["path"] == "other.db"
    assert rewards("t") == rewards("s") == rewards("s", "other.db")
    assert "told before" in good("study observe t price=5 n=2 --reward -5 --key k5")
    assert "already has a study 't'" in refused("study copy s t", code=1)


def test_rename(study, good, refused):
    assert good("study rename s 'two words'") == "The study s is now called two words.\n"
    assert Study.names("driftwise.db") == ["two words"]
    assert "no study 's'" in refused("study rename s t")


def test_delete_asks(study, good, refused):
    assert "only if you give --yes" in refused("study delete s")
    assert "only if you give --yes" in refused("study delete s --json")
    assert Study.names("driftwise.db") == ["s"]
    good("study copy s t")
    assert good("study delete s --yes") == "The study s is deleted, with 5 observations.\n"
    assert json.loads(good("study delete t --yes --json")) == {"name": "t", "deleted": True, "told": 5}
    assert Study.names("driftwise.db") == []


@pytest.mark.parametrize(("answer", "left"), [(True, []), (False, ["s"])])
def test_the_answer_counts(study, call, monkeypatch, answer, left):
    asked = []
    monkeypatch.setattr("driftwise.cli.study_files.on_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda text, err: asked.append(text) or answer)
    done = call("study delete s")
    assert done.exit_code == (0 if answer else 1)
    assert ("driftwise: nothing was deleted" in done.stderr) is not answer
    assert asked == ["Delete s with its 5 observations?"]
    assert Study.names("driftwise.db") == left


def test_fork_with_another_range(study, good):
    said = good("study fork s wide --float price=5:40")
    assert said == "The study wide is in driftwise.db.\nIt begins with 5 observations of s.\n"
    assert opened("wide").space == Box.of({"price": Float(5, 40), "n": Int(1, 3)})
    assert opened("wide").description.direction == "minimize"
    assert opened("wide").policy.window == 30
    assert rewards("wide") == rewards("s")
    narrow = json.loads(good("study fork s narrow --float price=5:10 --to other.db --json"))
    assert (narrow["taken"], narrow["left_out"], narrow["path"]) == (2, 3, "other.db")
    assert "; 3 outside of its ranges and rules left out" in good("study fork s narrow --float price=5:10")


def test_fork_with_another_policy_rule_and_limit(study, good):
    good("study fork s t --policy gp-ucb --where 'price <= 15' --limit 'ms<=3'")
    made = opened("t")
    assert made.policy.name == "gp-ucb"
    assert made.description.where == ("n < 3", "price <= 15")
    assert [name for name, _ in made.description.limits] == ["ms"]
    assert rewards("t") == rewards("s")[:4]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fork s s", 1, "study 's' already exists"),
        ("fork s t --float cost=1:2", 2, "no parameter is called 'cost'; a fork has those of its study: price, n"),
        ("fork s t --float price=9", 2, "LOW:HIGH"),
        ("fork s t --policy nope", 2, "no policy is called"),
        ("fork s t --where 'price < 0'", 2, "no setting satisfies"),
        ("fork nope t", 2, "no study 'nope'"),
        ("copy nope t", 2, "no study 'nope'"),
        ("delete nope --yes", 2, "no study 'nope'"),
        ("rename s ''", 2, "name"),
    ],
)
def test_refusals(study, refused, line, code, words):
    assert words in refused(f"study {line}", code=code)
    assert Study.names("driftwise.db") == ["s"]
    assert len(rewards("s")) == 5
