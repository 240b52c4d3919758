"""What the dashboard shows of a study, against the study itself; and that it does not grow with the study."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from driftwise import Candidates, Choice, Float, Int, Study, at_most
from driftwise.auto.drift_history import FEW
from driftwise.errors import InvalidInput
from driftwise.service.dashboard import maps, spans, views


@pytest.fixture(scope="module")
def study() -> Study:
    made = Study(
        "web",
        space={"workers": Int(1, 32, log=True), "cache": Float(0, 1), "codec": Choice(["none", "zstd"])},
        direction="minimize",
        where=["workers <= 30"],
        limits={"p99": at_most(200)},
        context={"traffic": Float(0, 1)},
        seed=3,
    )
    for i in range(30):
        s = made.ask(context={"traffic": i % 3 / 2})
        if i == 7:
            made.tell(s, failed=True)
        else:
            made.tell(s, 30 + (s.params["cache"] - 0.4) ** 2, measures={"p99": 100.0 + i})
    made.correct(3, 31.0, who="Ada", why="a test")
    made.ask(context={"traffic": 0.5})
    return made


def test_a_glance_says_what_the_study_says(study):
    shown = views.glance(study)
    best = study.recommend(context=study.latest(1)[-1].context)
    assert shown["recommended"]["params"] == dict(best.params)
    assert (shown["recommended"]["mean"], shown["recommended"]["sure"]) == (best.mean, best.sure)
    assert shown["counts"] == {"last": 31, "rewards": 29, "awaited": 1, "failed": 1, "corrected": 1}
    assert shown["spark"] == [[seen.number, seen.reward] for seen in study.latest(60)]
    assert shown["drift"]["noise"] == study.drift().noise


@pytest.mark.slow
def test_all_documents_are_json(study):
    for made in (
        views.glance(study),
        views.head(study),
        views.head(study, {"traffic": 0.25}),
        views.rewards(study),
        views.belief(study),
        views.moves(study),
        views.changes(study),
        views.forecast(study),
        views.over_time(study),
        views.log(study),
        maps.belief_map(study, "workers", "codec"),
        spans.compare(study, (1, 10), (11, 30)),
    ):
        assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_the_head_has_controls_for_every_parameter(study):
    shown = views.head(study)
    assert shown["parameters"] == [
        {"name": "workers", "kind": "int", "low": 1, "high": 32, "log": True},
        {"name": "cache", "kind": "float", "low": 0.0, "high": 1.0, "log": False},
        {"name": "codec", "kind": "choice", "values": ["none", "zstd"]},
    ]
    assert shown["context"] == [{"name": "traffic", "kind": "float", "low": 0.0, "high": 1.0, "log": False}]
    assert (shown["where"], shown["limits"]) == (["workers <= 30"], [{"name": "p99", "low": None, "high": 200.0}])
    assert [each["number"] for each in shown["pending"]] == [31]
    arms = Study("arms", space=Candidates(labels=["a", "b"]), policy="sw-gp-ucb", window=4)
    assert [each["values"] for each in views.parameters(arms.space)] == [["a", "b"]]


def test_curves_and_maps_are_the_belief(study):
    context = {"traffic": 0.5}
    best = study.recommend(context=context)
    curve = next(each for each in views.belief(study, context)["slices"] if each["name"] == "cache")
    i = len(curve["values"]) // 2
    expected = study.predict({**best.params, "cache": curve["values"][i]}, context=context)
    assert np.isclose(curve["mean"][i], expected.mean)
    assert np.isclose(curve["std"][i], expected.std)
    drawn = maps.belief_map(study, "cache", "codec", context)
    assert np.shape(drawn["mean"]) == (2, maps.SIDE)
    cell = study.predict({**best.params, "cache": drawn["columns"][4], "codec": drawn["lines"][1]}, context=context)
    assert np.isclose(drawn["mean"][1][4], cell.mean)
    assert len(drawn["asked"]) == 30


def test_a_map_needs_two_parameters_of_the_study(study):
    with pytest.raises(InvalidInput, match="two different parameters"):
        maps.belief_map(study, "cache", "cache")
    with pytest.raises(InvalidInput, match="'nothing'; it has workers"):
        maps.belief_map(study, "cache", "nothing")


def test_pages_of_the_log_meet_without_a_gap():
    study = Study("log", space={"x": Float(0, 1)}, policy="sw-gp-ucb", window=4)
    study.load({"params": {"x": 0.5}, "reward": float(i)} for i in range(1, 121))
    study.retract(100)
    numbers, before = [], None
    while True:
        found = views.log(study, before)
        numbers += [row["number"] for row in found["rows"]]
        before = found["older"]
        if before is None:
            break
    assert numbers == [n for n in range(120, 0, -1) if n != 100]


def test_a_study_without_rewards_says_so():
    study = Study("new", space={"x": Float(0, 1)})
    shown = views.glance(study)
    assert shown["recommended"] is None
    assert "no rewards yet" in shown["why_not"]
    assert views.rewards(study)["rows"] == []
    assert views.belief(study) == {"slices": []}
    assert views.log(study) == {"rows": [], "older": None}


def test_how_the_world_moves_is_not_said_of_a_few_rewards():
    study = Study("few", space={"x": Float(0, 1)})
    for i in range(FEW):
        assert views.glance(study)["drift"] is None
        study.observe({"x": i / FEW}, float(i))
    assert views.glance(study)["drift"]["seen"] == FEW


def test_one_wild_reward_is_marked_and_no_other():
    study = Study("odd", space={"x": Float(0, 1)}, seed=1)
    draw = np.random.default_rng(0)
    for i in range(40):
        s = study.ask()
        study.tell(s, -((s.params["x"] - 0.3) ** 2) + 0.01 * draw.standard_normal() + (50.0 if i == 35 else 0.0))
    assert [row[0] for row in views.rewards(study)["rows"] if row[4]] == [36]


WORLDS = {
    "drifts": lambda i, x: math.sin(6 * x + 0.12 * i),
    "another level": lambda i, x: -((x - 0.3) ** 2) + (i >= 50),
    "a wave": lambda i, x: -((x - 0.3) ** 2) + math.sin(2 * math.pi * i / 45),
}


@pytest.mark.parametrize("world", WORLDS)
def test_correct_readings_are_not_marked(world):
    study = Study(world, space={"x": Float(0, 1)}, seed=0)
    draw = np.random.default_rng(0)
    for i in range(60):
        s = study.ask()
        study.tell(s, WORLDS[world](i, s.params["x"]) + 0.02 * draw.standard_normal())
    assert [row[0] for row in views.rewards(study)["rows"] if row[4]] == []


def test_what_is_awaited_is_counted_as_it_is_listed():
    study = Study("old", space={"x": Float(0, 1)}, policy="sw-gp-ucb", window=4, patience=2)
    study.ask()
    for _ in range(3):
        study.tell(study.ask(), 1.0)
    assert study.describe().counts.unanswered == 1  # but it is too old to be waited for
    for shown in (views.head(study), views.glance(study)):
        assert shown["counts"]["awaited"] == len(study.pending()) == 0
    assert "3, 0 awaited" in study._repr_html_()
    study.ask()
    assert study.describe().awaited == views.head(study)["counts"]["awaited"] == 1


def test_two_spans_by_the_formula_of_welch():
    from scipy import stats

    study = Study("spans", space={"x": Float(0, 1), "c": Choice(["a", "b"])}, policy="sw-gp-ucb", window=4)
    draw = np.random.default_rng(0)
    values = [*draw.normal(0, 1, 30), *draw.normal(1, 2, 50)]
    study.load({"params": {"x": 0.5, "c": "ab"[i % 2]}, "reward": float(y)} for i, y in enumerate(values))
    found = spans.compare(study, (1, 30), (31, 80))
    expected = stats.ttest_ind(values[30:], values[:30], equal_var=False).confidence_interval(0.95)
    assert np.allclose([found["difference"]["low"], found["difference"]["high"]], expected)
    assert found["spans"][0]["asked"] == {"x": {"quartiles": [0.5] * 3}, "c": {"shares": [["a", 0.5], ["b", 0.5]]}}
    with pytest.raises(InvalidInput, match="a span goes"):
        spans.compare(study, (5, 4), (1, 2))


def test_what_is_sent_is_bounded():
    study = Study("long", space={"x": Float(0, 1)}, policy="sw-gp-ucb", window=50)
    study.load({"params": {"x": i % 7 / 7}, "reward": float(i % 11)} for i in range(20_000))
    sizes = {}
    for last in (3_000, 20_000):
        made = views.rewards(study, first=20_000 - last + 1)
        sizes[last] = len(made["rows"])
        assert len(json.dumps(made)) < 40_000
    assert sizes == {3_000: views.POINTS, 20_000: views.POINTS}
    assert len(json.dumps(views.glance(study))) < 4_000
    assert len(json.dumps(views.log(study))) < 20_000
