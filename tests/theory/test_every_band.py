"""The named width of every policy covers; and the same test fails where the width is too small."""

import math
from dataclasses import replace

import numpy as np
import pytest

from driftwise.lab.theory import every_band
from driftwise.lab.theory.every_band import CASES, DELTA, chooses_plainly, failures
from driftwise.lab.theory.long_band import FadedRuns, long_failures
from driftwise.policies import REGISTRY, options_of
from driftwise.records import Ask, Observation

pytestmark = pytest.mark.slow  # it says nothing about versions of other packages

RUNS, T = 10, 120
BY_LABEL = {case.label: case for case in CASES}


def steps(case):
    """The band of many regressions takes long."""
    return 40 if "dual" in case.label else T


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_the_band_covers(case, moving):
    assert failures(case, runs=RUNS, horizon=steps(case), moving=moving) <= DELTA * RUNS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_a_band_for_a_fifth_of_the_noise_does_not(case):
    """So that the test above can fail: the width is told R/5, and the noise is as before."""
    narrow = replace(case, options=case.options | {"R": every_band.R / 5})
    assert failures(narrow, runs=RUNS, horizon=steps(case), moving=False) > DELTA * RUNS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_choices_that_are_not_computed_twice_are_the_policies_own(case):
    made = case.made(40, 1.0)
    state = made.start()
    for t in range(1, 41):
        ask = Ask(number=t, at=float(t))
        belief = made.belief(state, ask)
        mean, std = belief.predict(case.points)
        best = case.points[int(np.argmax(mean + made.width(belief, t) * std))]
        x = made.choose(state, ask)
        assert (x == best).all() or not chooses_plainly(made)
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), math.sin(3 * t)))


@pytest.mark.parametrize("label", ["wgp-ucb norm=double realised", "restart-linucb ellipsoid", "d-linucb ellipsoid"])
def test_one_event_is_too_few(label):
    """What the papers have: ln(1/δ) for all windows, or for a sum that fades, over all T."""
    case = BY_LABEL[label]
    assert failures(case, runs=RUNS, horizon=500, moving=False, unions=1) > DELTA * RUNS
    assert failures(case, runs=RUNS, horizon=500, moving=False) <= DELTA * RUNS


@pytest.mark.parametrize("label", [case.label for case in CASES if case.policy == "wgp-ucb"])
def test_many_faded_runs_at_once_are_those_of_the_policy(label):
    case = BY_LABEL[label]
    made, runs = case.made(400, 0.0), FadedRuns.start(case, 1)
    state, rng, X = made.start(), np.random.default_rng(0), case.points
    for t in range(1, 151):
        ask = Ask(number=t, at=float(t))
        belief, (mean, std, gain) = made.belief(state, ask), runs.predict()
        assert mean[0] == pytest.approx(belief.predict(X)[0], abs=1e-5)
        assert std[0] == pytest.approx(belief.predict(X)[1], abs=1e-5)
        assert gain[0] == pytest.approx(belief.information_gain, abs=1e-5)
        i, y = int(rng.integers(len(X))), float(rng.standard_normal())
        runs.observe(np.array([i]), np.array([y]))
        state = made.update(state, Observation(t, float(t), tuple(X[i].tolist()), y))


def test_the_fast_count_fails_with_one_event_and_not_with_all():
    case = BY_LABEL["wgp-ucb norm=double realised"]
    assert long_failures(case, runs=10, horizon=500, unions=1) > DELTA * 10
    assert long_failures(case, runs=10, horizon=500) <= DELTA * 10


def test_no_policy_with_a_named_width_is_left_out():
    """Every policy of ours that takes B or S has a case, or is told in its own tests why it has none."""
    without = {"igp-ucb", "tv-gp-ucb", "pe-gp-ucb"}  # the boxes' width; refused; a draw from its prior
    without |= {"tgp-ucb", "ldp"}  # rewards that are truncated: their own tests count the events
    without |= {"dal"}  # the inner policy's, with the horizon's share of δ, as its own tests say
    without |= {"master-gp-ucb", "r-perp"}  # names of their own: tests/policies/test_proof_widths.py
    without |= {"ata-gp-ucb", "moma-gp-ucb"}  # proved for a fixed design: tests/policies/test_heavy_tails.py
    named = {name for name in REGISTRY if {"B", "S"} & set(options_of(name))}
    assert named - without <= {case.policy for case in CASES}
