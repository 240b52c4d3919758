"""Ask, tell, recommend: what a user sees, in memory and in a file."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from driftwise import RBF, Candidates, Choice, Float, Int, Study, policy
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.policies import replay
from driftwise.records import Ask
from oracles import dense_posterior

pytestmark = pytest.mark.usefixtures("everywhere")

GRID = Candidates(np.linspace(0, 1, 21)[:, None], names=["x"])


@pytest.fixture(params=["memory", "file"])
def path(request, tmp_path, everywhere):
    if (request.param, everywhere) == ("memory", "service"):
        pytest.skip("behind a service every study is in a file")
    return None if request.param == "memory" else tmp_path / "study.db"


def hill(s) -> float:
    return -((s.params["x"] - 0.35) ** 2)


def test_a_study_finds_the_best_setting(path):
    study = Study("hill", GRID, policy="sw-gp-ucb", path=path, window=30, kernel=RBF(0.2), noise=1e-4)
    for _ in range(15):
        s = study.ask()
        study.tell(s, 100 + 5 * hill(s))
    best = study.recommend()
    assert best.params == {"x": GRID.points[7, 0]}
    assert best.mean == pytest.approx(100, abs=0.05)
    assert 0 <= best.std < 0.1


def test_the_recommendation_is_that_of_the_dense_posterior_in_the_users_units(path):
    study = Study("hill", GRID, policy="sw-gp-ucb", path=path, window=8, kernel=RBF(0.2), noise=0.01)
    rng = np.random.default_rng(0)
    for _ in range(12):
        study.tell(study.ask(), float(50 + 20 * rng.standard_normal()))
    last = list(study.observations())[-8:]
    y = np.array([seen.y for seen in last])
    mean, var = dense_posterior(RBF(0.2), 0.01, np.array([o.x for o in last]), (y - y.mean()) / y.std(), GRID.points)
    best, i = study.recommend(), int(np.argmax(mean))
    assert best.params == {"x": GRID.points[i, 0]}
    assert best.mean == pytest.approx(y.mean() + y.std() * mean[i], rel=1e-9)
    assert best.std == pytest.approx(y.std() * np.sqrt(var[i]), rel=1e-9)


@pytest.mark.slow
def test_minimising_is_maximising_the_negative(path):
    up = Study("up", GRID, policy="sw-gp-ucb", path=path, window=10)
    down = Study("down", GRID, policy="sw-gp-ucb", path=path, window=10, direction="minimize")
    for _ in range(12):
        s, t = up.ask(), down.ask()
        assert s.params == t.params
        up.tell(s, hill(s))
        down.tell(t, -hill(t))
    assert [seen.y for seen in down.observations()] == [-seen.y for seen in up.observations()]
    assert down.recommend().params == up.recommend().params
    assert down.recommend().mean == -up.recommend().mean


@pytest.mark.local
def test_rewards_are_standardised_unless_told_otherwise():
    assert Study("a", GRID, policy="sw-gp-ucb").policy.model.standardise
    assert not Study("a", GRID, policy="sw-gp-ucb", standardise=False).policy.model.standardise
    plain = policy("sw-gp-ucb", GRID)
    assert Study("a", policy=plain).policy is plain


@pytest.mark.slow
def test_a_scale_and_a_shift_of_the_rewards_change_no_question():
    plain, scaled = Study("a", GRID, policy="sw-gp-ucb", window=6), Study("b", GRID, policy="sw-gp-ucb", window=6)
    for _ in range(20):
        s, t = plain.ask(), scaled.ask()
        assert s.params == t.params
        plain.tell(s, hill(s))
        scaled.tell(t, 1024 * hill(t))


def test_policies_by_name_by_pair_and_as_they_are(path):
    by_name = Study("a", GRID, "r-gp-ucb", path=path, interval=7)
    by_pair = Study("b", GRID, ("r-gp-ucb", {"interval": 7}), path=path)
    as_is = Study("c", policy=by_name.policy, path=path)
    assert by_name.policy == by_pair.policy == as_is.policy
    with pytest.raises(InvalidInput, match="options go with a policy's name"):
        Study("d", policy=by_name.policy, interval=8)
    with pytest.raises(InvalidInput, match="space and the policy's own space differ"):
        Study("d", {"x": Float(0, 1)}, policy=by_name.policy)
    with pytest.raises(InvalidInput, match="needs a space"):
        Study("d", policy="sw-gp-ucb")
    with pytest.raises(InvalidInput, match="policy must be"):
        Study("d", GRID, policy=3)
    with pytest.raises(NotFoundError, match="no policy is called 'best'"):
        Study("d", GRID, policy="best")
    with pytest.raises(InvalidInput, match="no option 'windw'"):
        Study("d", GRID, policy="sw-gp-ucb", windw=3)


def test_mixed_spaces(path):
    space = {"price": Float(5, 20, log=True), "size": Int(1, 9), "colour": Choice(["red", None, True, 1])}
    study = Study("shop", space, policy="sw-gp-ucb", path=path, window=10)
    for i in range(6):
        s = study.ask()
        assert study.space.to_unit(s.params) == pytest.approx(s.x)
        study.tell(s, float(i))
    study.observe({"price": 7.5, "size": 3, "colour": True}, 2.0)
    again = study.space.from_unit(list(study.observations())[-1].x)
    assert again["price"] == pytest.approx(7.5)
    assert again["colour"] is True
    assert set(study.recommend().params) == set(space)


def test_the_random_policy_works_and_has_nothing_to_recommend(path):
    study = Study("dice", GRID, "random", path=path, seed=3)
    s = study.ask()
    assert not study.tell(s, 1.0).in_window
    with pytest.raises(InvalidInput, match="random learns nothing"):
        study.recommend()


def test_nothing_told_yet():
    study = Study("a", GRID, policy="sw-gp-ucb")
    study.ask()
    with pytest.raises(InvalidInput, match="no rewards yet"):
        study.recommend()


def test_time_is_the_number_unless_given_and_is_data(path):
    study = Study("a", GRID, policy="sw-gp-ucb", path=path)
    first, second = study.ask(), study.ask(at=77.5)
    assert (first.at, second.at) == (1.0, 77.5)
    study.tell(second, 1.0)
    study.tell(first, 2.0, at=-3.0)
    study.observe({"x": 0.5}, 3.0)
    assert [(seen.number, seen.at) for seen in study.observations()] == [(1, -3.0), (2, 77.5), (3, 77.5)]


@pytest.mark.slow
def test_with_times_of_your_own_now_is_not_the_number():
    """A still function, seconds since 1970: what is asked without a time is asked about now."""
    study, began = Study("a", {"x": Float(0, 1)}), 1.7e9
    for i in range(30):
        s = study.ask()
        study.tell(s, -((s.params["x"] - 0.7) ** 2), at=began + 60 * i)
    assert study.ask().at == began + 60 * 29
    assert abs(study.recommend().params["x"] - 0.7) < 0.05
    assert study.drift() == study.drift(at=began + 60 * 29)
    assert study.drift().in_use > 10


def test_late_rewards_say_whether_they_still_count(path):
    study = Study("a", GRID, policy="sw-gp-ucb", path=path, window=3)
    asked = [study.ask() for _ in range(5)]
    told = {i: study.tell(asked[i], float(i)).in_window for i in (4, 3, 0, 2, 1)}
    assert told == {4: True, 3: True, 0: True, 2: True, 1: False}
    assert not study.tell(asked[0], 0.0).in_window  # by now it has moved on
    assert [seen.number for seen in study.observations()] == [1, 2, 3, 4, 5]


def test_after_a_restart_the_rewards_of_the_last_block_no_longer_count(path):
    study = Study("a", GRID, "r-gp-ucb", path=path, interval=2)
    first, second, third = study.ask(), study.ask(), study.ask()
    assert study.tell(third, 1.0).in_window
    assert not study.tell(second, 1.0).in_window
    assert not study.tell(first, 1.0).in_window


def test_pending_suggestions_spread_out_and_expire(path):
    study = Study("a", GRID, policy="sw-gp-ucb", path=path, patience=4, kernel=RBF(0.2))
    asked = [study.ask() for _ in range(6)]
    assert len({s.params["x"] for s in asked[:4]}) == 4
    assert [s.id for s in study.pending()] == [s.id for s in asked[2:]]
    study.abandon(asked[3])
    study.tell(asked[4], 1.0)
    assert [s.id for s in study.pending()] == [asked[2].id, asked[5].id]
    assert study.tell(asked[0], 1.0).new  # expired, and its reward still counts
    lonely = Study("b", GRID, policy="sw-gp-ucb", path=path, patience=0)
    assert len({lonely.ask().params["x"] for _ in range(3)}) == 1


def test_the_question_is_the_policys_own_with_pending_points(path):
    study = Study("a", GRID, policy="sw-gp-ucb", path=path, window=5, seed=9)
    for i in range(9):
        s = study.ask()
        if i % 3:
            study.tell(s, hill(s))
    pending = tuple(s.x for s in study.pending())
    assert len(pending) == 3
    ask = Ask(number=10, at=10.0, pending=pending, seed=9)
    expected = study.policy.choose(replay(study.policy, study.observations()), ask)
    assert study.ask().x == tuple(expected)


def test_an_abandoned_suggestion_is_no_observation(path):
    study = Study("a", GRID, policy="sw-gp-ucb", path=path)
    s = study.ask()
    study.abandon(s.id)
    assert list(study.observations()) == []
    assert study.describe().counts.abandoned == 1
    assert study.ask().params == s.params  # as if it had never been


def test_reopening_with_the_same_description_and_with_another(path, tmp_path):
    path = tmp_path / "a.db"
    made = Study("a", {"x": Float(0, 1)}, policy="sw-gp-ucb", path=path, window=5, kernel=RBF(0.3))
    s = made.ask(key="k")
    assert Study("a", {"x": Float(0, 1)}, policy="sw-gp-ucb", path=path, window=5, kernel=RBF(0.3)).ask(key="k") == s
    others = {
        r"parameters\.x\.high is 1\.0 in the study, 2\.0 was given": ({"x": Float(0, 2)}, {}),
        "window": ({"x": Float(0, 1)}, {"window": 6}),
        "seed": ({"x": Float(0, 1)}, {"seed": 1}),
        "direction": ({"x": Float(0, 1)}, {"direction": "minimize"}),
        "lengthscale": ({"x": Float(0, 1)}, {"kernel": RBF(0.4)}),
        "r-gp-ucb|Restart": ({"x": Float(0, 1)}, {"policy": "r-gp-ucb", "window": None}),
    }
    for differs, (space, options) in others.items():
        given = {"window": 5, "kernel": RBF(0.3)} | options
        given = {name: value for name, value in given.items() if value is not None}
        with pytest.raises(ConflictError, match=differs):
            Study("a", space, path=path, **({"policy": "sw-gp-ucb"} | given))
    assert Study.names(path) == ["a"]
    assert made.describe().counts.asked == 1


def test_open_finds_everything_again(tmp_path):
    path = tmp_path / "a.db"
    made = Study("a", GRID, policy="sw-gp-ucb", path=path, window=5, seed=4, direction="minimize", patience=3)
    s = made.ask(key="till-7")
    opened = Study.open("a", path=path)
    assert opened.description == made.description
    assert opened.ask(key="till-7") == s
    assert repr(opened) == f"Study('a', policy='sw-gp-ucb', path={made.path!r})"
    with pytest.raises(NotFoundError, match="no study 'b'; it has 'a'"):
        Study.open("b", path=path)
    with pytest.raises(NotFoundError, match="there is no file"):
        Study.open("a", path=tmp_path / "b.db")
    with pytest.raises(InvalidInput, match="cannot be opened again"):
        Study.open("a", path=None)


@pytest.mark.local
def test_several_objects_of_one_study_see_each_others_rewards(path, tmp_path):
    path = tmp_path / "a.db"
    one, two, still = (Study("a", GRID, policy="sw-gp-ucb", path=path, window=4) for _ in range(3))
    asked = []
    for i in range(12):
        asked.append((one, two)[i % 2].ask())
        if i % 3 == 2:
            for s in reversed(asked[-3:]):  # late ones too
                (two, one)[i % 2].tell(s, hill(s))
    ask = Ask(number=13, at=13.0, pending=(), seed=0)
    expected = still.policy.choose(replay(still.policy, still.observations()), ask)
    for study in (one, two, still):
        state = study._fold.state(study._log.read(study._fold.missing))
        assert tuple(study.description.feasible.choose(state, ask)) == tuple(expected)


@pytest.mark.local
def test_the_default_is_told_nothing_and_goes_on_where_it_was(tmp_path):
    path = tmp_path / "s.db"
    study = Study("s", {"a": Float(0, 1), "c": Choice(["x", "y"])}, path=path)
    assert study.policy.name == "auto"
    for t in range(30):
        s = study.ask()
        study.tell(s, reward=s.params["a"] + t % 3)
    ask, chosen = Ask(31, 31.0), []
    for each in (study, Study.open("s", path=path)):
        state = each._fold.state(each._log.read(each._fold.missing))
        chosen.append(tuple(each.description.feasible.choose(state, ask)))
    assert chosen[0] == chosen[1]


def test_a_study_in_a_file_can_be_copied_and_sent_elsewhere(tmp_path):
    study = Study("s", GRID, policy="sw-gp-ucb", path=tmp_path / "a.db")
    study.tell(study.ask(), 1.0)
    for again in (copy.deepcopy(study), pickle.loads(pickle.dumps(study))):
        assert again.recommend() == study.recommend()


@pytest.mark.local
def test_a_study_in_memory_can_be_neither_copied_nor_sent():
    memory = Study("s", GRID, policy="sw-gp-ucb")
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidInput, match="give it a file"):
            attempt(memory)


def test_an_observation_without_a_time_has_that_of_the_newest_where_times_are_your_own():
    study = Study("s", GRID, policy="sw-gp-ucb")
    params = study.ask().params
    study.observe(params, 1.0)
    study.observe(params, 1.0, at=1.7e9)
    study.observe(params, 1.0)
    assert [seen.at for seen in study.observations()] == [2.0, 1.7e9, 1.7e9]
