"""The weights of experts against recursions by hand."""

import numpy as np
import pytest

from driftwise.auto.weights import RARE, SHARE, Entry, fixed_share

ONE = np.array([0, 0])  # both of one family


def test_weights_by_hand():
    p = np.array([[0.5, 0.1], [0.2, 0.4], [0.3, 0.3]])
    prior, w, family = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.6, 0.1]), np.array([0, 0, 1])
    found = fixed_share(np.log(p), prior, w, family)
    for before, column in zip(found, p.T, strict=False):
        np.testing.assert_allclose(before, w, rtol=1e-12)
        w = w * column / (w @ column)
        first = w[0] + w[1]
        stay = np.array([0.4 * first, 0.6 * first, w[2]])  # the family's weight, as the prior has it within
        w = (1 - SHARE - RARE) * w + SHARE * stay + RARE * prior
    np.testing.assert_allclose(found[-1], w, rtol=1e-12)


def test_a_restart_gets_its_part_when_it_enters():
    """One expert and its restart at the second observation: the weights are those of Bayes' rule by hand."""
    p = np.array([[0.5, 0.1, 0.2], [0.0, 0.6, 0.3]])
    w = np.array([0.9, 0.1])  # the first observation concerns the elder alone; then a tenth is the younger's
    for column in p.T[1:]:
        w = w * column / (w @ column)
        w = (1 - SHARE - RARE) * w + (SHARE + RARE) * np.array([1.0, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    alone = np.array([1.0, 0.0])
    found = fixed_share(logs, alone, alone, ONE, [Entry(1, np.array([False, True]), 0.1)])
    np.testing.assert_allclose(found[-1], w, rtol=1e-12)


def test_new_experts_have_the_weight_of_their_families():
    nothing, family = np.zeros((4, 1)), np.array([0, 1, 0, 1])  # everybody predicts the same
    start = np.array([0.8, 0.2, 0.0, 0.0])
    found = fixed_share(nothing, start, start, family, [Entry(0, np.array([False, False, True, True]), 0.1)])
    assert found[-1][2] / found[-1][3] == pytest.approx(4.0)
    orphan = np.array([0, 0, 1, 1])  # the new ones are of a family that has no weight: they get their part all the same
    found = fixed_share(nothing, start, start, orphan, [Entry(0, np.array([False, False, True, True]), 0.1)])
    assert found[0].tolist() == pytest.approx([0.72, 0.18, 0.05, 0.05])


def test_no_expert_ever_loses_its_weight_for_good():
    n = 100
    forecasts = np.stack([np.zeros(n), np.full(n, -50.0)])
    half = np.array([0.5, 0.5])
    before = fixed_share(forecasts, half, half, ONE)[-1]
    assert before[1] == pytest.approx((SHARE + RARE) / 2, rel=1e-9)
    strangers = fixed_share(forecasts, half, half, np.array([0, 1]))[-1]
    assert strangers[1] == pytest.approx(RARE / 2, rel=1e-9)
    after = fixed_share(forecasts[::-1, :3], half, before, ONE)[-1]
    assert after[1] > 0.9
