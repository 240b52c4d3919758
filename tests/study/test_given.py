"""Defaults may improve: a study is compared with what its user gives, and goes on with what it was made with."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import driftwise as dw
from driftwise.auto import policy as auto
from driftwise.errors import ConflictError
from driftwise.log import codec
from driftwise.policies import setup
from driftwise.study.given import conflict, given_by, kept, policy_of

LINE = {"x": dw.Float(0, 1)}


def description(policy="auto", options=None, space=LINE, **settings):
    made = {"policy": codec.encode(policy_of(policy, space, options or {}))}
    return made | {"direction": "maximize", "seed": 0, "patience": 32, "where": []} | settings


def compared(then, now):
    """The conflict between two sets of arguments."""
    return conflict(given_by(*then), description(*then), given_by(*now), description(*now))


# --- pure -------------------------------------------------------------------------------------------------------------


def test_what_was_given_is_json_and_no_more():
    assert given_by() == {}
    assert given_by(None, {}, None, seed=None) == {}
    found = given_by(("sw-gp-ucb", {"window": 5}), {"kernel": dw.RBF(0.2)}, LINE, seed=np.int64(3))
    assert json.loads(json.dumps(found)) == found
    assert found["options"] == {"window": 5, "kernel": {"type": "RBF", "lengthscale": 0.2}}
    assert (found["policy"], found["seed"]) == ("sw-gp-ucb", 3)
    assert given_by(None, {"window": 99})["policy"] == "auto"
    assert given_by(policy_of("sw-gp-ucb", LINE, {})) == {"policy": {"type": "policy object"}}


def test_what_is_long_is_kept_as_a_digest():
    points = [[float(i)] for i in range(1000)]
    one, same, other = (given_by(space=dw.Candidates(p)) for p in (points, points, points[:-1]))
    assert len(json.dumps(one)) < 200
    assert one == same != other


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        (("sw-gp-ucb", {"window": 50}), ("sw-gp-ucb", {"window": 50}), ""),
        (("sw-gp-ucb", {"window": 50}), ("sw-gp-ucb", {"window": np.int64(50)}), ""),
        (("sw-gp-ucb", {"window": 50}), ("sw-gp-ucb", {}), ""),  # nothing is claimed now
        (("sw-gp-ucb", {}), ("sw-gp-ucb", {"window": 60}), ""),  # the same as the default of then
        (("sw-gp-ucb", {"width": 2}), ("sw-gp-ucb", {"width": 2.0}), ""),
        (("sw-gp-ucb", {"window": 50}), ("sw-gp-ucb", {"window": 51}), "window is 50 in the study, 51 was given"),
        (("sw-gp-ucb", {}), ("sw-gp-ucb", {"window": 51}), "window is 60 in the study, 51 was given"),
        (("sw-gp-ucb", {}), ("auto", {}), "policy is 'sw-gp-ucb' in the study, 'auto' was given"),
        (("auto", {}), ("auto", {"standardise": False}), None),
    ],
)
def test_only_what_is_given_now_is_compared(then, now, told):
    if told is None:
        with pytest.raises(dw.InvalidInput):  # auto has no such option
            compared(then, now)
    else:
        assert compared(then, now) == told


def test_an_option_whose_fields_have_other_names_is_compared_by_its_effect():
    told = compared(("auto", {}), ("auto", {"known_kernel": dw.RBF(0.2)}))
    assert told == "the study was made without known_kernel, RBF(lengthscale=0.2) was given"
    told = compared(("sw-gp-ucb", {"kernel": dw.RBF(0.2)}), ("sw-gp-ucb", {"kernel": dw.RBF(0.3)}))
    assert told == "kernel is RBF(lengthscale=0.2) in the study, RBF(lengthscale=0.3) was given"
    told = compared(("sw-gp-ucb", {}), ("sw-gp-ucb", {"horizon": 500, "budget": 2.0}))
    assert "budget" in told
    assert "Matern" not in told


def test_spaces_and_settings_are_compared_if_they_are_given():
    wide = {"x": dw.Float(0, 2)}
    told = conflict(given_by(space=LINE), description(), given_by(space=wide), description(space=wide))
    assert told == "space.parameters.x.high is 1.0 in the study, 2.0 was given"
    stored, now = description(seed=3, patience=5), description(where=["x < 1"], direction="minimize")
    assert conflict({}, stored, given_by(), now) == ""
    assert conflict({}, stored, given_by(seed=0), now) == "seed is 3 in the study, 0 was given"
    told = conflict({}, stored, given_by(direction="minimize", where=["x < 1"]), now)
    assert told == (
        "direction is 'maximize' in the study, 'minimize' was given; where is [] in the study, ['x < 1'] was given"
    )


def test_a_policy_object_is_compared_as_a_whole():
    one, other = (policy_of("sw-gp-ucb", LINE, {"window": w}) for w in (50, 51))
    assert compared((one,), (one,)) == ""
    assert compared((one, {}, None), (other, {}, None)) == "window is 50 in the study, 51 was given"
    assert compared(("sw-gp-ucb", {"window": 50}), (one,)) == ""
    assert "window is 50" in compared(("sw-gp-ucb", {"window": 50}), (other,))


def test_what_is_kept_is_said(monkeypatch):
    made, stored = given_by("sw-gp-ucb", {"width": 1.5}), description("sw-gp-ucb", {"width": 1.5}, patience=16)
    assert kept(made, stored) == []
    monkeypatch.setattr(setup, "LENGTH", 200)
    assert [str(each) for each in kept(made, stored, given={}, defaults={"patience": 32})] == [
        "made with width=1.5, which is not given now",
        "made with window=60; the default is now 200",
        "made with patience=16; the default is now 32",
    ]
    assert kept(given_by(policy_of("sw-gp-ucb", LINE, {})), stored) == []


def test_todays_default_given_in_so_many_words_is_a_conflict_if_the_study_has_another(monkeypatch):
    stored = description("sw-gp-ucb", {})
    monkeypatch.setattr(setup, "LENGTH", 200)
    made, now = (
        given_by("sw-gp-ucb"),
        (given_by("sw-gp-ucb", {"window": 200}), description("sw-gp-ucb", {"window": 200})),
    )
    assert conflict(made, stored, *now) == "window is 60 in the study, 200 was given"
    assert conflict(made, stored, given_by("sw-gp-ucb"), description("sw-gp-ucb")) == ""


# --- in a study -------------------------------------------------------------------------------------------------------


def filled(path, **options):
    study = dw.Study("s", LINE, path=path, **options)
    for reward in (1.0, 3.0, 2.0):
        study.tell(study.ask(), reward)
    return study


@pytest.mark.parametrize(
    ("options", "module", "default", "value", "told"),
    [
        ({}, auto, "WIDTH", 0.5, "made with width=0.8; the default is now 0.5"),
        ({"policy": "sw-gp-ucb"}, setup, "LENGTH", 200, "made with window=60; the default is now 200"),
        ({"policy": "sw-gp-ucb", "width": 3.0}, setup, "LENGTH", 200, "made with window=60; the default is now 200"),
    ],
)
def test_a_study_outlives_a_change_of_defaults(tmp_path, monkeypatch, caplog, options, module, default, value, told):
    before = filled(tmp_path / "old.study", **options)
    asked = before.ask(key="next")
    monkeypatch.setattr(module, default, value)
    with caplog.at_level(logging.INFO, logger="driftwise"):
        after = dw.Study("s", LINE, path=tmp_path / "old.study", **options)
    assert after.policy == before.policy
    assert after.ask(key="next") == asked
    assert [record.getMessage() for record in caplog.records] == [f"study 's' was {told}"]
    assert dw.Study("s", LINE, **options).policy != before.policy  # a new one has the new default


def test_what_is_given_and_differs_is_a_conflict_in_the_users_words(tmp_path):
    filled(tmp_path / "s.study", policy="sw-gp-ucb", window=50, kernel=dw.RBF(0.2))
    with pytest.raises(ConflictError, match="window is 50 in the study, 40 was given; leave these out"):
        dw.Study("s", LINE, "sw-gp-ucb", path=tmp_path / "s.study", window=40)
    again = dw.Study("s", LINE, path=tmp_path / "s.study")  # it says nothing of the policy
    assert again.policy.window == 50
