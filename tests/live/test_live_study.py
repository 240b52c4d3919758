"""Studies with `live=`: roles with every ask, rollouts that follow from the log, and who decided what."""

from __future__ import annotations

import sqlite3
from collections import Counter

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import ConflictError, InvalidInput, StoreError
from driftwise.log import verify
from driftwise.log.decisions import decisions

SPACE = {"workers": dw.Int(1, 9)}
BEST = 7


def made(path=None, *, policy=("gp-ucb", {}), space=SPACE, seed=0, name="web", **live):
    about = {"incumbent": {"workers": 3}, "margin": 0.05, "explore": 0.1} | live
    return dw.Study(name, space, policy, path=path, seed=seed, live=dw.Live(**about))


def reward(params, turn, rng, noise=0.3):
    return -0.1 * (params["workers"] - BEST) ** 2 + np.sin(turn / 30) + noise * rng.standard_normal()


def serve(study, n, *, seed=0, reward=reward, sign=1.0, **told):
    """Ask and tell n times; the suggestions."""
    rng, asked = np.random.default_rng(seed), []
    for _ in range(n):
        suggestion = study.ask()
        study.tell(suggestion, sign * reward(suggestion.params, suggestion.number, rng), **told)
        asked.append(suggestion)
    return asked


def state_of(study):
    return study.describe().counts, study.in_force, study.rollout


# --- asking -----------------------------------------------------------------------------------------------------------


def test_without_live_there_are_no_roles():
    study = dw.Study("plain", SPACE)
    assert study.ask().role is None
    with pytest.raises(InvalidInput, match="has no live operation; make it with live="):
        study.in_force  # noqa: B018


def test_every_ask_has_a_role_and_control_gets_the_incumbent():
    asked = serve(made(explore=0.3), 15)
    roles = Counter(each.role for each in asked)
    assert set(roles) == {"control", "explore"}
    assert all(each.params == {"workers": 3} for each in asked if each.role == "control")


def test_an_ask_has_the_role_it_had_also_after_a_restart(tmp_path):
    study = made(tmp_path / "web.db", explore=0.5)
    first = [study.ask(key=f"k{i}") for i in range(20)]
    again = dw.Study.open("web", path=tmp_path / "web.db")
    assert [again.ask(key=f"k{i}") for i in range(20)] == first
    assert [each.role for each in again.pending()] == [each.role for each in first]


def test_the_next_ask_is_the_same_after_a_restart(tmp_path):
    study = made(tmp_path / "web.db", settle=1, explore=0.4)
    other = made(settle=1, explore=0.4)
    for chunk in range(4):
        here, there = serve(study, 9, seed=chunk), serve(other, 9, seed=chunk)
        assert [(s.role, s.params) for s in here] == [(s.role, s.params) for s in there]
        study.close()
        study = dw.Study.open("web", path=tmp_path / "web.db")


def test_several_asks_at_once_have_roles_of_their_own():
    roles = Counter(each.role for each in made(explore=0.5).ask(n=40))
    assert min(roles["control"], roles["explore"]) > 8


def test_a_context_goes_with_every_role():
    study = dw.Study(
        "ctx",
        {"workers": dw.Float(1, 9)},
        "gp-ucb",
        context={"load": dw.Float(0, 1)},
        live=dw.Live(incumbent={"workers": 3}, explore=0.5),
    )
    asked = [study.ask(context={"load": load}) for load in np.linspace(0, 1, 30)]
    assert [each.context["load"] for each in asked] == pytest.approx(np.linspace(0, 1, 30))
    assert {each.params["workers"] for each in asked if each.role == "control"} == {3.0}
    assert study.in_force == {"workers": 3.0}


# --- rollouts ---------------------------------------------------------------------------------------------------------


def test_the_better_setting_is_found_tried_and_accepted():
    study = made(explore=0.3)
    serve(study, 400)
    assert abs(study.in_force["workers"] - BEST) <= 1
    first = study.rollout.acts[0]
    assert (first.what, first.who) == ("proposed", "driftwise")
    assert first.when


def test_a_bad_setting_put_in_by_hand_is_rolled_back_while_the_load_changes():
    study = made(explore=0.0)
    serve(study, 20)
    study.propose({"workers": 1}, "let us see", who="bob")
    asked = serve(study, 250)
    rollout = study.rollout
    assert (rollout.state, study.in_force) == ("rolled back", {"workers": 3})
    assert rollout.acts[0].who == "bob"
    assert rollout.interval[0] < -1.2 < rollout.interval[1] <= -0.05  # −3.6 against −1.6 is −2
    assert sum(each.role == "candidate" for each in asked) < 60


def test_the_effect_is_in_the_users_units():
    study = dw.Study(
        "ms", SPACE, "gp-ucb", direction="minimize", live=dw.Live(incumbent={"workers": 3}, explore=0.0, margin=0.05)
    )
    serve(study, 20, sign=-1.0)
    study.propose({"workers": BEST})
    serve(study, 400, sign=-1.0)
    assert study.rollout.state == "accepted"
    assert study.rollout.effect == pytest.approx(-1.6, abs=0.4)
    assert study.rollout.interval[0] < study.rollout.effect < study.rollout.interval[1] < 0.05


def test_a_replay_decides_the_same(tmp_path):
    study = made(tmp_path / "web.db", explore=0.3)
    for chunk in range(4):
        serve(study, 60, seed=chunk)
        again = dw.Study.open("web", path=tmp_path / "web.db")
        assert (again.in_force, again.rollout) == (study.in_force, study.rollout)
    assert study.rollout is not None
    copy = study.copy("copy", path=tmp_path / "copy.db")
    assert copy.rollout == study.rollout
    assert verify.check(tmp_path / "web.db") == verify.check(tmp_path / "copy.db") == []


def test_two_processes_serve_one_rollout(tmp_path):
    one = made(tmp_path / "web.db", explore=0.0)
    two = dw.Study.open("web", path=tmp_path / "web.db")
    serve(one, 20)
    two.propose({"workers": BEST})
    for chunk in range(18):
        serve(one, 7, seed=chunk), serve(two, 7, seed=100 + chunk)
    assert one.in_force == two.in_force == {"workers": BEST}
    assert one.rollout == two.rollout


def test_what_followed_from_a_reading_is_dated_once_and_not_read_past(tmp_path, monkeypatch):
    study = made(tmp_path / "web.db", explore=0.0)
    serve(study, 20)
    study.propose({"workers": BEST})
    serve(study, 250)
    assert study.rollout.state == "accepted"
    assert study.rollout.acts[-1].when
    decided = [made.said["what"] for _, made in study._log.read(decisions)]
    assert decided == ["proposed", "accepted"]
    study.roll_back("pager")
    serve(study, 10)
    expected, read, after = study.rollout, [], type(study)._after
    monkeypatch.setattr(
        type(study), "_after", lambda self, course, each: read.append(each) or after(self, course, each)
    )
    again = dw.Study.open("web", path=tmp_path / "web.db")
    assert (again.rollout, again.in_force) == (expected, {"workers": 3})
    assert max(each.number for each in read[:-1]) <= expected.acts[-1].number < read[-1].number
    assert [each.role for each in serve(again, 5)] == ["control"] * 5


def test_a_fork_is_served_in_the_same_way():
    study = made()
    serve(study, 10)
    assert study.fork("again").in_force == {"workers": 3}


# --- people -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def proposed():
    study = made(approve=True, explore=0.0)
    serve(study, 20)
    study.propose({"workers": BEST}, who="bob")
    return study


def test_a_candidate_waits_until_it_is_approved(proposed):
    assert {each.role for each in serve(proposed, 40)} == {"control"}
    proposed.approve({"workers": BEST}, "go ahead", who="ada")
    assert "candidate" in {each.role for each in serve(proposed, 60)}
    act = proposed.rollout.acts[1]
    assert (act.what, act.who, act.why) == ("on trial", "ada", "go ahead")


def test_a_rejected_candidate_is_never_served(proposed):
    proposed.reject("black Friday", who="ada")
    assert {each.role for each in serve(proposed, 40)} == {"control"}
    assert (proposed.rollout.state, proposed.rollout.why) == ("rejected", "black Friday")


def test_a_candidate_is_rolled_back_by_hand_on_trial_and_when_it_is_in_force(proposed):
    proposed.approve()
    serve(proposed, 30)
    proposed.roll_back("pager", who="ada")
    assert (proposed.rollout.state, proposed.in_force) == ("rolled back", {"workers": 3})
    proposed.propose({"workers": BEST})
    proposed.approve()
    serve(proposed, 400)
    assert proposed.in_force == {"workers": BEST}
    proposed.roll_back("pager")
    assert {tuple(each.params.items()) for each in serve(proposed, 10)} == {(("workers", 3),)}


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda study: study.approve({"workers": 2}), "is the candidate no longer, it is {'workers': 7}"),
        (lambda study: study.reject(candidate={"workers": 2}), "is the candidate no longer"),
        (lambda study: study.roll_back(), "on trial or accepted to roll back, there is one that is proposed"),
        (lambda study: study.propose({"workers": 5}), "there is a candidate already"),
    ],
)
def test_a_decision_that_comes_too_late_changes_nothing(proposed, do, said):
    before = state_of(proposed)
    with pytest.raises(ConflictError, match=said):
        do(proposed)
    assert state_of(proposed) == before


def test_without_a_candidate_there_is_nothing_to_decide():
    study = made()
    for decide in (study.approve, study.reject, study.roll_back):
        with pytest.raises(ConflictError, match="there is no candidate"):
            decide()
    assert study.rollout is None


def test_a_candidate_needs_an_incumbent_that_is_known():
    with pytest.raises(InvalidInput, match=r"the incumbent must have 5 readings .* got 0; ask and tell some more"):
        made().propose({"workers": 5})


def test_what_is_in_force_is_no_candidate():
    study = made(explore=0.0)
    serve(study, 10)
    with pytest.raises(ConflictError, match="in force already"):
        study.propose({"workers": 3})


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"live": dw.Live(incumbent={"workers": 30})},
            "live: parameter 'workers' must be a whole number from 1 to 9, got 30",
        ),
        ({"live": dw.Live(incumbent={"pool": 3})}, "live: .*workers"),
        ({"live": dw.Live(incumbent={"workers": 3}), "where": "workers > 5"}, "live: .*workers > 5"),
        ({"live": {"incumbent": {"workers": 3}}}, "live must be Live"),
        ({"live": dw.Live(incumbent={"workers": 3}), "policy": "random"}, "live: "),
    ],
)
def test_a_study_that_cannot_be_is_refused_and_no_file_is_made(tmp_path, more, said):
    with pytest.raises(InvalidInput, match=said):
        dw.Study("web", SPACE, **more, path=tmp_path / "web.db")
    assert not (tmp_path / "web.db").exists()


def test_a_guardrail_must_be_measured():
    study = made(guardrails={"errors": dw.at_most(0.01)})
    suggestion = study.ask()
    with pytest.raises(InvalidInput, match="guardrail 'errors' must be measured with every reading, got no measure"):
        study.tell(suggestion, 1.0)
    assert study.describe().counts.told == 0
    study.tell(suggestion, 1.0, measures={"errors": 0.0})
    study.tell(study.ask(), failed=True)  # nothing can be measured of it


def test_a_guardrail_rolls_back():
    study = made(guardrails={"errors": dw.at_most(0.01)}, explore=0.0)
    rng = np.random.default_rng(0)

    def turn(study):
        s = study.ask()
        bad = s.params["workers"] == BEST and rng.random() < 0.4
        study.tell(s, reward(s.params, s.number, rng), measures={"errors": float(bad)})

    for _ in range(20):
        turn(study)
    study.propose({"workers": BEST}, "it is faster")
    for _ in range(400):
        turn(study)
    assert (study.rollout.state, study.rollout.why) == ("rolled back", "errors is not at most 0.01 on average")
    assert study.rollout.acts[0].why == "it is faster"  # it earns more, and is not proposed again all the same


def test_pinned_parameters_and_roles_exclude_each_other():
    with pytest.raises(InvalidInput, match="fixed cannot be given where roles say"):
        made().ask(fixed={"workers": 4})


def test_a_study_with_another_plan_is_another_study(tmp_path):
    made(tmp_path / "web.db")
    made(tmp_path / "web.db")
    with pytest.raises(ConflictError, match="live"):
        made(tmp_path / "web.db", margin=0.5)


def test_a_damaged_decision_is_noticed(tmp_path):
    study = made(tmp_path / "web.db", explore=0.0)
    serve(study, 20)
    study.propose({"workers": BEST}, who="bob")
    study.close()
    with sqlite3.connect(tmp_path / "web.db") as file:
        damaged = "CAST(replace(CAST(body AS TEXT), 'bob', 'eve') AS BLOB)"
        file.execute(f"UPDATE entries SET body = {damaged} WHERE kind = 4")
    with pytest.raises(StoreError, match="damaged"):
        dw.Study.open("web", path=tmp_path / "web.db").rollout  # noqa: B018
