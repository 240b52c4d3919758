"""Where settings fail: against the process it is derived from, and against all cases written out."""

from itertools import product

import numpy as np
import pytest

from driftwise import Candidates, Choice, Float, Int
from driftwise.feasible.failures import (
    ACCIDENT,
    CLOSE,
    FADES,
    LENGTH,
    WORKS,
    Entries,
    Failures,
    distances,
    hypotheses,
    telegraph,
)
from driftwise.records import Observation, failure
from driftwise.spaces import as_space

LINE = as_space({"x": Float(0, 1)})
X = np.linspace(0, 1, 41)[:, None]


def log(*entries: tuple[float, bool], first: int = 1) -> list[Observation]:
    """Entries at x that worked or not, one after the other."""
    return [
        Observation(n, float(n), (x,), 1.0) if worked else failure(n, float(n), (x,))
        for n, (x, worked) in enumerate(entries, first)
    ]


def chain(steps: int, per_unit: int) -> np.ndarray:
    """Transitions (works, fails) of the telegraph process over so many small steps: a matrix power."""
    h = 1 / per_unit
    one = np.array([[1 - (1 - WORKS) * h, (1 - WORKS) * h], [WORKS * h, 1 - WORKS * h]])
    return np.linalg.matrix_power(one, steps)


@pytest.mark.parametrize(("s", "f"), [(0.1, 0.3), (0.5, 0.02), (2.0, 1.0), (6.0, 6.0)])
def test_between_a_success_and_a_failure_it_is_the_telegraph_process(s, f):
    """P(works in between) by Bayes' rule over the two-state Markov chain."""
    fine = 20_000
    left, right = chain(round(s * fine), fine), chain(round(f * fine), fine)
    works, fails = left[0, 0] * right[0, 1], left[0, 1] * right[1, 1]
    got = telegraph(np.exp(-np.array(s)), np.exp(-np.array(f)))
    assert float(got) == pytest.approx(works / (works + fails), abs=2e-4)


def test_its_limits():
    near, far = np.array(1e-9), np.array(60.0)
    assert telegraph(np.exp(-far), np.exp(-far)) == pytest.approx(WORKS)
    assert telegraph(np.exp(-0.02 * np.ones(1)), np.exp(-0.03 * np.ones(1)))[0] == pytest.approx(
        0.6, abs=0.005
    )  # f/(s+f)
    assert telegraph(np.exp(-far), np.exp(-near)) < 1e-6
    assert telegraph(np.exp(-near), np.exp(-far)) > 1 - 1e-6


def test_one_failure_among_nothing_else():
    """It was real unless it was an accident, and its neighbourhood fails as the process says."""
    works = Failures.of(log((0.5, False)), LINE).works(X, number=1)
    real = (1 - WORKS) / (1 - WORKS + ACCIDENT * WORKS)
    b = np.exp(-np.abs(X[:, 0] - 0.5) / LENGTH)
    np.testing.assert_allclose(works, real * WORKS * (1 - b) + (1 - real) * WORKS, rtol=1e-12)


def test_the_average_over_which_failure_holds_is_that_over_all_cases():
    rng = np.random.default_rng(0)
    entries = Entries(np.arange(7.0), rng.random((7, 1)), np.array([1, 0, 0, 1, 0, 0, 1], dtype=bool))
    model = Failures(entries, hypotheses(LINE))
    D, real = distances(X, entries.X, model.scales), rng.random((1, 7))
    got = model._given(D, 9.0, real)[0]
    fading, failed = np.exp((entries.numbers - 9.0) / FADES), np.flatnonzero(~entries.worked)
    a = (np.exp(-D[0] - CLOSE) * fading)[:, entries.worked].max(axis=1)
    total = np.zeros(len(X))
    for holding in product([False, True], repeat=len(failed)):
        c = real[0, failed] * fading[failed]
        chance = np.prod(np.where(holding, c, 1 - c))
        kept = D[0][:, failed[list(holding)]]
        total += chance * telegraph(a, np.exp(-kept).max(axis=1, initial=0.0))
    np.testing.assert_allclose(got, total, rtol=1e-10)


def test_nearer_to_a_failure_it_works_less_probably():
    works = Failures.of(log((0.2, True), (0.8, False)), LINE).works(X, number=3)
    between = (X[:, 0] >= 0.2) & (X[:, 0] <= 0.8)
    assert (np.diff(works[between]) < 0).all()
    assert ((works >= 0) & (works <= 1)).all()


def test_a_failure_fades():
    model = Failures.of(log((0.5, False)), LINE)
    at_it = [model.works(np.array([[0.5]]), number)[0] for number in (1, 20, 60, 400)]
    assert at_it == sorted(at_it)
    assert at_it[0] < 0.2
    assert at_it[-1] == pytest.approx(WORKS, abs=1e-3)


def test_an_accident_amid_successes_is_known_as_one_and_two_in_a_row_are_none():
    """One failure at a place that has just worked hardly counts; the second one does."""
    worked = [(0.5, True)] * 5
    once = Failures.of(log(*worked, (0.5, False)), LINE).works(np.array([[0.5]]), 7)[0]
    twice = Failures.of(log(*worked, (0.5, False), (0.5, False)), LINE).works(np.array([[0.5]]), 8)[0]
    assert once > 0.8
    assert twice < 0.3


def test_a_success_at_the_same_place_refutes_a_failure_and_one_beside_another_does_not():
    failed = [(0.2, True), (0.5, False)]
    before = Failures.of(log(*failed), LINE).works(np.array([[0.5]]), 4)[0]
    same = Failures.of(log(*failed, (0.5, True)), LINE).works(np.array([[0.5]]), 4)[0]
    beside = Failures.of(log(*failed, *[(0.2, True)] * 20), LINE).works(np.array([[0.5]]), 4)[0]
    assert before < 0.3
    assert same > 0.99
    assert beside == pytest.approx(before, abs=0.05)


def test_the_parameter_that_matters_is_found():
    """A value of a Choice that always fails: after a few failures the others of its settings are known to fail."""
    space = as_space({"a": Float(0, 1), "b": Float(0, 1), "kind": Choice(["good", "bad"])})
    rng = np.random.default_rng(1)
    X = space.sample(rng, 24)
    seen = [
        failure(n, float(n), tuple(x)) if x[3] else Observation(n, float(n), tuple(x), 0.0) for n, x in enumerate(X, 1)
    ]
    model = Failures.of(seen, space)
    assert np.argmax(model.weights) == 3
    new = space.sample(rng, 200)
    works = model.works(new, 25)
    assert works[new[:, 3] == 1].max() < 0.3
    assert works[new[:, 3] == 0].min() > 0.8


def test_hypotheses_are_all_together_and_each_alone():
    box = hypotheses(as_space({"a": Float(0, 1), "n": Int(0, 9), "c": Choice(["x", "y", "z"])}))
    assert box.shape == (4, 5)
    assert (box[0] > 0).all()
    assert [tuple(np.flatnonzero(row)) for row in box[1:]] == [(0,), (1,), (2, 3, 4)]
    assert hypotheses(LINE).shape == (1, 1)
    wide = hypotheses(Candidates([[0.0, 7.0], [50.0, 7.0]]))
    np.testing.assert_allclose(wide[0], [1 / (50 * LENGTH), 1 / LENGTH])


def test_rows_are_looked_at_in_parts(monkeypatch):
    model = Failures.of(log((0.2, True), (0.8, False), (0.6, True)), LINE)
    whole = model.works(X, 5)
    monkeypatch.setattr("driftwise.limits.PART", 7)
    np.testing.assert_array_equal(model.works(X, 5), whole)


@pytest.mark.parametrize("age", [0.0, 12.0])
def test_a_success_on_the_way_hides_a_failure_unless_the_world_changed_in_between(age):
    """A failure at 0.8 counts below a success at 0.6 with the probability of a change after it, and fully above it."""
    entries = Entries(np.array([100.0 - age, 100.0]), np.array([[0.6], [0.8]]), np.array([True, False]))
    model = Failures(entries, hypotheses(LINE))
    D, real = distances(X, entries.X, model.scales), np.array([[0.0, 0.9]])
    got = model._given(D, 130.0, real, model._hidden(D, 130.0))[0]
    stands, changed = np.exp(-30.0 / FADES), np.exp(-30.0 / FADES) - np.exp(-(30.0 + age) / FADES)
    holds = 0.9 * np.where(X[:, 0] < 0.6 + 1e-9, changed, stands)
    a, b = np.exp(-D[0, :, 0] - CLOSE - (30.0 + age) / FADES), np.exp(-D[0, :, 1])
    np.testing.assert_allclose(got, holds * telegraph(a, b) + (1 - holds) * telegraph(a, 0 * a), rtol=1e-12)


def test_what_is_asked_for_goes_back_after_a_failure_and_what_is_said_does_not():
    model = Failures.of(log((0.2, True), (0.6, True), (0.69, True), (0.71, False)), LINE)
    x = np.array([[0.6], [0.69], [0.705]])
    said, asked = model.works(x, 5), model.works(x, 5, hiding=False)
    assert (said[:2] > 0.95).all()
    assert (asked[:2] < 0.95).all()
    assert said[2] == pytest.approx(asked[2])
    assert said[2] < 0.8


def test_beside_the_way_nothing_is_hidden():
    square = as_space({"x": Float(0, 1), "y": Float(0, 1)})
    seen = [Observation(1, 1.0, (0.5, 0.3), 1.0), failure(2, 2.0, (0.9, 0.5))]
    model = Failures.of(seen, square)
    D = distances(np.array([[0.1, 0.5], [0.1, 0.1], [0.5, 0.3]]), model.entries.X, model.scales)
    assert (model._hidden(D, 2.0)[0, :, 0] > 0).tolist() == [False, True, True]
