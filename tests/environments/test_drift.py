"""Paths: where they change, how far they go, and what a chain is distributed like."""

import numpy as np
import pytest

from driftwise.environments import Abrupt, Chain, Expansion, Gaussian, Rotating, Slow, Still, Whitened, World
from driftwise.environments.worlds import grid
from driftwise.errors import InvalidInput
from driftwise.kernels import RBF, Matern

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
    c, s = turning._tape.coefficients(1), turning._tape.coefficients(1 + 25)
    assert c == pytest.approx(-s)  # half a turn
    one_jump = world(Abrupt((10,)))
    assert one_jump.variation(10) == 0
    assert one_jump.variation(11) == one_jump.variation(500) > 0
    straight = world(Slow((1, 101)))
    ends = straight._tape.coefficients(101) - straight._tape.coefficients(1)
    assert straight.variation(300) == pytest.approx(straight.basis.norms(ends[None])[0])


def test_slow_paths_pass_through_their_knots_and_stay_within_the_norm():
    w = world(Slow((10, 20, 40)))
    at = lambda t: w._tape.coefficients(t)  # noqa: E731
    assert (at(1) == at(10)).all()
    assert (at(40) == at(300)).all()
    assert at(15) == pytest.approx((at(10) + at(20)) / 2)
    assert w.norm(10) == pytest.approx(1.5)
    assert w.bound(100) <= 1.5 + 1e-12


def test_a_chain_is_stationary_with_the_kernel_as_covariance_and_forgets_at_its_rate():
    points, epsilon, T = grid(4, 1), 0.3, 20_000
    w = World(points, Whitened(RBF(0.4), points), Chain(epsilon), Gaussian(0.0), seed=11)
    F = np.vstack(list(w._tape.value_blocks(T)))
    K = RBF(0.4)(points.points, points.points)
    assert F.shape == (T, 4)
    assert np.abs(F.mean(axis=0)).max() < 0.1
    assert np.abs(F.T @ F / T - K).max() < 0.12  # about 1,800 independent rows: 0.12 is some four standard errors
    for lag in (1, 4):
        assert np.abs(F[lag:].T @ F[:-lag] / T - (1 - epsilon) ** (lag / 2) * K).max() < 0.12


def test_a_chain_follows_its_recursion_with_independent_draws():
    w = world(Chain(0.19), Whitened(RBF(0.2), LINE))
    steps = np.array([w._tape.coefficients(t) for t in range(1, 131)])
    fresh = (steps[1:] - 0.9 * steps[:-1]) / np.sqrt(0.19)
    assert fresh[62] == pytest.approx(w._tape._draw(64))
    assert fresh[63] == pytest.approx(w._tape._draw(65))  # across the border of a block
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
    ],
)
def test_bad_descriptions_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
