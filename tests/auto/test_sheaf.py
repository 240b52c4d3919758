"""Rows folded over a window, and followed from there, against dense algebra."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_t
from scipy.stats import t as student

from driftwise.auto.follow import Following, inverses
from driftwise.auto.rows import LEVELS, MovingLevel
from driftwise.auto.search import Pool
from driftwise.auto.sheaf import FAR
from driftwise.auto.window import SHIFT, Readings
from worlds import KERNELS, TABLE, TIMES, first, folded, observations, row, sheaf_of

ROWS = [
    row(),
    row(1, TIMES[0], 0.1),
    row(0, TIMES[2], 0.01, bends=(-1, 2)),
    row(1, level=MovingLevel(3.0, LEVELS[0])),
    row(0, since=9),
    row(1, TIMES[0], shift=15),
]
ODD = (12, 21)  # readings that are far off


def dense(one, data):
    """The covariance of a row's readings without noise, as plainly as can be: (n, n), and its first reading."""
    X, clock = data.X / 2.0 ** np.array(one.bends or (0, 0)), data.clock
    A = KERNELS[one.kernel](X, X) * one.time(clock, clock)
    if one.level is not None:
        A += one.level.variance * one.level.time(clock, clock)
    later = (data.numbers >= one.shift) & (one.shift > 0)
    return A + SHIFT * np.outer(later, later), int(np.argmax(data.numbers >= one.since))


def forecasts(sheaf, i):
    """Mean and variance of each target given those before, one solve for each."""
    one, window = sheaf.rows[i], sheaf.window
    A, start = dense(one, window.data)
    noisy = A + np.diag(one.noise + FAR * sheaf.labels[i])
    for j in range(start, len(window)):
        before = slice(start, j)
        weights = np.linalg.solve(noisy[before, before], A[before, j])
        yield (
            j,
            np.where(sheaf.labels[i], 0.0, window.targets)[:, before] @ weights,
            A[j, j] + one.noise - A[before, j] @ weights,
        )


@pytest.mark.parametrize("far", [(), ODD], ids=["regular", "two far"])
@pytest.mark.parametrize("i", range(len(ROWS)))
def test_forecasts_are_those_of_dense_algebra_with_students_t(i, far):
    sheaf = sheaf_of(observations(30, far=far), ROWS)
    window, strength = sheaf.window, TABLE.strength
    assert set(np.flatnonzero(sheaf.labels[i])) >= set(far)
    a, b = strength, np.full(len(window.warps), strength)
    for j, mean, variance in forecasts(sheaf, i):
        errors = window.targets[:, j] - mean
        assert sheaf.variances[i, j] == pytest.approx(variance)
        np.testing.assert_allclose(sheaf.errors[i, :, j], errors, atol=1e-9)
        scales = np.sqrt(b / a * variance)
        expected = student.logpdf(errors, 2 * a, scale=scales) + window.log_slopes[:, j]
        np.testing.assert_allclose(sheaf.regular[i, :, j], expected, atol=1e-9)
        if not sheaf.labels[i, j]:
            a, b = a + 0.5, b + 0.5 * errors**2 / variance
    assert sheaf.scales[0][i, -1] == pytest.approx(a)
    np.testing.assert_allclose(sheaf.scales[1][i, :, -1], b)


@pytest.mark.parametrize("lowest", [None, 0.5], ids=["both signs", "positive"])
def test_the_densities_of_all_readings_are_a_multivariate_t(lowest):
    sheaf = sheaf_of(observations(25, lowest=lowest), ROWS)
    window, strength = sheaf.window, TABLE.strength
    assert len(window.warps) == (2 if lowest is None else 3)
    assert not sheaf.labels.any()
    for i, one in enumerate(ROWS):
        A, start = dense(one, window.data)
        A = (A + one.noise * np.eye(25))[start:, start:]
        for w, targets in enumerate(window.targets[:, start:]):
            closed = multivariate_t(shape=A, df=2 * strength).logpdf(targets)
            slopes = window.log_slopes[w, start:].sum()
            assert sheaf.regular[i, w, start:].sum() == pytest.approx(closed + slopes)


def test_labels_agree_with_themselves():
    for seed, one in product(range(4), ROWS):
        sheaf = sheaf_of(observations(40, seed=seed, far=(7, 19, 20, 33)), [one])
        assert (sheaf.labels == sheaf.judged.far).all()
        assert set(np.flatnonzero(sheaf.labels[0])) >= {i for i in (7, 19, 20, 33) if i >= one.since}


def test_a_far_reading_says_nothing_however_large_it_is():
    for one in ROWS[:4]:
        near, wild = (sheaf_of(observations(40, far=(30,), value=v), [one]) for v in (60.0, 1e12))
        np.testing.assert_allclose(near.window.targets[0, :30], wild.window.targets[0, :30])
        assert near.labels[0, 30]
        np.testing.assert_array_equal(near.labels, wild.labels)
        np.testing.assert_allclose(near.errors[0, 0, 31:], wild.errors[0, 0, 31:], rtol=1e-9)


def test_before_its_first_reading_a_row_says_nothing():
    sheaf = sheaf_of(observations(30), ROWS)
    late = [each.since for each in ROWS].index(9)
    assert (sheaf.log_density[late, :, :8] == 0).all()
    assert (sheaf.log_density[late, :, 8:] != 0).all()
    assert sheaf.scales[0][late, 8] == TABLE.strength


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_readings_are_folded(n):
    sheaf = sheaf_of(observations(n), [row(), row(1)])
    assert sheaf.log_density.shape == (2, len(sheaf.window.warps), n)
    assert np.isfinite(sheaf.log_density).all()


def test_rows_can_be_taken_apart_and_put_together():
    whole = sheaf_of(observations(20, far=(11,)), ROWS)
    again = whole.only([3, 1]).beside(whole.only([0]))
    assert again.rows == (ROWS[3], ROWS[1], ROWS[0])
    np.testing.assert_allclose(again.log_density, whole.log_density[[3, 1, 0]], atol=1e-12)


# --- followed -----------------------------------------------------------------------------------------------------


def started(data, rows=tuple(ROWS)):
    window = Readings.of(data, None)
    sheaf = folded(rows, window)
    return Following.of(Pool(sheaf, np.full((len(rows), len(window.warps)), 1 / len(rows) / len(window.warps))))


def after(followed, data, n, until):
    for i in range(n, until):
        followed = followed.after(data.only(np.arange(i, i + 1)))
    return followed


def assert_same_rows(one, other, *, rows):
    """Whatever else they hold."""
    sheaf, W = one.sheaf, one.W
    for which in rows:
        i, j = sheaf.rows.index(which), other.rows.index(which)
        np.testing.assert_array_equal(sheaf.labels[i], other.labels[j])
        np.testing.assert_allclose(sheaf.z[i], other.z[j], atol=1e-9)
        np.testing.assert_allclose(W[i], inverses(other.only([j]))[0][0], atol=1e-9, rtol=1e-9)
        np.testing.assert_allclose(sheaf.regular[i], other.regular[j], atol=1e-9)
        np.testing.assert_allclose(sheaf.log_density[i], other.log_density[j], atol=1e-9)


@pytest.mark.parametrize("far", [(), (27,)], ids=["regular", "one far"])
def test_rows_that_are_followed_are_those_folded_over_all(far):
    data = observations(36, far=far)
    followed = after(started(first(data, 24)), data, 24, 36)
    window = Readings.of(first(data, 24), None).followed_by(data.only(np.arange(24, 36)))
    assert_same_rows(followed, folded(ROWS, window), rows=ROWS)
    for i in range(len(ROWS)):
        assert followed.sheaf.labels[i, list(far)].all()


def test_rows_that_join_at_a_date_are_those_folded_over_all():
    data = observations(36)
    followed = after(started(first(data, 24)), data, 24, 36)
    joined = followed.sheaf.rows[len(ROWS) :]
    assert {each.date for each in joined} == {32}
    assert any(each.shift for each in joined)
    assert any(each.since for each in joined)
    assert_same_rows(followed, folded(joined, followed.window), rows=joined)


def test_w_is_the_inverse_of_the_factor():
    followed = after(started(first(observations(30, far=(8,)), 24)), observations(30, far=(8,)), 24, 30)
    sheaf = followed.sheaf
    for i in range(len(ROWS)):
        A, start = dense(sheaf.rows[i], sheaf.window.data)
        A = A[start:, start:] + np.diag(sheaf.noises[i, start:])
        W = followed.W[i, start:, start:]
        np.testing.assert_allclose(W @ A @ W.T, np.eye(len(A)), atol=1e-8)
        targets = np.where(sheaf.labels[i], 0.0, sheaf.window.targets)
        np.testing.assert_allclose(W @ targets[:, start:].T, sheaf.z[i, :, start:].T, atol=1e-8)


def test_with_known_noise_the_rows_are_folded_anew():
    data = observations(16)
    own = np.stack([np.where(np.arange(16) % 2, 0.04, 0.0), np.where(np.arange(16) % 2, 0.0, 1.0)], axis=1)
    data = replace(data, own=own)
    rows = tuple(ROWS[:3])
    followed = after(started(first(data, 12), rows), data, 12, 16)
    window = Readings.of(first(data, 12), None).followed_by(data.only(np.arange(12, 16)))
    assert_same_rows(followed, folded(rows, window), rows=rows)


def test_a_surprise_opens_a_date_of_its_own_and_is_heard_two_readings_later():
    data = observations(34, far=(25,), value=-8.0)
    followed = after(started(first(data, 24)), data, 24, 26)
    assert followed.surprised
    followed = after(followed, data, 26, 27)
    joined = followed.sheaf.rows[len(ROWS) :]
    assert {each.date for each in joined} == {26}
    assert 26 in {each.date for each in followed.sheaf.rows}
    heard, _, weights = followed.leading
    assert len(heard) == len(weights)
    assert weights.sum() == pytest.approx(1.0)
    assert (np.diff(weights.sum(axis=1)) <= 1e-12).all()
    # a change at the newest reading has its weight and is not heard
    newest = after(started(first(data, 24), (row(), row(since=25))), data, 24, 25)
    assert {each.date for each in newest.leading[0].rows} == {0}
