"""Paths: where they change, how far they go, and what a chain is distributed like."""

import numpy as np
import pytest

from driftwise.environments import (
    Abrupt,
    Chain,
    Expansion,
    Gaussian,
    Rotating,
    Slow,
    Still,
    Storm,
    Trend,
    Waves,
    Whitened,
    World,
)
from driftwise.environments.catalogue import grid
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Matern

LINE = grid(20, 1)
DRIFTS = [
    Still(),
    Abrupt((3, 70)),
    Slow((1, 40, 90)),
    Slow((10, 20)),
    Rotating(37.0),
    Chain(0.03),
    Chain(0.0),
    Chain(1.0),
    Storm(70, 0.05),
    Trend(31.0, 100),
]


def world(drift, basis=None, seed=5):
    return World(LINE, basis or Expansion(RBF(0.2), LINE, norm=1.5), drift, Gaussian(0.1), seed=seed)


@pytest.mark.parametrize("drift", DRIFTS)
def test_variation_is_what_brute_force_finds(drift):
    """‖f‖² = fᵀK⁻¹f from the values alone, on a kernel that can be inverted, and the largest change in each step."""
    w = world(drift, Expansion(Matern(0.5, 0.3), LINE, norm=1.5))
    K = w.kernel(LINE.points, LINE.points)
    for horizon in (1, 2, 64, 65, 100, 130):
        F = np.array([w.value(t, LINE.points) for t in range(1, horizon + 1)])
        moves = np.diff(F, axis=0)
        squared = np.einsum("ti,ti->t", moves, np.linalg.solve(K, moves.T).T)
        assert w.variation(horizon) == pytest.approx(np.sqrt(np.abs(squared)).sum(), rel=1e-9, abs=1e-9)
        assert w.sup_variation(horizon) == pytest.approx(sum(np.abs(m).max() for m in moves), rel=1e-12)
        assert w.bound(horizon) == pytest.approx(max(w.norm(t) for t in range(1, horizon + 1)))


def test_closed_forms_of_the_variation():
    assert world(Still()).variation(500) == 0
    turning = world(Rotating(50.0), Whitened(RBF(0.2), LINE))
    c, s = turning._playback.coefficients(1), turning._playback.coefficients(1 + 25)
    assert c == pytest.approx(-s)  # half a turn
    one_jump = world(Abrupt((10,)))
    assert one_jump.variation(10) == 0
    assert one_jump.variation(11) == one_jump.variation(500) > 0
    straight = world(Slow((1, 101)))
    ends = straight._playback.coefficients(101) - straight._playback.coefficients(1)
    assert straight.variation(300) == pytest.approx(straight.basis.norms(ends[None])[0])


def test_slow_paths_pass_through_their_knots_and_stay_within_the_norm():
    w = world(Slow((10, 20, 40)))
    at = lambda t: w._playback.coefficients(t)  # noqa: E731
    assert (at(1) == at(10)).all()
    assert (at(40) == at(300)).all()
    assert at(15) == pytest.approx((at(10) + at(20)) / 2)
    assert w.norm(10) == pytest.approx(1.5)
    assert w.bound(100) <= 1.5 + 1e-12


def test_a_storm_is_quiet_and_then_a_chain():
    w = world(Storm(66, 0.19), Whitened(RBF(0.2), LINE))
    steps = np.array([w._playback.coefficients(t) for t in range(1, 131)])
    assert (steps[:66] == steps[0]).all()
    fresh = (steps[66:] - 0.9 * steps[65:-1]) / np.sqrt(0.19)
    assert fresh[0] == pytest.approx(w._playback._draw(67))
    assert fresh[-1] == pytest.approx(w._playback._draw(130))


def test_a_trend_is_a_turn_and_a_straight_line():
    w = world(Trend(20.0, 41), Whitened(RBF(0.2), LINE))
    g = [w._playback._draw(j) for j in range(4)]
    at = lambda t: w._playback.coefficients(t) * np.sqrt(2)  # noqa: E731
    assert at(1) == pytest.approx(g[0] + g[2])
    assert at(6) == pytest.approx(g[1] + 7 / 8 * g[2] + 1 / 8 * g[3])  # a quarter of a turn
    assert at(21) == pytest.approx(g[0] + (g[2] + g[3]) / 2)
    assert at(41) == pytest.approx(g[0] + g[3])
    assert at(61) == pytest.approx(at(41))  # the trend has arrived, the turn goes on


def test_waves_are_the_published_formula():
    B, T = 2.0, 1000
    for t in (1, 37, 1000):
        a = 5 * B * np.pi * t / T
        expected = [0.5 + 0.3 * np.sin(a), 0.5 + 0.3 * np.sin(np.pi + a)]
        assert Waves(B, T).at(t, lambda j: np.zeros(2), None) == pytest.approx(expected)


def test_a_chain_is_stationary_with_the_kernel_as_covariance_and_forgets_at_its_rate():
    points, epsilon, T = grid(4, 1), 0.3, 20_000
    w = World(points, Whitened(RBF(0.4), points), Chain(epsilon), Gaussian(0.0), seed=11)
    F = np.vstack(list(w._playback.value_blocks(T)))
    K = RBF(0.4)(points.points, points.points)
    assert F.shape == (T, 4)
    assert np.abs(F.mean(axis=0)).max() < 0.1
    assert np.abs(F.T @ F / T - K).max() < 0.12  # about 1,800 independent rows: 0.12 is some four standard errors
    for lag in (1, 4):
        assert np.abs(F[lag:].T @ F[:-lag] / T - (1 - epsilon) ** (lag / 2) * K).max() < 0.12


def test_a_chain_follows_its_recursion_with_independent_draws():
    w = world(Chain(0.19), Whitened(RBF(0.2), LINE))
    steps = np.array([w._playback.coefficients(t) for t in range(1, 131)])
    fresh = (steps[1:] - 0.9 * steps[:-1]) / np.sqrt(0.19)
    assert fresh[62] == pytest.approx(w._playback._draw(64))
    assert fresh[63] == pytest.approx(w._playback._draw(65))  # across the border of a block
    assert fresh.var() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Abrupt(()), "must not be empty"),
        (lambda: Abrupt((5, 5)), "must increase"),
        (lambda: Slow((0, 5)), "≥ 1"),
        (lambda: Rotating(0.0), "> 0"),
        (lambda: Chain(1.5), "from 0 to 1"),
        (lambda: Chain(float("nan")), "finite"),
        (lambda: Storm(0, 0.1), "calm must be ≥ 1"),
        (lambda: Storm(5, 2.0), "from 0 to 1"),
        (lambda: Trend(5.0, 1), "over must be ≥ 2"),
        (lambda: Waves(-1.0, 10), "≥ 0"),
    ],
)
def test_bad_descriptions_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
