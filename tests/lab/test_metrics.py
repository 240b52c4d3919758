"""Curves by definition; intervals against SciPy and against the coverage they claim."""

import numpy as np
import pytest
from scipy import stats

from driftwise.errors import InvalidInput
from driftwise.lab import Interval, bootstrap, cumulative_regret, mean_regret, regrets, student
from driftwise.records import Observation, Step

STEPS = [Step(Observation(t, float(t), (0.0,), 0.0), value=v, best=3.0) for t, v in enumerate([1.0, 3.0, 2.5], start=1)]


def test_curves():
    assert regrets(STEPS).tolist() == [2.0, 0.0, 0.5]
    assert cumulative_regret(iter(STEPS)).tolist() == [2.0, 2.0, 2.5]
    assert mean_regret(STEPS) == pytest.approx([2.0, 1.0, 2.5 / 3])


def test_student_is_scipys_interval():
    values = np.random.default_rng(0).exponential(size=(12, 4))
    interval = student(values, level=0.9)
    reference = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert interval.low == pytest.approx(reference.low)
    assert interval.high == pytest.approx(reference.high)
    assert interval.mean == pytest.approx(values.mean(axis=0))


def test_bootstrap_of_many_seeds_is_the_normal_interval_and_is_reproducible():
    values = np.random.default_rng(1).standard_normal((400, 3))
    interval, again = bootstrap(values, resamples=4000), bootstrap(values, resamples=4000)
    half = 1.96 * values.std(axis=0) / 20
    assert interval.low == pytest.approx(values.mean(axis=0) - half, abs=0.012)
    assert interval.high == pytest.approx(values.mean(axis=0) + half, abs=0.012)
    assert (interval.low == again.low).all()


@pytest.mark.parametrize("interval", [student, bootstrap])
def test_intervals_cover_the_mean_about_as_often_as_they_say(interval):
    """500 experiments of 30 seeds: 95% ± four standard errors, and the bootstrap's known shortfall of 1 to 2%."""
    samples = np.random.default_rng(2).standard_normal((30, 500))
    found = interval(samples)
    assert 0.90 < np.mean((found.low <= 0) & (found.high >= 0)) < 0.985


def test_one_seed_says_nothing_and_none_is_refused():
    alone = student(np.array([2.0]))
    assert (alone.mean, alone.low, alone.high) == (2.0, -np.inf, np.inf)
    for bad in (np.zeros((0, 3)), np.array(1.0)):
        with pytest.raises(InvalidInput, match="a row for each seed"):
            student(bad)
    with pytest.raises(InvalidInput, match="level"):
        bootstrap(np.ones(3), level=95)


def test_overlap():
    a, b, c = (Interval(*map(np.array, t)) for t in ((1, 0, 2), (2.5, 2, 3), (5, 4, 6)))
    assert a.overlaps(b)
    assert not a.overlaps(c)
