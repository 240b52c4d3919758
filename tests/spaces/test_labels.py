"""Candidates with names of their own, with and without coordinates."""

import numpy as np
import pytest

from driftwise import Candidates, Choice, Float, Study
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.records import Ask
from driftwise.spaces import Where, joint, pinned

COLOURS = ["red", "green", "blue"]
SIZES = Candidates([[1.0, 9.0], [5.0, 4.0]], ["size", "price"], labels=["small", "large"])


def test_arms_without_coordinates_are_equally_far_from_each_other():
    X = Candidates(labels=COLOURS).points
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert np.unique(apart[~np.eye(3, dtype=bool)]).size == 1
    assert (Choice(COLOURS).settings == X).all()


def test_a_list_of_text_is_a_list_of_labels():
    assert Candidates(COLOURS) == Candidates(labels=COLOURS) == Candidates(np.array(COLOURS).tolist())


def test_labels_come_back_as_they_were_given():
    space = Candidates(labels=COLOURS, names=["colour"])
    assert [space.from_unit(space.to_unit({"colour": c})) for c in COLOURS] == [{"colour": c} for c in COLOURS]
    assert len(space) == space.dim == 3


def test_with_coordinates_both_come_back_and_the_label_alone_is_enough():
    assert SIZES.from_unit((5.0, 4.0)) == {"arm": "large", "size": 5.0, "price": 4.0}
    assert SIZES.to_unit({"arm": "large"}) == SIZES.to_unit({"arm": "large", "price": 4}) == (5.0, 4.0)
    with pytest.raises(InvalidInput, match=r"'price' of 'large' is 4.0, got 9; leave it out"):
        SIZES.to_unit({"arm": "large", "price": 9})
    assert SIZES.names == ("arm", "size", "price")
    assert Candidates([[1.0], [2.0]], ["kind", "size"], labels=["a", "b"]).names == ("kind", "size")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Candidates(labels=["a", "b", "a"]), "labels must differ, got 'a' twice"),
        (lambda: Candidates(labels=["a", ""]), "a label must be 1 to 200 printable characters, got ''"),
        (lambda: Candidates(labels=["a", 2]), "a label must be 1 to 200 printable characters, got 2"),
        (lambda: Candidates(labels="abc"), "labels must be a list, as .'red', 'green'., got 'abc'"),
        (lambda: Candidates(labels=0.5), "labels must be a list, as .'red', 'green'., got 0.5"),
        (lambda: Candidates(100, labels=["a", "b"]), "candidates must be a table of n ≥ 1 rows"),
        (lambda: Candidates(labels=[]), "candidates must be rows of numbers"),
        (lambda: Candidates([[1.0], [2.0]], labels=["a"]), "one for each candidate, got 1 for 2"),
        (lambda: Candidates([[1.0], [1.0]], labels=["a", "b"]), "'a' and 'b' are both at"),
        (lambda: Candidates(labels=["a", "b"], names=["x", "y"]), "names must be that of the label alone"),
        (lambda: Candidates([[1.0]], ["x", "x"], labels=["a"]), "that of the label and 1 different ones"),
        (lambda: Candidates(labels=[str(i) for i in range(10**6)]), "a space needs at most 16,777,216 numbers"),
        (lambda: Candidates(labels=COLOURS).to_unit({"arm": "pink"}), "'arm' must be one of .*, got 'pink'"),
        (lambda: Candidates(labels=COLOURS).to_unit({"colour": "red"}), "params must be a dict with 'arm'"),
        (lambda: Candidates(labels=COLOURS).to_unit("red"), "params must be a dict of arm, got 'red'"),
        (lambda: SIZES.from_unit((5.0, 5.0)), "is none of the 2 candidates"),
    ],
)
def test_bad_labels_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize("space", [Candidates(labels=COLOURS), SIZES, Candidates([[1.0], [2.0]], ["size"])])
def test_the_codec_keeps_them(space):
    assert codec.loads(codec.dumps(space)) == space


def test_only_the_labels_of_many_arms_are_written():
    assert len(codec.dumps(Candidates(labels=[f"arm {i}" for i in range(1000)]))) < 20_000


def test_rules_know_labels_and_coordinates():
    allowed = Where.of(["arm != 'red'"], Candidates(labels=COLOURS))
    assert allowed(Candidates(labels=COLOURS).points).tolist() == [False, True, True]
    assert Where.of(["arm in ['large'] or size < 1"], SIZES)(SIZES.points).tolist() == [False, True]
    with pytest.raises(InvalidInput, match=r"'price < 5', got price=9.0"):
        Where.of(["price < 5"], SIZES).check({"arm": "small"})
    with pytest.raises(InvalidInput, match="'pink'"):
        Where.of(["arm != 'pink'"], SIZES)


@pytest.mark.parametrize("settings", [Candidates(labels=["small", "large"]), SIZES])
def test_a_context_and_pins_go_with_labels(settings):
    space = joint(settings, {"traffic": Float(0, 1)})
    x = space.to_unit({"arm": "large", "traffic": 0.5})
    assert space.from_unit(x)["arm"] == "large"
    fixed = pinned(space, {"arm": "small", "traffic": 0.25})
    chosen = space.argmax(lambda X: X[:, 0], Ask(1, 1.0, fixed=fixed))
    assert space.from_unit(tuple(chosen))["arm"] == "small"
    assert Where.of(["arm == 'small' or traffic < 0.5"], space).share == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize("policy", ["auto", "sw-gp-ucb", "sw-linucb", "random", "ada-opkb"])
def test_policies_find_the_best_arm_by_name(policy):
    options = {"horizon": 60} if policy == "ada-opkb" else {}
    study = Study("ads", Candidates(labels=COLOURS), policy, **options)
    for _ in range(40):
        s = study.ask()
        study.tell(s, {"red": 0.0, "green": 1.0, "blue": 0.2}[s.params["arm"]])
    assert study.observe({"arm": "red"}, 0.1).new
    if policy != "random":
        assert study.recommend().params == {"arm": "green"}


def test_a_study_with_labels_opens_again(tmp_path):
    file = tmp_path / "ads.db"
    first = Study("ads", SIZES, path=file)
    s = first.ask()
    first.tell(s, 1.0)
    assert Study.open("ads", path=file).space == SIZES
    assert Study("ads", SIZES, path=file).ask().params == Study.open("ads", path=file).pending()[-1].params
