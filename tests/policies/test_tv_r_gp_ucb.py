"""Bogunovic's restarts are r-gp-ucb with his N."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Matern, Scaled
from driftwise.errors import InvalidInput
from driftwise.policies import policy
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 20)[:, None])


@pytest.mark.parametrize(("epsilon", "N"), [(0.001, 68), (0.01, 38), (0.03, 29)])
def test_interval_of_the_squared_exponential(epsilon, N):
    assert policy("tv-r-gp-ucb", LINE, epsilon=epsilon, kernel=RBF(0.2)).interval == N
    assert policy("tv-r-gp-ucb", LINE, epsilon=epsilon, kernel=Scaled(RBF(0.2), 0.5)).interval == N


def test_interval_of_matern():
    """24 ε^{−1/(4−c)} with c = d(d+1)/(2ν+d(d+1)): d = 2, ν = 5/2 gives c = 6/11."""
    square = {"a": Float(0, 1), "b": Float(0, 1)}
    made = policy("tv-r-gp-ucb", square, epsilon=0.01, kernel=Matern(2.5, 0.2))
    assert made.interval == math.ceil(24 * 0.01 ** (-11 / 38)) == 92


def test_no_longer_than_the_horizon():
    assert policy("tv-r-gp-ucb", LINE, epsilon=0.01, kernel=RBF(0.2), horizon=20).interval == 20


def test_equals_r_gp_ucb_with_that_interval():
    made = policy("tv-r-gp-ucb", LINE, epsilon=0.3, kernel=RBF(0.2))
    twin = policy("r-gp-ucb", LINE, interval=made.interval, kernel=RBF(0.2))
    assert made.memory == twin.memory
    rng = np.random.default_rng(0)
    one, other = made.start(), twin.start()
    for t in range(1, 60):
        ask = Ask(t, float(t), pending=((0.0,),) if t % 7 == 0 else ())
        x = made.choose(one, ask)
        np.testing.assert_array_equal(x, twin.choose(other, ask))
        np.testing.assert_array_equal(made.belief(one, ask).predict(x[None]), twin.belief(other, ask).predict(x[None]))
        seen = Observation(t, float(t), tuple(x.tolist()), float(rng.standard_normal()))
        one, other = made.update(one, seen), twin.update(other, seen)
        assert made.remembers(t - 5, newest=t, newer=5) == twin.remembers(t - 5, newest=t, newer=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"epsilon": 0}, "use gp-ucb"), ({"kernel": Linear()}, "use r-gp-ucb"), ({"horizon": 0}, "horizon must be ≥ 1")],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        policy("tv-r-gp-ucb", LINE, **options)
