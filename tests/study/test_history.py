"""The history of a study's drift is what it would have said at the time."""

from dataclasses import replace

import numpy as np
import pytest

from driftwise import Candidates, Float, Study, policy
from driftwise.auto.diagnosis import RECENT, Change, Diagnosis
from driftwise.auto.drift_history import APART, Moment, alarms, changed, history, needed, places
from driftwise.errors import InvalidInput
from driftwise.records import Observation

LINE = Candidates(np.linspace(0, 1, 9)[:, None], names=["x"])
QUIET = Diagnosis(0.0, 1.0, 0.1, 10, 10.0, None, False, None, 0.0, {}, {})


def reward(t, x, change):
    return np.sin(6 * x) * (-1.0 if t > change else 1.0) + 0.05 * np.cos(37.0 * t)


def told(n, *, change=10**9, times=None, path=None, **options):
    """A study after n answers, and what it said after each."""
    study = Study("s", space=LINE, policy="auto", path=path, **options)
    said = {}
    for t in range(1, n + 1):
        s = study.ask(at=None if times is None else times[t - 1])
        study.tell(s, reward(t, s.params["x"], change))
        said[s.number] = study.drift(at=None if times is None else times[t - 1])
    return study, said


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_is_what_was_said_at_the_time(direction):
    study, said = told(60, change=30, direction=direction)
    moments = study.drift_history(points=21)
    assert {m.number: m.drift for m in moments} == {m.number: said[m.number] for m in moments}
    assert [moments[0].number, len(moments), moments[-1].number] == [1, 21, 60]
    assert all(m.at == m.number + 1 for m in moments)
    assert moments[-1].drift == study.drift()
    fresh, _ = told(moments[7].number, change=30, direction=direction)
    assert fresh.drift() == moments[7].drift


def test_a_change_is_in_it():
    study, rng = Study("s", space={"a": Float(0, 1), "b": Float(0, 1)}, policy="auto"), np.random.default_rng(0)
    for t in range(1, 91):
        a, b = rng.random(2)
        study.observe({"a": a, "b": b}, reward(t, a, change=70))
    assert study.alarm
    assert any(m.number > 70 and abs(changed(m) - 71) <= 8 for m in alarms(study.drift_history()))


def test_a_restart_gives_the_same(tmp_path):
    path = tmp_path / "s.db"
    study, _ = told(30, path=path)
    assert Study.open("s", path=path).drift_history(10) == study.drift_history(10)


def test_times_of_ones_own_are_those_of_the_observations():
    times = [1e6 + 60.0 * t for t in range(20)]
    study, said = told(20, times=times)
    moments = study.drift_history(5)
    assert [m.at for m in moments] == [times[m.number - 1] for m in moments]
    assert [m.drift for m in moments] == [said[m.number] for m in moments]
    assert moments[-1].drift == study.drift(at=times[-1])


def test_it_goes_by_number_and_not_by_arrival():
    late, _ = told(6)
    s, after = late.ask(), late.ask()
    late.tell(after, 0.3)
    assert [m.number for m in late.drift_history()] == [1, 2, 3, 4, 5, 6, 8]
    before = late.drift_history()[-1].drift
    late.tell(s, 0.7)
    moments = late.drift_history()
    assert [m.number for m in moments] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert moments[-1].drift == late.drift() != before


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few(n):
    study, said = told(n)
    assert [m.drift for m in study.drift_history()] == list(said.values())


def test_constant_rewards():
    study = Study("s", space={"x": Float(0, 1)}, policy="auto")
    for t in range(30):
        study.observe({"x": t / 29}, 2.5)
    moments = study.drift_history(6)
    assert len(moments) == 6
    assert moments[-1].drift == study.drift()
    assert all(np.isfinite([m.drift.rate, m.drift.in_use, m.drift.noise]).all() for m in moments)
    assert not alarms(moments)


def test_one_point_is_the_last():
    study, _ = told(5)
    assert [m.number for m in study.drift_history(points=1)] == [5]


def test_what_cannot_be_asked():
    study = Study("s", space=LINE, policy="sw-gp-ucb")
    with pytest.raises(InvalidInput, match="sw-gp-ucb does not say how the world moves; use the policy auto"):
        study.drift_history()
    with pytest.raises(InvalidInput, match="points must be"):
        told(1)[0].drift_history(points=0)


def test_of_a_long_log_the_tail_is_enough():
    """Any policy will do that has something to say: here a window of 7, and how its mean at two points stands."""
    window = policy("sw-gp-ucb", LINE, window=7, noise=0.01)
    log = [Observation(t, float(t), (float(t * 5 % 9) / 8,), float(np.sin(t))) for t in range(1, 1000)]

    def explain(state, ask):
        mean, std = window.belief(state, ask).predict(np.array([[0.25], [0.75]]))
        return replace(QUIET, rate=float(mean[0]), noise=float(std[1]), seen=ask.number)

    count = needed(window, 4)
    assert count == window.memory + 3 * APART + 1 < len(log)
    whole = history(window, log, explain, points=4)
    assert history(window, log[-count:], explain, points=4) == whole
    assert [m.number for m in whole] == [999 - APART * i for i in (3, 2, 1, 0)]
    assert needed(policy("gp-ucb", LINE), 4) is None


@pytest.mark.parametrize("count", [1, 2, 39, 40, 41, 300, 469, 470, 10_000])
def test_places_are_even_and_near_enough_for_every_alarm(count):
    chosen = places(count, 40)
    assert len(chosen) == min(count, 40)
    assert chosen[-1] == count - 1
    gaps = set(np.diff(chosen))
    assert gaps <= set(range(1, APART + 1))
    assert max(gaps, default=1) - min(gaps, default=1) <= 1


def test_alarms_of_one_change_are_one():
    def moment(number, change=None):
        found = None if change is None else Change(change, float(change), 0.9)
        return Moment(number, number + 1.0, replace(QUIET, change=found, alarm=found is not None))

    moments = [moment(10), moment(20, 16), moment(30, 18), moment(40), moment(60, 16 + RECENT), moment(70, 41)]
    assert [(m.number, changed(m)) for m in alarms(moments)] == [(20, 16), (60, 16 + RECENT)]
