"""Worlds: the optimum against brute force, and draws that depend on the seed and on nothing else."""

import pickle

import numpy as np
import pytest

from driftwise import Choice, Float, Int
from driftwise.environments import REGISTRY, Abrupt, Chain, Expansion, Gaussian, Rotating, Still, World, environment
from driftwise.environments.catalogue import grid, on_box
from driftwise.environments.playback import KEPT
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.gp.kernels import RBF
from driftwise.rng import Stream, generator
from driftwise.spaces import Box

SMALL = {"bogunovic": {"side": 8}, "rotating": {"side": 8}}


def small(name, seed=0):
    return environment(name, seed=seed, **SMALL.get(name, {}))


@pytest.mark.parametrize("name", REGISTRY)
def test_every_world_is_reproducible_and_independent_of_the_order_of_calls(name):
    a, b = small(name, seed=3), small(name).seeded(3)
    X = a.space.sample(np.random.default_rng(0), 5)
    times = [1, 2, 63, 64, 65, 130, 300]
    forward = [(a.value(t, X), a.best(t), a.observe(t, X[0])) for t in times]
    backward = [(b.value(t, X), b.best(t), b.observe(t, X[0])) for t in reversed(times)][::-1]
    for (v, m, y), (v2, m2, y2) in zip(forward, backward, strict=True):
        assert (v == v2).all()
        assert (m, y) == (m2, y2)
    assert a == b


@pytest.mark.parametrize("name", REGISTRY)
def test_another_seed_is_another_world(name):
    a, b = small(name, seed=1), small(name, seed=2)
    X = a.space.sample(np.random.default_rng(0), 5)
    assert (a.value(1, X) != b.value(1, X)).all()
    assert a.observe(1, X[0]) - a.value(1, X[:1])[0] != b.observe(1, X[0]) - b.value(1, X[:1])[0]


@pytest.mark.parametrize("name", ["deng-abrupt", "deng-slow", "bogunovic", "rotating", "still"])
def test_on_candidates_the_optimum_is_the_largest_value_exactly(name):
    w = small(name, seed=7)
    for t in (1, 100, 101, 200):
        values = w.value(t, w.space.points)
        assert w.best(t) == values.max()
        assert w.value(t, w.best_x(t)[None])[0] == w.best(t)
        one_by_one = [w.value(t, x[None])[0] for x in w.space.points]
        assert one_by_one == values.tolist()


def test_deng_is_the_published_definition():
    w = environment("deng-abrupt", seed=9)
    X = w.space.points
    assert X.shape == (100, 1)
    assert (X[0, 0], X[-1, 0], w.horizon, w.noise) == (0.0, 1.0, 500, Gaussian(0.1))
    a = generator(9, 0, Stream.WORLD).uniform(-1, 1, 100)
    f = np.array([sum(a[i] * np.exp(-((x - X[i, 0]) ** 2) / (2 * 0.2**2)) for i in range(100)) for x in X[:, 0]])
    assert w.value(100, X) == pytest.approx(f)
    assert w.norm(1) == pytest.approx(np.sqrt(a @ f))  # aᵀKa = aᵀf
    changes = [t for t in range(1, 500) if (w.value(t + 1, X) != w.value(t, X)).any()]
    assert changes == [100, 200]


def test_a_norm_may_be_asked_for():
    w = environment("deng-abrupt", norm=1.0)
    assert w.bound(500) == pytest.approx(1.0)
    assert np.abs(w.value(300, w.space.points)).max() <= 1.0 + 1e-12  # |f| ≤ ‖f‖ √k(x,x)


def test_values_off_the_candidates_are_those_of_the_same_function():
    w = environment("deng-slow", seed=2)
    near = w.space.points[40:41] + 1e-9
    assert w.value(33, near)[0] == pytest.approx(w.value(33, w.space.points[40:41])[0], abs=1e-6)


def test_noise_does_not_touch_the_function_nor_the_policy_the_noise():
    quiet, loud = environment("still", seed=4, noise_std=0.0), environment("still", seed=4, noise_std=1.0)
    X = quiet.space.points
    assert (quiet.value(5, X) == loud.value(5, X)).all()
    noise = np.array([loud.observe(t, X[0]) - quiet.observe(t, X[0]) for t in range(1, 2001)])
    policy = np.array([generator(4, t, Stream.POLICY).standard_normal() for t in range(1, 2001)])
    functions = np.array([generator(4, t, Stream.WORLD).standard_normal() for t in range(1, 2001)])
    R = np.corrcoef([noise, policy, functions])
    assert np.abs(R - np.eye(3)).max() < 4 / np.sqrt(2000)


def test_memory_is_bounded_and_what_is_sent_is_small():
    w = environment("bogunovic", side=10)
    for t in range(1, 3001):
        w.best(t)
    assert w._playback._value_block.cache_info().currsize <= KEPT
    assert w._playback.coefficient_block.cache_info().currsize <= KEPT
    sent = pickle.dumps(w)
    assert len(sent) < 10_000
    assert pickle.loads(sent).best(2999) == w.best(2999)


@pytest.mark.parametrize("seed", range(6))
def test_on_an_interval_the_optimum_is_known_to_1e_6(seed):
    w = on_box(Chain(0.2), dim=1, centres=15, seed=seed)
    dense = np.linspace(0, 1, 20_001)[:, None]  # spacing 5e-5: within 1e-6 of the top of a function this smooth
    for t in (1, 2, 70):
        brute = w.value(t, dense).max()
        assert brute - 1e-9 <= w.best(t) <= brute + 1e-6
        assert w.value(t, w.best_x(t)[None])[0] == pytest.approx(w.best(t), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_square_the_optimum_is_known_to_1e_6(seed):
    w = on_box(Rotating(90.0), dim=2, seed=seed)
    axis = np.linspace(0, 1, 151)
    dense = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for t in (30, 66):
        values = w.value(t, dense)
        top = dense[np.argmax(values)]
        fine = np.linspace(-1 / 150, 1 / 150, 201)
        around = np.clip(top + np.stack(np.meshgrid(fine, fine), axis=-1).reshape(-1, 2), 0, 1)
        brute = w.value(t, around).max()
        assert brute - 1e-9 <= w.best(t) <= brute + 1e-6


def test_in_six_dimensions_no_ascent_from_many_points_finds_a_higher_one():
    from scipy.optimize import minimize

    w = on_box(Abrupt((1,)), dim=6, seed=1)
    rng = np.random.default_rng(0)
    for t in (1, 2):
        X = np.vstack([rng.random((5_000, 6)), w.basis.centres.points])
        starts = X[np.argsort(-w.value(t, X))[:8]]
        found = [minimize(lambda x, t=t: -w.value(t, x[None])[0], x, bounds=[(0, 1)] * 6).fun for x in starts]
        assert w.best(t) >= -min(found) - 1e-7
        assert w.value(t, w.best_x(t)[None])[0] == pytest.approx(w.best(t), abs=1e-12)


def test_a_mixed_space_has_its_optimum_found_as_well():
    box = Box.of({"x": Float(0, 1), "n": Int(0, 4), "c": Choice(["a", "b"])})
    centres = grid(3, 4)
    w = World(box, Expansion(RBF(0.5), centres, norm=1.0), Still(), Gaussian(0.0), seed=2)
    fine = np.linspace(0, 1, 5001)
    brute = max(
        w.value(1, np.column_stack([fine, np.full(5001, n / 4), np.full(5001, c), np.full(5001, 1.0 - c)])).max()
        for n in range(5)
        for c in (0.0, 1.0)
    )
    assert brute - 1e-9 <= w.best(1) <= brute + 1e-6
    assert box.to_unit(box.from_unit(tuple(w.best_x(1)))) == pytest.approx(tuple(w.best_x(1)))


def test_sup_variation_on_a_box_is_what_a_dense_scan_finds():
    w = on_box(Rotating(40.0), dim=1, centres=10, seed=3)
    dense = np.linspace(0, 1, 5001)[:, None]
    F = np.array([w.value(t, dense) for t in range(1, 71)])
    assert w.sup_variation(70) == pytest.approx(np.abs(np.diff(F, axis=0)).max(axis=1).sum(), abs=1e-5)


def test_names_and_options_are_checked():
    with pytest.raises(NotFoundError, match="deng-abrupt"):
        environment("deng")
    with pytest.raises(InvalidInput, match="has no option 'epsilon'"):
        environment("still", epsilon=0.1)
    with pytest.raises(InvalidInput, match="steps count from 1"):
        environment("still").best(0)
    with pytest.raises(InvalidInput, match="seed"):
        environment("still", seed=-1)
    for make in REGISTRY.values():
        assert make.__doc__
