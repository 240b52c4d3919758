"""Bandit over bandit: the paper's figures, EXP3 by hand, and what it is with one arm."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from driftwise import RBF, Candidates, policy
from driftwise.errors import InvalidInput
from driftwise.policies.bob_gp_ucb import Exp3, geometric
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 25)[:, None])


def played(made, steps, untold=(), values=None):
    """The points it asks for, and its last state."""
    state, asked, rng = made.start(), [], np.random.default_rng(0)
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t)))
        asked.append(float(x[0]))
        y = float(0.7 * np.sin(6 * x[0] + t / 15) + 0.1 * rng.uniform(-1, 1))
        if t not in untold:
            state = made.update(state, Observation(t, float(t), tuple(x.tolist()), y))
            if values is not None:
                values.append(y)
    return asked, state


def test_the_figures_of_the_paper():
    """T = 10⁴, R = 0.1: H = 100, Δ = 5, windows 1, 2, 6, 15, 39, 100, g = 0.2501, scale 210.51; G = 50 gives 1.2026."""
    made = policy("bob-gp-ucb", LINE, horizon=10_000, block=100, R=0.1)
    assert made.lengths == (1, 2, 6, 15, 39, 100)
    assert made.mix == pytest.approx(0.2501, abs=5e-5)
    assert 50 / (made.worth(50.0) - 0.5) == pytest.approx(210.51, abs=5e-3)
    after = made.start().exp3.rewarded(2, made.worth(50.0))
    assert math.exp(after.logs[2]) == pytest.approx(1.2026, abs=5e-5)
    assert (made.worth(1e9), made.worth(-1e9)) == (1.0, 0.0)


def test_the_block_from_the_horizon():
    told = {"kernel": RBF(0.2), "noise": 0.01, "horizon": 400}
    gamma = policy("sw-gp-ucb", LINE, window=1, width="lemma", **told).width.gain(400)
    assert policy("bob-gp-ucb", LINE, **told).block == round(gamma**0.25 * 20)
    assert policy("bob-gp-ucb", LINE, horizon=1).block == 1


@pytest.mark.parametrize(("H", "lengths"), [(1, (1,)), (2, (1, 2)), (8, (1, 2, 4, 8)), (1000, None)])
def test_lengths_are_whole_powers(H, lengths):
    made = geometric(H)
    assert (made[0], made[-1]) == (1, H)  # floating-point floors too
    assert len(made) == math.ceil(math.log(H)) + 1
    assert lengths is None or made == lengths


# --- EXP3 -------------------------------------------------------------------------------------------------------------


def test_probabilities_by_hand():
    g = 0.3
    exp3 = Exp3((0.0, math.log(2.0), math.log(5.0)), g)
    np.testing.assert_allclose(exp3.probabilities, 0.7 * np.array([1, 2, 5]) / 8 + 0.1)
    after = exp3.rewarded(1, 0.8)
    assert after.logs[1] == pytest.approx(math.log(2) + g * 0.8 / (3 * (0.7 * 2 / 8 + 0.1)))
    assert (after.logs[0], after.logs[2]) == (exp3.logs[0], exp3.logs[2])


def test_weights_do_not_overflow():
    exp3 = Exp3((0.0, 0.0), 0.5)
    for _ in range(5000):
        exp3 = exp3.rewarded(0, 1.0)
    assert exp3.logs[0] > 1000  # e^1000 is no float64
    np.testing.assert_allclose(exp3.probabilities, [0.75, 0.25])


def test_arms_are_drawn_with_their_probabilities():
    made = policy("bob-gp-ucb", LINE, lengths=(2, 4, 8), block=8, seed=5)
    exp3 = Exp3((0.0, 0.5, 1.5), 0.2)
    counts = np.bincount([made._turn(index, exp3).arm for index in range(3000)], minlength=3)
    assert chisquare(counts, 3000 * exp3.probabilities).pvalue > 0.01
    other = policy("bob-gp-ucb", LINE, lengths=(2, 4, 8), block=8, seed=6)
    assert [made._turn(i, exp3).arm for i in range(30)] != [other._turn(i, exp3).arm for i in range(30)]


def test_a_run_pays_its_blocks():
    """The weights after a run, from its rewards in a plain loop."""
    made = policy("bob-gp-ucb", LINE, horizon=60, block=10, lengths=(2, 5, 10), R=0.1, kernel=RBF(0.2))
    values: list[float] = []
    _, state = played(made, 60, values=values)
    s, n, H = np.ones(3), 6, 10
    g = min(1.0, math.sqrt(3 * math.log(3) / ((math.e - 1) * n)))
    for block in range(5):  # the sixth is not paid yet
        p = (1 - g) * s / s.sum() + g / 3
        arm = made._turn(block, Exp3(tuple(np.log(s)), g)).arm
        G = sum(values[10 * block : 10 * block + 10])
        s[arm] *= math.exp(g * (0.5 + G / (2 * H + 0.4 * math.sqrt(H * math.log(60 / math.sqrt(H))))) / (3 * p[arm]))
    np.testing.assert_allclose(np.exp(state.exp3.logs), s)
    assert state.index == 5


def test_missing_rewards_are_no_rewards_of_zero():
    made = policy("bob-gp-ucb", LINE, horizon=60, block=10, lengths=(2, 5), kernel=RBF(0.2))
    start = made.start()
    one = made.update(start, Observation(3, 3.0, LINE.coordinates[1], 0.4))
    paid = made._now(one, 11).exp3
    assert paid == start.exp3.rewarded(start.arm, made.worth(10 * 0.4))
    assert made._now(start, 41).exp3 == start.exp3  # nothing was told in four blocks


# --- one arm ----------------------------------------------------------------------------------------------------------


def test_one_window_and_one_block_is_sw_gp_ucb():
    told = {"kernel": RBF(0.2), "noise": 0.01}
    made = policy("bob-gp-ucb", LINE, horizon=80, block=80, lengths=(15,), **told)
    asked, state = played(made, 80, untold=(3, 9))
    twin, twin_state = played(policy("sw-gp-ucb", LINE, window=15, **told), 80, untold=(3, 9))
    assert asked == twin
    np.testing.assert_array_equal(
        made.belief(state, Ask(80, 80.0)).predict(LINE.points), twin_state.predict(LINE.points)
    )


@pytest.mark.parametrize(("over", "length", "interval"), [("window", 20, 20), ("interval", 5, 5)])
def test_one_length_in_fresh_blocks_is_r_gp_ucb(over, length, interval):
    told = {"kernel": RBF(0.2), "noise": 0.01}
    made = policy("bob-gp-ucb", LINE, horizon=100, block=20, lengths=(length,), over=over, **told)
    asked, _ = played(made, 100, untold=(20, 21, 44))
    assert asked == played(policy("r-gp-ucb", LINE, interval=interval, **told), 100, untold=(20, 21, 44))[0]


def test_rewards_are_taken_from_their_range():
    made = policy("bob-gp-ucb", LINE, low=0.0, high=10.0, block=5, lengths=(3, 5), kernel=RBF(0.2))
    state = made.update(made.start(), Observation(1, 1.0, LINE.coordinates[0], 10.0))
    assert state.gained == 1.0
    belief = made.belief(state, Ask(2, 2.0))
    assert belief.units == (5.0, 5.0)
    assert belief.predict(LINE.points)[0][0] == pytest.approx(1 / 1.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lengths": ()}, "one or more"),
        ({"lengths": (0,)}, "a length must be ≥ 1"),
        ({"over": "both"}, "over must be one of"),
        ({"horizon": 0}, "horizon must be ≥ 1"),
        ({"low": 1.0, "high": 1.0}, "low must be below high"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        policy("bob-gp-ucb", LINE, **options)
