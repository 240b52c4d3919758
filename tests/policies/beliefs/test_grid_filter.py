"""The filter against the dense Gaussian process in space and time."""

import numpy as np
import pytest

from driftwise.errors import InvalidInput
from driftwise.gp.grid import Grid
from driftwise.gp.kernels import RBF, Matern
from driftwise.gp.posterior import location_scale
from driftwise.gp.time_kernels import Forgetting, MaternInTime, SpaceTime
from driftwise.policies.beliefs.grid_filter import BLOCK, GridFilter, Rewards
from driftwise.policies.ui_gp_ucb import Wiener
from driftwise.records import Observation
from oracles import dense_information_gain, dense_posterior

TIMES = [Forgetting(0.0), Forgetting(0.05), Wiener(0.03), MaternInTime(1.5, 20.0), MaternInTime(2.5, 20.0)]


def a_log(n: int, points, *, seed: int = 0, gaps: str = "irregular") -> list[Observation]:
    rng = np.random.default_rng(seed)
    at = 100 + (np.arange(n) if gaps == "even" else np.cumsum(rng.exponential(1.0, n)))
    which = rng.integers(len(points), size=n)
    x = [tuple(row) for row in points.tolist()]
    return [Observation(j + 1, float(at[j]), x[which[j]], float(rng.standard_normal())) for j in range(n)]


def fold(belief: GridFilter, log: list[Observation]) -> GridFilter:
    for seen in log:
        belief = belief.observe(seen)
    return belief


def dense(grid: Grid, time, log: list[Observation], now: float, y=None):
    """μ, σ² and ½ ln det(I + K/λ); time counts from the first observation."""
    start = log[0].at
    X = np.array([(*o.x, o.at - start) for o in log])
    at = np.column_stack([grid.points, np.full(len(grid.points), now - start)])
    kernel = SpaceTime(grid.kernel, time)
    y = np.array([o.y for o in log]) if y is None else y
    return *dense_posterior(kernel, grid.noise, X, y, at), dense_information_gain(kernel, grid.noise, X)


def check(belief: GridFilter, expected, *, atol: float) -> None:
    mean, std = belief.predict(belief.grid.points)
    np.testing.assert_allclose(mean, expected[0], rtol=0, atol=atol)
    np.testing.assert_allclose(std**2, expected[1], rtol=0, atol=atol)
    assert belief.information_gain == pytest.approx(expected[2], rel=1e-9)


@pytest.fixture
def points():
    return np.random.default_rng(7).random((30, 2))


@pytest.mark.parametrize("noise", [1e-2, 1e-4])
@pytest.mark.parametrize("gaps", ["even", "irregular"])
@pytest.mark.parametrize("time", TIMES, ids=str)
def test_equals_the_dense_space_time_gp(points, time, gaps, noise):
    grid = Grid(points, RBF(0.3), noise)
    log = a_log(3 * BLOCK + 5, points, gaps=gaps)
    belief = fold(GridFilter.prior(grid, time), log)
    for ahead in (0.0, 1.0, 17.3):
        now = log[-1].at + ahead
        check(belief.at(now), dense(grid, time, log, now), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("time", TIMES, ids=str)
def test_equals_it_after_a_long_run(time):
    points = np.linspace(0, 1, 12)[:, None]
    grid = Grid(points, Matern(2.5, 0.3), 1e-2)
    log = a_log(1500, points, seed=3)
    now = log[-1].at + 1.0
    check(fold(GridFilter.prior(grid, time), log).at(now), dense(grid, time, log, now), atol=1e-8)


def test_standing_still_for_6_000_steps():
    """With ε = 0, many rewards at one candidate are their average with the noise divided by their count."""
    points = np.linspace(0, 1, 15)[:, None]
    grid = Grid(points, RBF(0.2), 1e-2)
    log = a_log(6_000, points, seed=5)
    belief = fold(GridFilter.prior(grid, Forgetting(0.0)), log)
    which = np.array([grid.index(o.x) for o in log])
    y, counts = np.array([o.y for o in log]), np.bincount(which)
    K = grid.kernel(points, points)
    solved = np.linalg.solve(K + np.diag(grid.noise / counts), np.column_stack([np.bincount(which, y) / counts, K]))
    mean, std = belief.predict(points)
    np.testing.assert_allclose(mean, K @ solved[:, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, np.diagonal(K - K @ solved[:, 1:]), rtol=0, atol=1e-12)


def test_equals_the_textbook_recursion(points):
    """μ ← ρμ, P ← ρ²P + εK, then gain P_i/S: Mandl & Kekkonen 2026."""
    epsilon, noise = 0.1, 0.01
    grid = Grid(points, RBF(0.3), noise)
    K = grid.kernel(points, points)
    mu, P = np.zeros(len(points)), K
    belief = GridFilter.prior(grid, Forgetting(epsilon))
    for t, seen in enumerate(a_log(150, points, gaps="even"), start=1):
        if t > 1:
            mu, P = np.sqrt(1 - epsilon) * mu, (1 - epsilon) * P + epsilon * K
        belief = belief.at(seen.at)
        mean, std = belief.predict(grid.points)
        np.testing.assert_allclose(mean, mu, rtol=0, atol=1e-13)
        np.testing.assert_allclose(std**2, np.diagonal(P), rtol=0, atol=1e-13)
        i = grid.index(seen.x)
        L = P[:, i] / (P[i, i] + noise)
        mu, P = mu + L * (seen.y - mu[i]), P - np.outer(L, P[i])
        belief = belief.observe(seen)


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_old_states_stay_valid(points, time):
    """Two futures of one past, and the past itself, are what a fresh fold of each gives, to the bit."""
    grid, log = Grid(points, RBF(0.3), 0.01), a_log(2 * BLOCK, points)
    prior = GridFilter.prior(grid, time)
    for cut in (5, BLOCK - 1, BLOCK, BLOCK + 3):
        past, left, right, last = fold(prior, log[:cut]), log[cut : cut + 9], log[cut + 9 : cut + 18], log[-1:]
        one, other = fold(past, left), fold(past, right)
        # one observation more reads all that each remembers
        np.testing.assert_array_equal(fold(past, last).predict(points), fold(prior, log[:cut] + last).predict(points))
        for state, since in ((one, left), (other, right)):
            fresh = fold(prior, log[:cut] + since + last)
            np.testing.assert_array_equal(fold(state, last).predict(points), fresh.predict(points))


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_imagining_is_observing_the_mean(points, time):
    grid, log = Grid(points, RBF(0.3), 0.01), a_log(BLOCK + 10, points)
    now = log[-1].at + 2
    belief = fold(GridFilter.prior(grid, time), log).at(now)
    imagined, pending = belief.imagine([tuple(points[3]), tuple(points[8])]), log
    for i in (3, 8):
        mean, _, _ = dense(grid, time, pending, now)
        pending = [*pending, Observation(len(pending) + 1, now, tuple(points[i]), float(mean[i]))]
    mean, var, _ = dense(grid, time, pending, now)
    np.testing.assert_allclose(imagined.predict(points)[0], mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(imagined.predict(points)[1] ** 2, var, rtol=0, atol=1e-9)
    assert belief.imagine([]) is belief


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_standardised_rewards_are_the_dense_ones(points, time):
    grid = Grid(points, RBF(0.3), 0.01, standardise=True)
    log = [Observation(o.number, o.at, o.x, 5e6 + 1e3 * o.y) for o in a_log(BLOCK + 20, points)]
    belief = fold(GridFilter.prior(grid, time), log)
    y = np.array([o.y for o in log])
    location, scale = location_scale(y)
    assert belief.units == pytest.approx((location, scale), rel=1e-12)
    now = log[-1].at + 1
    check(belief.at(now), dense(grid, time, log, now, (y - location) / scale), atol=1e-8)


def test_rewards_without_spread_have_scale_one():
    assert Rewards().units == (0.0, 1.0)
    assert Rewards().append(1e12).append(1e12).units == (1e12, 1.0)


def test_time_never_runs_backwards(points):
    """An observation with an earlier time counts as one of now."""
    grid = Grid(points, RBF(0.3), 0.01)
    prior = GridFilter.prior(grid, Forgetting(0.1))
    early, late = (Observation(2, at, tuple(points[1]), 1.0) for at in (3.0, 10.0))
    first = prior.observe(Observation(1, 10.0, tuple(points[0]), 0.5))
    np.testing.assert_array_equal(first.observe(early).predict(points), first.observe(late).predict(points))
    np.testing.assert_array_equal(first.at(4.0).predict(points), first.predict(points))


def test_a_very_long_gap_gives_back_the_prior(points):
    for time in (Forgetting(0.1), MaternInTime(1.5, 20.0), MaternInTime(2.5, 20.0)):
        belief = fold(GridFilter.prior(Grid(points, RBF(0.3), 0.01), time), a_log(BLOCK + 5, points)).at(1e9)
        mean, std = belief.predict(points)
        np.testing.assert_allclose(mean, 0.0, atol=1e-12)
        np.testing.assert_allclose(std, 1.0, atol=1e-12)
        again = belief.observe(Observation(999, 2e9, tuple(points[0]), 1.0))
        assert again.predict(points)[0][0] == pytest.approx(1 / 1.01)


@pytest.mark.parametrize("time", TIMES, ids=str)
@pytest.mark.parametrize("noise", [1e-10, 1.0])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e12])
def test_no_input_breaks_it(time, noise, size):
    """Duplicated candidates, constant and huge rewards, tiny noise: finite, and 0 ≤ σ² ≤ the prior's."""
    points = np.array([[0.0], [0.0], [1e-9], [1.0]])
    for standardise in (False, True):
        belief = GridFilter.prior(Grid(points, RBF(0.3), noise, standardise), time)
        for t in range(1, 2 * BLOCK):
            belief = belief.observe(Observation(t, float(t), tuple(points[t % 4]), size))
        mean, std = belief.at(2.0 * BLOCK).predict(points)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert (std**2 <= time.covariance(2.0 * BLOCK - 1)[0, 0] * (1 + 1e-12)).all()


def test_it_knows_its_candidates_alone(points):
    belief = fold(GridFilter.prior(Grid(points, RBF(0.3), 0.01), Forgetting(0.1)), a_log(9, points))
    some = points[[4, 2]]
    np.testing.assert_array_equal(belief.predict(some), np.array(belief.predict(belief.grid.points))[:, [4, 2]])
    with pytest.raises(InvalidInput, match="none of the 30 candidates"):
        belief.predict(np.array([[0.5, 0.5]]))
    with pytest.raises(InvalidInput, match="no gradient"):
        belief.predict_gradient(points)


def test_what_it_remembers(points):
    log = a_log(9, points)
    belief = fold(GridFilter.prior(Grid(points, RBF(0.3), 0.01), Forgetting(0.1)), log)
    assert len(belief) == 9
    assert belief.noise == 0.01
    assert belief.jitter == 0
    assert {tuple(x) for x in belief.observed.tolist()} == {o.x for o in log}
