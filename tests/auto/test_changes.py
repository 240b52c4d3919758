"""The log of abrupt changes: each once, with the date, when it was noticed, and whether it was taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from driftwise import Float, Study
from driftwise.auto import changes as changes_module
from driftwise.auto.changes import SETTLED, NoticedChange, Watch
from driftwise.auto.diagnosis import Change
from driftwise.records import Observation


def watched(seed: int, dates: list[int], steps: int = 160) -> Watch:
    """A quadratic whose optimum jumps before each of the observations `dates`."""
    rng = np.random.default_rng(seed)
    study = Study("s", space={"a": Float(0, 1), "b": Float(0, 1)}, seed=seed)
    best = rng.random(2)
    watch = Watch.of(study.policy)
    for number in range(1, steps + 1):
        if number in dates:
            best = rng.random(2)
        x = rng.random(2)
        y = -4 * ((x - best) ** 2).sum() + 0.05 * rng.normal()
        watch = watch.update(Observation(number, float(number), tuple(x), float(y)))
    return watch


def test_a_world_that_stands_still_has_no_changes():
    assert watched(1, []).changes == ()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "dates"), [(2, [100]), (6, [81, 101])])
def test_each_change_is_there_once_with_its_date(seed, dates):
    found = watched(seed, dates).changes
    assert len(found) == len(dates)
    for change, date in zip(found, dates, strict=True):
        assert abs(change.number - date) <= 4
        assert date <= change.noticed <= date + 16
        assert change.taken_back is None
        assert change.probability > 0.5


def test_observations_that_are_not_judged_change_the_state_alone():
    log = [Observation(n, float(n), (n % 7 / 7, n % 5 / 5), float(n % 3)) for n in range(1, 40)]
    policy = Study("s", space={"a": Float(0, 1), "b": Float(0, 1)}).policy
    judged = quiet = Watch.of(policy)
    for seen in log:
        judged, quiet = judged.update(seen), quiet.update(seen, judged=False)
    assert quiet.changes == ()
    assert quiet.last == judged.last == 39
    np.testing.assert_array_equal(quiet.state.memory.all.y, judged.state.memory.all.y)


# --- the rules, on beliefs made by hand -------------------------------------------------------------------------------


@dataclass
class Beginning:
    since: int


@dataclass
class Weights:
    """Rows that begin again at given numbers, and their weights."""

    rows: list[Beginning]
    shares: list[float]


def judge(monkeypatch, known, number, *, alarm=None, weights=None):
    monkeypatch.setattr(changes_module, "alarmed", lambda belief: alarm)
    belief = Weights([Beginning(since) for since in weights or {}], list((weights or {}).values()))
    return changes_module._judged(known, belief, Observation(number, float(number), (0.5,), 0.0))


KNOWN = NoticedChange(60, 60.0, 0.9, noticed=64, noticed_at=64.0)


def test_a_doubted_change_is_taken_back_and_comes_back(monkeypatch):
    (doubted,) = judge(monkeypatch, (KNOWN,), 70, weights={60: 0.1, 0: 0.9})
    assert (doubted.taken_back, doubted.probability) == (70, 0.9)  # as it was while it stood
    (again,) = judge(monkeypatch, (doubted,), 72, weights={61: 0.2, 0: 0.8})
    assert again.taken_back == 70  # when it was first doubted
    (back,) = judge(monkeypatch, (again,), 75, weights={58: 0.7, 0: 0.3})
    assert (back.taken_back, back.probability) == (None, 0.7)


def test_a_settled_change_is_no_longer_judged(monkeypatch):
    assert judge(monkeypatch, (KNOWN,), 65 + SETTLED, weights={0: 1.0}) == (KNOWN,)


def test_a_newer_estimate_moves_the_date_and_a_later_change_is_another_one(monkeypatch):
    (moved,) = judge(monkeypatch, (KNOWN,), 66, alarm=Change(57, 57.0, 0.8))
    assert moved == replace(KNOWN, number=57, at=57.0, probability=0.8)
    first, second = judge(monkeypatch, (KNOWN,), 90, alarm=Change(80, 80.0, 0.7))
    assert first == KNOWN
    assert second == NoticedChange(80, 80.0, 0.7, noticed=90, noticed_at=90.0)


@pytest.mark.parametrize(("doubted", "stands"), [(70, False), (81, True)])
def test_doubts_since_a_later_change_were_about_that_one(monkeypatch, doubted, stands):
    first, _ = judge(monkeypatch, (replace(KNOWN, taken_back=doubted),), 90, alarm=Change(80, 80.0, 0.7))
    assert (first.taken_back is None) == stands


def test_nothing_changes_before_there_is_a_world(monkeypatch):
    assert judge(monkeypatch, (), 12, alarm=Change(2, 2.0, 0.9)) == ()
    assert len(judge(monkeypatch, (), 20, alarm=Change(12, 12.0, 0.9))) == 1
