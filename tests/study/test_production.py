"""Failures, rules, contexts, batches, noise, corrections, tables: what a live system needs, through the front door."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftwise import Candidates, Choice, Float, Int, Study
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.feasible import at_least, at_most

pytestmark = pytest.mark.usefixtures("everywhere")

BOX = {"x": Float(0, 1)}


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.local  # what is slow there is the policy
@pytest.mark.parametrize("policy", ["auto", "sw-gp-ucb"])
def test_a_study_stays_away_from_settings_that_crash_and_finds_the_best_that_works(policy):
    study = Study("s", BOX, policy, seed=1)
    for _ in range(60):
        s = study.ask()
        x = s.params["x"]
        if x > 0.7:
            study.tell(s, failed=True)
        else:
            study.tell(s, 10 * x)
    log = list(study.observations())
    assert sum(seen.failed for seen in log) <= 8
    assert max(seen.reward for seen in log if not seen.failed) >= 0.98 * 7
    assert study.predict({"x": 0.8}).works < study.predict({"x": 0.3}).works
    assert 0.6 <= study.recommend().params["x"] <= 0.7


def test_a_failure_is_an_outcome_of_its_own():
    study = Study("s", BOX, "sw-gp-ucb")
    s = study.ask()
    assert study.tell(s, failed=True).new
    assert not study.tell(s, failed=True).new
    with pytest.raises(ConflictError, match="a failure"):
        study.tell(s, 1.0)
    (seen,) = study.observations()
    assert (seen.failed, seen.reward) == (True, None)
    assert math.isnan(seen.y)
    with pytest.raises(InvalidInput, match="no rewards yet"):
        study.recommend()


@pytest.mark.parametrize(
    "wrong",
    [
        {"reward": 1.0, "failed": True},
        {"failed": True, "std": 0.1},
        {"failed": 1},
        {},
        {"reward": 1.0, "std": 0.0},
        {"reward": 1.0, "std": -1.0},
        {"reward": 1.0, "repeats": 0},
        {"reward": 1.0, "repeats": 2.5},
        {"reward": 1.0, "measures": [1]},
        {"reward": 1.0, "measures": {"ms": math.nan}},
        {"reward": 1.0, "measures": {"": 1.0}},
        {"reward": 1.0, "measures": {f"m{i}": 1.0 for i in range(33)}},
    ],
)
def test_bad_outcomes_are_refused_and_nothing_is_stored(wrong):
    study = Study("s", BOX)
    s = study.ask()
    for call in (lambda: study.tell(s, **wrong), lambda: study.observe({"x": 0.5}, **wrong)):
        with pytest.raises(InvalidInput):
            call()
    assert study.describe().counts.told == 0


# --- rules, pins and contexts -----------------------------------------------------------------------------------------


def test_rules_are_obeyed_checked_in_observe_and_stored(tmp_path):
    space = {"workers": Int(1, 64), "cache_mb": Int(16, 4096, log=True), "compression": Choice(["none", "zstd"])}
    rules = ["workers * cache_mb <= 8192", "compression != 'none' or workers < 16"]
    study = Study("s", space, where=rules, path=tmp_path / "s.db")
    for i in range(12):
        p = study.ask().params
        assert p["workers"] * p["cache_mb"] <= 8192
        assert p["compression"] != "none" or p["workers"] < 16
        study.observe(p, float(i % 3))
    with pytest.raises(InvalidInput, match=r"workers \* cache_mb <= 8192"):
        study.observe({"workers": 64, "cache_mb": 4096, "compression": "zstd"}, 1.0)
    again = Study.open("s", path=tmp_path / "s.db")
    assert again.description.where == tuple(rules)
    with pytest.raises(ConflictError, match="where"):
        Study("s", space, where=["workers < 8"], path=tmp_path / "s.db")
    with pytest.raises(InvalidInput, match="no setting satisfies"):
        Study("t", space, where=["workers > 32", "workers < 8"], path=tmp_path / "t.db")
    assert not (tmp_path / "t.db").exists()


def test_pinned_parameters_stay_as_they_are():
    study = Study("s", {"n": Int(1, 9), "kind": Choice(["a", "b"]), "x": Float(0, 1)})
    for i in range(6):
        s = study.ask(fixed={"kind": "b", "n": 3})
        assert (s.params["kind"], s.params["n"]) == ("b", 3)
        study.tell(s, float(i))
    assert study.recommend(fixed={"kind": "a"}).params["kind"] == "a"
    with pytest.raises(InvalidInput, match="kind"):
        study.ask(fixed={"kind": "c"})


@pytest.mark.slow
@pytest.mark.parametrize("space", [BOX, Candidates([[0.0], [0.25], [0.5], [0.75], [1.0]], names=["x"])])
def test_a_context_is_given_and_the_best_setting_follows_it(space, tmp_path):
    study = Study("s", space, context={"traffic": Float(0, 1)}, path=tmp_path / "s.db")
    rng = np.random.default_rng(0)
    for _ in range(40):
        traffic = float(rng.choice([0.0, 1.0]))
        s = study.ask(context={"traffic": traffic})
        assert (set(s.params), s.context) == ({"x"}, {"traffic": traffic})
        study.tell(s, -((s.params["x"] - 0.25 - 0.5 * traffic) ** 2) + 0.01 * rng.normal())
    study = Study.open("s", path=tmp_path / "s.db")
    for traffic, best in ((0.0, 0.25), (1.0, 0.75)):
        found = study.recommend(context={"traffic": traffic})
        assert found.params["x"] == pytest.approx(best, abs=0.1)
        assert found.context == {"traffic": traffic}
        assert study.predict({"x": 0.25}, context={"traffic": traffic}).mean == pytest.approx(-0.25 * traffic, abs=0.1)
    seen = next(study.observations())
    assert seen.context is not None
    for wrong in (None, {}, {"traffic": 2.0}, {"traffic": 0.5, "day": 1}, 3):
        with pytest.raises(InvalidInput, match="context"):
            study.ask(context=wrong)
    with pytest.raises(InvalidInput, match="no context"):
        Study("t", BOX).ask(context={"traffic": 0.5})


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.local  # what is slow there is the policy
def test_a_measured_limit_is_learned_and_kept():
    study = Study("s", BOX, limits={"ms": at_most(0.5)}, seed=2)
    broken = 0
    for i in range(40):
        s = study.ask()
        x = s.params["x"]
        study.tell(s, x, measures={"ms": x * x})
        broken += i >= 20 and x * x > 0.5
    assert broken <= 4
    assert study.recommend().params["x"] ** 2 <= 0.55
    assert study.predict({"x": 0.9}).measures["ms"][0] == pytest.approx(0.81, abs=0.1)


def test_a_safe_study_begins_at_its_start_and_needs_one(tmp_path):
    study = Study("s", BOX, limits={"ms": at_most(0.5)}, safe=True, start={"x": 0.1}, path=tmp_path / "s.db")
    assert study.ask().params == {"x": 0.1}
    assert Study.open("s", path=tmp_path / "s.db").description.start == (0.1,)
    with pytest.raises(InvalidInput, match="known to be safe"):
        Study("t", BOX, limits={"ok": at_least(0.5)}, safe=True)
    with pytest.raises(InvalidInput, match="limits"):
        Study("t", BOX, safe=True, start={"x": 0.1})


# --- batches and noise ------------------------------------------------------------------------------------------------


def test_a_batch_spreads_out_and_comes_again_by_its_key():
    study = Study("s", BOX, "sw-gp-ucb")
    for x in (0.2, 0.5, 0.8):
        study.observe({"x": x}, x)
    batch = study.ask("b", n=8)
    assert [s.number for s in batch] == list(range(4, 12))
    assert len({round(s.params["x"], 3) for s in batch}) >= 5
    assert study.ask("b", n=8) == batch
    with pytest.raises(ConflictError):
        study.ask("b", n=3)
    assert len(study.ask(n=1)) == 1
    for wrong in (0, -1, 1001, 2.5, "8"):
        with pytest.raises(InvalidInput):
            study.ask(n=wrong)


def test_a_batch_equals_single_asks_in_a_row():
    one, many = Study("s", BOX), Study("s", BOX)
    for study in (one, many):
        for x in (0.2, 0.5, 0.8):
            study.observe({"x": x}, x * (1 - x))
    assert [one.ask().x for _ in range(5)] == [s.x for s in many.ask(n=5)]


def test_a_reading_of_known_noise_counts_accordingly():
    sure, doubtful = Study("a", BOX, "gp-ucb", standardise=False), Study("b", BOX, "gp-ucb", standardise=False)
    for study, std in ((sure, 1e-3), (doubtful, 10.0)):
        study.observe({"x": 0.5}, 5.0, std=std)
    assert sure.predict({"x": 0.5}).mean == pytest.approx(5.0, abs=0.01)
    assert doubtful.predict({"x": 0.5}).mean == pytest.approx(0.0, abs=0.1)
    twin, repeated = Study("c", BOX, "gp-ucb", standardise=False), Study("d", BOX, "gp-ucb", standardise=False)
    for _ in range(20):
        twin.observe({"x": 0.5}, 5.0)
    repeated.observe({"x": 0.5}, 5.0, repeats=20)
    assert repeated.predict({"x": 0.6}).mean == pytest.approx(twin.predict({"x": 0.6}).mean)
    assert repeated.predict({"x": 0.6}).std == pytest.approx(twin.predict({"x": 0.6}).std)
    with pytest.raises(InvalidInput, match="alike"):
        Study("e", Candidates([[0.0], [1.0]]), "ada-opkb").observe({"x0": 0.0}, 1.0, std=0.1)


# --- corrections ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["auto", "sw-gp-ucb", "gp-ucb"])
def test_after_corrections_the_belief_is_as_if_it_had_always_been_so(policy, tmp_path):
    wrong, right = Study("s", BOX, policy, path=tmp_path / "a.db"), Study("s", BOX, policy)
    rng = np.random.default_rng(3)
    for i in range(30):
        x, y = float(rng.random()), float(rng.normal())
        wrong.observe({"x": x}, 1000.0 if i in (7, 20) else y, at=float(i))
        right.observe({"x": x}, y, at=float(i))
        if i == 7:
            good = y
    wrong.recommend()
    wrong.correct(8, good, who="Ada", why="a typing error")
    wrong.retract(21, why="the sensor stuck")
    right.retract(21)
    assert wrong.recommend(at=40.0) == right.recommend(at=40.0)
    assert wrong.ask(at=41.0).x == right.ask(at=41.0).x
    again = Study.open("s", path=tmp_path / "a.db")
    assert again.recommend(at=40.0) == right.recommend(at=40.0)
    first, second = again.corrections()
    assert (first.number, first.before.y, first.after.y, first.who, first.why) == (
        8,
        1000.0,
        good,
        "Ada",
        "a typing error",
    )
    assert (second.number, second.after) == (21, None)
    assert [seen.number for seen in again.observations()] == [n for n in range(1, 31) if n != 21]
    again.correct(21, 0.5)
    assert [seen.reward for seen in again.observations()][20] == 0.5


def test_what_cannot_be_corrected_is_refused():
    study = Study("s", BOX)
    s = study.ask()
    for which in (99, s, s.id):
        with pytest.raises(NotFoundError):
            study.correct(which, 1.0)
    for which in (0, None, 1.5):
        with pytest.raises(InvalidInput):
            study.retract(which)
    for which in ("x", "1-of-another-file"):
        with pytest.raises(NotFoundError):
            study.retract(which)
    study.tell(s, 1.0)
    with pytest.raises(InvalidInput, match="who"):
        study.correct(s, 2.0, who="x" * 501)
    assert study.correct(s, 2.0).new
    assert not study.correct(s.id, 2.0).new
    assert not study.tell(s, 1.0).new  # a retry of the first call


def test_a_correction_of_the_reward_leaves_the_measures():
    study = Study("s", BOX)
    study.observe({"x": 0.5}, 40.0, measures={"ms": 7.0})
    study.correct(1, 42.0)
    (seen,) = study.observations()
    assert (seen.reward, seen.measures) == (42.0, {"ms": 7.0})
    study.correct("1", 42.0, measures={})
    assert next(study.observations()).measures == {}


def test_a_key_recognises_a_tell_that_is_repeated():
    study = Study("s", BOX)
    one, two = study.ask(), study.ask()
    assert study.tell(one, 1.0, key="event-1").new
    study.correct(one, 5.0)
    assert not study.tell(one, 1.0, key="event-1").new
    with pytest.raises(ConflictError):
        study.tell(two, 1.0, key="event-1")


# --- the log as a table -----------------------------------------------------------------------------------------------


def test_rows_are_loaded_once_for_each_key_and_all_or_none():
    study = Study("s", {"x": Float(0, 1), "kind": Choice(["a", "b"])}, context={"t": Float(0, 1)})
    row = {"params": {"x": 0.5, "kind": "a"}, "context": {"t": 0.5}, "reward": 1.0}
    rows = [row | {"key": "k1"}, row | {"reward": None, "failed": True, "key": "k2"}, row | {"std": 0.2, "at": 7.0}]
    loaded = study.load(rows)
    assert (loaded.new, loaded.known) == (3, 0)
    assert study.load(rows[:2]).known == 2
    with pytest.raises(InvalidInput, match=r"row 2.*kind"):
        study.load([row, row | {"params": {"x": 0.5, "kind": "c"}}])
    with pytest.raises(ConflictError):
        study.load([row, row | {"key": "k1", "reward": 2.0}])
    for wrong in (3, {"reward": 1.0}, row | {"colour": 1}):
        with pytest.raises(InvalidInput, match="row 1"):
            study.load([wrong])
    assert study.describe().counts.told == 3


def test_a_frame_has_a_column_for_each_part():
    study = Study("s", {"x": Float(0, 1), "reward": Float(0, 1)})
    study.observe({"x": 0.25, "reward": 0.5}, 2.0, measures={"ms": 7.0})
    study.observe({"x": 0.75, "reward": 0.5}, failed=True)
    frame = study.to_frame()
    columns = {name: list(frame[name]) for name in frame}
    assert columns["number"] == [1, 2]
    assert columns["x"] == [0.25, 0.75]
    assert columns["params.reward"] == [0.5, 0.5]
    assert columns["reward"][0] == 2.0
    assert columns["failed"] == [False, True]
    assert columns["measures.ms"][0] == 7.0


def test_a_fork_begins_with_the_observations_that_fit():
    study = Study("s", {"x": Float(0, 10)}, "sw-gp-ucb", window=7, direction="minimize")
    for x in (1.0, 4.0, 9.0):
        study.observe({"x": x}, x, std=0.1)
    wider = study.fork("wider", {"x": Float(2, 20)})
    assert [seen.params["x"] for seen in wider.observations()] == pytest.approx([4.0, 9.0])
    assert (wider.policy.window, wider.description.direction) == (7, "minimize")
    assert [seen.std for seen in wider.observations()] == [0.1, 0.1]
    other = study.fork("other", policy="auto")
    assert (other.policy.name, len(list(other.observations()))) == ("auto", 3)


def test_studies_are_copied_renamed_and_deleted(tmp_path):
    study = Study("s", BOX, path=tmp_path / "a.db")
    s = study.ask("key")
    study.tell(s, 1.0)
    copied = study.copy("t")
    assert copied.ask("key") == s
    with pytest.raises(ConflictError):
        study.copy("t")
    study.rename("u")
    assert Study.names(tmp_path / "a.db") == ["t", "u"]
    study.tell(study.ask(), 2.0)
    copied.delete()
    assert Study.names(tmp_path / "a.db") == ["u"]
    Study("new", BOX, path=tmp_path / "a.db").observe({"x": 0.5}, 9.0)
    assert [seen.reward for seen in Study.open("u", path=tmp_path / "a.db").observations()] == [1.0, 2.0]


@pytest.mark.local
def test_a_study_is_copied_into_another_file(tmp_path):
    study = Study("s", BOX, path=tmp_path / "a.db")
    study.tell(study.ask(), 1.0)
    there = study.copy("s", path=tmp_path / "b.db")
    assert list(there.observations()) == list(study.observations())
    assert there.pending() == study.pending()


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_predictions_are_in_the_users_units_and_sign(direction):
    study = Study("s", BOX, direction=direction)
    for x in np.random.default_rng(0).permutation(np.linspace(0, 1, 21)):  # in order, a slope might be drift as well
        study.observe({"x": float(x)}, 1000 + 50 * float(x))
    found = study.predict({"x": 0.5})
    assert found.mean == pytest.approx(1025, abs=3)
    assert 0 <= found.std < 10
    assert found.works == 1.0


@pytest.mark.parametrize("policy", ["auto", "sw-gp-ucb"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_after_one_reward_the_setting_that_was_tried_is_recommended(policy, direction):
    study = Study("s", {"x": Float(0, 1), "kind": Choice(["a", "b"])}, policy, direction=direction)
    s = study.ask()
    study.tell(s, 12.3)
    found = study.recommend()
    assert found.params["kind"] == s.params["kind"]
    assert found.params["x"] == pytest.approx(s.params["x"], abs=0.02)
    assert not found.sure


@pytest.mark.local  # what is slow there is the policy
def test_a_recommendation_is_sure_when_much_is_known_and_not_just_after_a_change():
    study = Study("s", BOX, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = float(rng.random())
        study.observe({"x": x}, -((x - 0.3) ** 2) + 0.01 * rng.normal())
    assert study.recommend().sure
    while not study.alarm:
        x = float(rng.random())
        study.observe({"x": x}, -((x - 0.9) ** 2) + 0.01 * rng.normal())
        assert study.describe().counts.last < 100
    assert not study.recommend().sure


@pytest.mark.slow
def test_changes_are_told_once():
    study = Study("s", BOX, seed=0)
    rng = np.random.default_rng(1)
    for i in range(90):
        x = float(rng.random())
        study.observe({"x": x}, -((x - (0.2 if i < 60 else 0.8)) ** 2) + 0.01 * rng.normal())
        if i == 75:
            early = study.changes()
    (change,) = study.changes()
    assert abs(change.number - 61) <= 3
    assert [c.noticed for c in early] == [change.noticed]
    assert study.changes(since=change.noticed) == []
    assert [c.noticed for c in study.changes(since=change.noticed - 1)] == [change.noticed]
    study.retract(1)
    assert [c.noticed for c in study.changes()] == [change.noticed]
    with pytest.raises(InvalidInput, match="auto"):
        Study("t", BOX, "sw-gp-ucb").changes()


def test_optimize_is_a_loop_of_ask_and_tell():
    study = Study("s", BOX, "sw-gp-ucb")

    def measure(params):
        if params["x"] > 0.9:
            raise RuntimeError("it crashed")
        return params["x"]

    best = study.optimize(measure, 15, catch=RuntimeError)
    assert best.params["x"] > 0.6
    counts = study.describe().counts
    assert counts.told == 15

    def interrupted(params):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted, 3)
    assert study.describe().counts.abandoned == 1
    assert study.best_params == study.recommend().params


def test_in_a_notebook_names_and_values_are_text():
    study = Study("<script>alert(1)</script>", {"<b>": Choice(["<i>", "&"])})
    assert "no rewards yet" in study._repr_html_()
    study.tell(study.ask(), 1.0)
    study.tell(study.ask(), failed=True)
    page = study._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<svg" in page
    assert "1 failed" in page


def test_a_sample_of_a_log_is_bounded_even_and_as_it_holds_now():
    study = Study("s", space={"x": Float(0, 1)}, policy="sw-gp-ucb", window=5)
    study.load({"params": {"x": i / 100}, "reward": float(i)} for i in range(1, 101))
    study.retract(50)
    study.correct(100, -1.0)
    assert [seen.number for seen in study.page(after=47, count=4)] == [48, 49, 51]
    assert [seen.number for seen in study.page(after=99, count=4)] == [100]
    few = study.sampled(5)
    assert [seen.number for seen in few] == [1, 26, 75, 100]  # 50 is retracted
    assert few[-1].reward == -1.0
    assert [seen.number for seen in study.sampled(4, first=10, last=12)] == [10, 11, 12]
    assert [seen.number for seen in study.sampled(3, first=10, last=20)] == [10, 15, 20]
    assert len(study.sampled(1000)) == 99
    assert study.sampled(3, first=1000) == study.page(after=1000, count=3) == []  # beyond the end, which is no damage
