"""The first settings of a box are spread over it, whatever the rewards are."""

import numpy as np
import pytest

from driftwise import RBF, Ask, Candidates, Choice, Float, Int, Study, policy
from driftwise.auto.policy import latin_hypercube

CUBE = {name: Float(0, 1) for name in "abcdef"}
FIRST = len(CUBE) + 2


def first_choices(made, n):
    return np.array([made.choose(made.start(), Ask(number, float(number), seed=3)) for number in range(1, n + 1)])


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 2), (12, 10), (102, 100)])
def test_a_latin_hypercube_has_one_point_in_each_part_of_every_coordinate(n, d):
    points = latin_hypercube(n, d, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.floor(n * points), axis=0), np.tile(np.arange(n)[:, None], (1, d)))


def test_the_first_settings_are_such_a_design():
    parts = np.floor(FIRST * first_choices(policy("auto", CUBE), FIRST))
    assert np.array_equal(np.sort(parts, axis=0), np.tile(np.arange(FIRST)[:, None], (1, len(CUBE))))


def test_another_seed_has_another_design():
    made = policy("auto", CUBE)
    assert not np.array_equal(made.choose(made.start(), Ask(1, 1.0, seed=1)), made.choose(made.start(), Ask(1, 1.0)))


@pytest.mark.parametrize(
    "made",
    [
        policy("auto", CUBE, known_kernel=RBF(0.5)),
        policy("auto", CUBE, max_step=0.1),
        policy("auto", {"x": Float(0, 1), "y": Float(0, 1)}),
        policy("auto", Candidates(np.random.default_rng(0).random((20, 2)))),
    ],
    ids=["known kernel", "max_step", "two dimensions", "candidates"],
)
def test_there_is_none_where_more_is_known_or_little_is_gained(made):
    assert made._designed(Ask(1, 1.0)) is None


def test_whole_numbers_and_choices_are_settings():
    study = Study("mixed", {"n": Int(1, 64, log=True), "x": Float(0, 1), "kind": Choice(list("abc"))}, seed=2)
    asked = study.ask(n=5)
    assert {s.params["kind"] for s in asked} == set("abc")
    assert len({s.params["n"] for s in asked}) >= 4


def test_what_is_asked_while_others_are_pending_differs():
    study = Study("batch", CUBE, seed=1)
    first, second = study.ask(key="a"), study.ask(key="b")
    assert first.params != second.params


def test_a_setting_that_failed_is_not_asked_again():
    study = Study("failing", CUBE, seed=1)
    first = study.ask()
    study.tell(first, failed=True)
    assert study.ask().params != first.params


def test_a_context_is_kept():
    study = Study("context", CUBE, context={"load": Float(0, 10)}, seed=1)
    first, second = (study.ask(context={"load": 3.0}, key=key) for key in "ab")
    assert first.context == second.context == {"load": 3.0}
    assert first.params != second.params


def test_rewards_from_before_take_the_place_of_a_design():
    study, rng = Study("known", CUBE, seed=1), np.random.default_rng(0)
    for _ in range(30):
        params = dict(zip(CUBE, rng.random(len(CUBE)).tolist(), strict=True))
        study.observe(params, reward=params["a"])
    assert study.ask().params["a"] > 0.9
