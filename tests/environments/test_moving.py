"""The coordinate that moves: the path, its exact variation and its optimum."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from driftwise.environments import Expansion, Gaussian, Moving, Translated
from driftwise.environments.catalogue import grid
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Linear, Matern
from driftwise.lab.zoo import zoo
from driftwise.spaces import Box, Candidates, Float

CENTRES = Candidates(np.random.default_rng(3).uniform(-0.5, 1.5, (12, 2)))


SMOOTH = RBF(0.3)


def world(kernel=SMOOTH, space=None, period=40.0, seed=1):
    path = Translated(Expansion(kernel, CENTRES, norm=2.0), axis=1, reach=0.5, period=period)
    return Moving(space or grid(9, 2), path, kernel, Gaussian(0.1), seed=seed, horizon=80)


def test_it_goes_to_and_fro_at_constant_speed_along_its_axis_only():
    w = world()
    s = w.path.shift(np.arange(1.0, 42.0))
    assert s[[0, 10, 20, 30, 40]] == pytest.approx([0, 0.5, 0, -0.5, 0], abs=1e-12)
    assert np.abs(np.diff(s)) == pytest.approx(np.full(40, 0.05), abs=1e-12)
    X = np.random.default_rng(0).random((6, 2))
    for t in (1, 7, 26):
        back = X - [0.0, s[t - 1]]
        assert w.value(t, X) == pytest.approx(w.value(1, back))


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 0.4)])
def test_variation_is_the_norm_of_the_difference_as_one_expansion(kernel):
    """f_{t+1} − f_t has coefficients (a, −a) on the centres of both: its norm needs no stationarity."""
    w = world(kernel)
    a = w._formula.a
    s = w.path.shift(np.arange(1.0, 31.0))
    total = 0.0
    for one, two in pairwise(s):
        P = np.vstack([CENTRES.points + np.array([0.0, two]), CENTRES.points + np.array([0.0, one])])
        c = np.concatenate([a, -a])
        total += np.sqrt(c @ kernel(P, P) @ c)
    assert w.variation(30) == pytest.approx(total, rel=1e-9)
    assert w.variation(1) == 0


def test_on_candidates_the_optimum_and_the_sup_variation_are_exact():
    w = world()
    X = w.space.points
    F = np.array([w.value(t, X) for t in range(1, 21)])
    for t in range(1, 21):
        assert w.best(t) == F[t - 1].max()
        assert w.value(t, w.best_x(t)[None])[0] == w.best(t)
    assert w.sup_variation(20) == pytest.approx(np.abs(np.diff(F, axis=0)).max(axis=1).sum())
    assert w.sup_variation(1) == 0


@pytest.mark.slow
def test_on_a_box_the_optimum_is_known_to_1e_6():
    w = world(space=Box.of({"a": Float(0, 1), "b": Float(0, 1)}))
    axis = np.linspace(0, 1, 401)
    dense = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for t in (1, 13, 70):
        values = w.value(t, dense)
        fine = np.linspace(-1 / 400, 1 / 400, 101)
        around = np.clip(dense[np.argmax(values)] + np.stack(np.meshgrid(fine, fine), axis=-1).reshape(-1, 2), 0, 1)
        brute = w.value(t, around).max()
        assert brute - 1e-9 <= w.best(t) <= brute + 1e-6
    moves = np.abs(np.diff([w.value(t, dense[::7]) for t in range(1, 12)], axis=0)).max(axis=1).sum()
    assert moves - 1e-9 <= w.sup_variation(11) <= moves * 1.001


def test_seeds_and_order_of_calls():
    a, b = zoo(kind="one-coordinate", dim=2, seed=3), zoo(kind="one-coordinate", dim=2).seeded(3)
    X = a.space.points
    forward = [(a.value(t, X).tolist(), a.observe(t, X[5])) for t in (1, 5, 300)]
    backward = [(b.value(t, X).tolist(), b.observe(t, X[5])) for t in (300, 5, 1)][::-1]
    assert forward == backward
    assert a == b
    assert (a.seeded(4).value(1, X) != a.value(1, X)).all()
    assert len(pickle.dumps(a)) < 30_000
    assert pickle.loads(pickle.dumps(a)).best(17) == a.best(17)


def test_bad_descriptions_are_refused():
    basis = Expansion(Linear(), CENTRES)
    with pytest.raises(InvalidInput, match="stationary"):
        Translated(basis, 0, 0.5, 10.0)
    with pytest.raises(InvalidInput, match="below the 2 dimensions"):
        Translated(Expansion(RBF(0.2), CENTRES), 2, 0.5, 10.0)
    with pytest.raises(InvalidInput, match="count from 1"):
        world().value(0, CENTRES.points)
