"""The posterior on candidates against dense algebra; its shared buffers; and replay to the last bit."""

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from driftwise.errors import InvalidInput
from driftwise.gp.grid import REFRESH, Grid, GridPosterior
from driftwise.gp.kernels import RBF, Linear, Matern, Scaled, Sum
from driftwise.records import Observation
from oracles import dense_information_gain, dense_posterior


def observation(grid: Grid, number: int, i: int, y: float) -> Observation:
    return Observation(number, float(number), tuple(grid.points[i].tolist()), y)


def wandering(rng: np.random.Generator, n: int, steps: int) -> np.ndarray:
    """Candidates as an optimiser asks for them: mostly one and its like, at times any; many repeats."""
    favourites = np.repeat(rng.integers(n, size=steps // 50 + 1), 50)[:steps]
    return np.where(rng.random(steps) < 0.3, rng.integers(n, size=steps), favourites)


def log_of(grid: Grid, steps: int, seed: int = 0, missing: float = 0.0, offset: float = 0.0) -> list[Observation]:
    rng = np.random.default_rng(seed)
    where, y = wandering(rng, len(grid.points), steps), rng.standard_normal(steps) + offset
    told = rng.random(steps) >= missing
    if missing:
        told[REFRESH - 1 :: REFRESH] = False  # the numbers that a rule of `number % REFRESH == 0` would wait for
    return [observation(grid, t + 1, int(where[t]), float(y[t])) for t in range(steps) if told[t]]


def fold(grid: Grid, log: list[Observation], keep: int | None, state: GridPosterior | None = None) -> GridPosterior:
    state = GridPosterior.prior(grid) if state is None else state
    for seen in log:
        state = state.observe(seen, keep=keep)
    return state


def bits(state: GridPosterior) -> list[bytes]:
    return [a.tobytes() for a in (*state.predict(state.grid.points), np.array(state.information_gain))]


def worst_error(grid: Grid, log: list[Observation], keep: int, every: int) -> float:
    state, worst = GridPosterior.prior(grid), 0.0
    for t, seen in enumerate(log, 1):
        state = state.observe(seen, keep=keep)
        if t % every == 0 or t == len(log):
            kept = log[max(t - keep, 0) : t]
            X, y = np.array([o.x for o in kept]), np.array([o.y for o in kept])
            mean, var = dense_posterior(grid.kernel, grid.noise, X, y, grid.points)
            ours, std = state.predict(grid.points)
            gain = dense_information_gain(grid.kernel, grid.noise, X)
            worst = max(
                worst, np.abs(ours - mean).max(), np.abs(std**2 - var).max(), abs(state.information_gain - gain)
            )
    return worst


BOUNDS = [(1e-2, 1e-7), (5e-3, 1e-7), (1e-4, 1e-7), (1e-6, 1e-5)]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "tolerance"), BOUNDS)
def test_equals_the_dense_solve_over_many_steps(noise, tolerance):
    """Errors gather where the noise is least: there it is looked at for longest."""
    grid, steps = Grid(np.random.default_rng(0).random((60, 2)), RBF(0.2), noise), 20_000 if noise < 1e-5 else 5_000
    assert worst_error(grid, log_of(grid, steps), keep=25, every=127) <= tolerance


@pytest.mark.parametrize(("noise", "tolerance"), BOUNDS)
def test_equals_the_dense_solve_on_1_000_candidates(noise, tolerance):
    grid = Grid(np.random.default_rng(1).random((1_000, 2)), RBF(0.2), noise)
    assert worst_error(grid, log_of(grid, 1_100), keep=100, every=101) <= tolerance


@pytest.mark.parametrize("kernel", [Scaled(RBF(0.2), 1e4), Linear(), Sum(Linear(), Matern(1.5, 0.3))], ids=repr)
def test_conditioning_is_judged_beside_the_prior_variance(kernel):
    """Noise 0.01 is little for a kernel of variance 10⁴, or for coordinates in the hundreds."""
    grid = Grid(300 * np.random.default_rng(2).random((60, 2)), kernel, 0.01)
    scale = float(grid.prior.max())
    assert worst_error(grid, log_of(grid, 1_500), keep=25, every=31) <= 1e-7 * max(scale, 1)


def test_makes_the_choices_of_the_refactorising_baseline_for_2_000_steps():
    rng = np.random.default_rng(3)
    X, noise, w, beta = rng.random((300, 2)), 0.01, 50, 2.0
    grid = Grid(X, RBF(0.2), noise)
    K, state, where, y = grid.kernel(X, X), GridPosterior.prior(grid), [], []
    for t in range(1, 2_001):
        mean, std = state.predict(grid.points)
        ours = int(np.argmax(mean + beta * std))
        if where:
            L = cholesky(K[np.ix_(where, where)] + noise * np.eye(len(where)), lower=True)
            V = solve_triangular(L, K[where], lower=True)
            mean = V.T @ solve_triangular(L, np.array(y), lower=True)
            std = np.sqrt(np.maximum(1.0 - np.einsum("wn,wn->n", V, V), 0.0))
            assert ours == int(np.argmax(mean + beta * std))
        reward = float(np.sin(6 * X[ours, 0] + t / 50) + np.cos(5 * X[ours, 1] - t / 80) + 0.1 * rng.standard_normal())
        where, y = [*where, ours][-w:], [*y, reward][-w:]
        state = state.observe(observation(grid, t, ours, reward), keep=w)


@pytest.mark.parametrize("noise", [0.01, 1e-4, 1e-9])
@pytest.mark.parametrize("keep", [None, 5])
def test_two_futures_of_one_state_do_not_disturb_each_other(noise, keep):
    """States share a buffer; what is written behind one must never be seen by another."""
    grid = Grid(np.random.default_rng(4).random((40, 2)), RBF(0.2), noise)
    log = log_of(grid, 30)
    for branch in (0, 1, 4, 5, 17, 29):
        past = fold(grid, log[:branch], keep)
        before = bits(past)
        one, other = log_of(grid, 60, seed=5)[branch:], log_of(grid, 60, seed=6)[branch:]
        a, b = past, past
        for x, z in zip(one, other, strict=True):  # in turns, with imagined points between
            a, b = a.observe(x, keep=keep), b.observe(z, keep=keep)
            a.imagine([z.x, x.x])
        assert bits(a) == bits(fold(grid, log[:branch] + one, keep))
        assert bits(b) == bits(fold(grid, log[:branch] + other, keep))
        assert bits(past) == before


@pytest.mark.parametrize("noise", [0.01, 1e-9])
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize(("missing", "keep"), [(0.0, 1), (0.4, 20)])
def test_replay_from_the_last_observations_gives_the_same_bits(noise, standardise, missing, keep):
    grid = Grid(np.random.default_rng(7).random((30, 2)), RBF(0.2), noise, standardise)
    log = log_of(grid, 1_700, missing=missing)
    live = GridPosterior.prior(grid)
    for t, seen in enumerate(log, 1):
        live = live.observe(seen, keep=keep)
        if seen.number in (REFRESH - 1, REFRESH, REFRESH + 1, 1_400) or t == len(log):
            assert bits(live) == bits(fold(grid, log[max(t - keep - REFRESH, 0) : t], keep))


def test_a_long_gap_in_the_numbers_is_no_matter():
    grid = Grid(np.random.default_rng(8).random((30, 2)), RBF(0.2), 0.01)
    numbers = [1, 2, 3, 5_000, 5_001, 10**6, 10**6 + 1, 10**9]
    log = [observation(grid, n, j, 1.0 * j) for j, n in enumerate(numbers)]
    assert bits(fold(grid, log, 3)) == bits(fold(grid, log[-3:], 3))


@pytest.mark.parametrize("noise", [0.01, 1e-4])
@pytest.mark.parametrize("standardise", [False, True])
def test_agrees_with_the_general_posterior(noise, standardise):
    grid = Grid(np.random.default_rng(9).random((50, 2)), Matern(2.5, 0.3), noise, standardise)
    state = fold(grid, log_of(grid, 200, offset=50.0), 20)
    assert len(state) == 20
    elsewhere = np.array(grid.points)  # the same points, but not the grid's own array
    for a, b in zip(state.predict(grid.points), state.predict(elsewhere), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    assert state.units == pytest.approx(state.general.units)
    assert state.information_gain == pytest.approx(state.general.information_gain, rel=1e-8)
    np.testing.assert_allclose(
        state.weights(elsewhere) @ state.general.targets, state.predict(grid.points)[0], atol=1e-8
    )


def test_standardised_rewards_far_from_zero_lose_few_digits():
    """10⁹ + N(0, 1), of which float64 keeps seven digits: the belief is right to five."""
    rng = np.random.default_rng(10)
    grid = Grid(rng.random((50, 2)), RBF(0.2), 0.01, standardise=True)
    log = log_of(grid, 1_000, offset=1e9)
    state = fold(grid, log, 30)
    np.testing.assert_allclose(state.predict(grid.points)[0], state.general.predict(grid.points)[0], atol=1e-5)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("noise", [0.01, 1e-4])
def test_imagined_answers_leave_the_mean_and_shrink_the_variance(standardise, noise):
    grid = Grid(np.random.default_rng(11).random((50, 2)), RBF(0.2), noise, standardise)
    state = fold(grid, log_of(grid, 100, offset=5.0), 20)
    pending = [tuple(grid.points[i].tolist()) for i in (3, 3, 17)]
    imagined = state.imagine(pending)
    np.testing.assert_allclose(imagined.predict(grid.points)[0], state.predict(grid.points)[0], atol=1e-8)
    X = np.vstack([state.observed, pending])
    _, var = dense_posterior(grid.kernel, noise, X, np.zeros(len(X)), grid.points)
    np.testing.assert_allclose(imagined.predict(grid.points)[1] ** 2, var, atol=1e-8)
    assert imagined.units == state.units
    elsewhere = np.array(grid.points)
    np.testing.assert_allclose(imagined.predict(elsewhere)[0], state.predict(grid.points)[0], atol=1e-8)
    assert state.imagine([]) is state


def test_a_window_may_shrink():
    grid = Grid(np.random.default_rng(12).random((30, 2)), RBF(0.2), 0.01)
    log = log_of(grid, 40)
    state = fold(grid, log[:30], 20).observe(log[30], keep=5)
    assert len(state) == 5
    for a, b in zip(state.predict(grid.points), fold(grid, log[26:31], None).predict(grid.points), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_more_candidates_than_are_kept_as_a_matrix(monkeypatch):
    X = np.random.default_rng(13).random((60, 3))
    small = Grid(X, Sum(Linear(), RBF(0.2)), 0.01)
    expected = bits(fold(small, log_of(small, 700), 20))
    monkeypatch.setattr("driftwise.gp.grid.LARGEST_MATRIX", 10)
    large = Grid(X, Sum(Linear(), RBF(0.2)), 0.01)
    assert bits(fold(large, log_of(large, 700), 20)) == expected


@pytest.mark.parametrize("rewards", ["constant", "huge", "huge and constant"])
@pytest.mark.parametrize("noise", [1e-2, 1e-8, 1e-300])
@pytest.mark.parametrize(("standardise", "keep"), [(False, None), (True, 15)])
def test_no_numerical_failure(rewards, noise, standardise, keep):
    rng = np.random.default_rng(14)
    grid = Grid(np.vstack([0.5 + 1e-6 * rng.random((20, 2)), rng.random((10, 2))]), RBF(0.2), noise, standardise)
    y = {"constant": np.full(60, 3.0), "huge": 1e12 * rng.standard_normal(60), "huge and constant": np.full(60, 1e12)}
    log = [observation(grid, t + 1, int(rng.integers(30)), float(y[rewards][t])) for t in range(60)]
    state = fold(grid, log, keep).imagine([log[0].x, log[0].x])
    mean, std = state.predict(grid.points)
    assert np.isfinite(mean).all()
    assert (std >= 0).all()
    assert (std <= np.sqrt(grid.prior)).all()
    assert np.isfinite(state.information_gain)


def test_jitter_is_reported():
    grid = Grid(np.array([[0.5], [0.5 + 1e-12]]), RBF(0.2), 1e-300)  # two that no kernel can tell apart
    state = fold(grid, [observation(grid, t, t % 2, 1.0) for t in range(1, 20)], None)
    assert state.jitter == 1e-10
    assert fold(Grid(grid.points, RBF(0.2), 1e-6), [observation(grid, 1, 0, 1.0)], None).jitter == 0


def test_duplicated_candidates_are_one():
    grid = Grid(np.array([[0.5], [0.5], [0.9]]), RBF(0.2), 0.01)
    assert grid.index((0.5,)) == 0
    mean, std = fold(grid, [observation(grid, 1, 1, 2.0)], None).predict(grid.points)
    assert mean[0] == mean[1]
    assert std[0] == std[1]


def test_bad_input_is_refused():
    grid = Grid(np.array([[0.5], [0.9]]), RBF(0.2), 0.01)
    state = GridPosterior.prior(grid)
    with pytest.raises(InvalidInput, match=r"\(0.7,\) is none of the 2 candidates"):
        state.observe(Observation(1, 1.0, (0.7,), 1.0))
    with pytest.raises(InvalidInput, match="a reward must be finite, got nan"):
        state.observe(Observation(1, 1.0, (0.5,), float("nan")))
    with pytest.raises(InvalidInput, match="noise must be > 0"):
        Grid(grid.points, RBF(0.2), 0.0)


@pytest.mark.parametrize(("noise", "tolerance"), [(0.1, 1e-10), (1e-2, 1e-8), (1e-4, 1e-7), (1e-9, 1e-4)])
def test_the_weights_of_the_observations_slide_along(noise, tolerance):
    """α = A⁻¹K at every candidate against a dense solve, through appends, slides, refreshes and imagined points."""
    grid = Grid(np.random.default_rng(2).random((60, 2)), RBF(0.3), noise)
    log = log_of(grid, REFRESH + 40, missing=0.1)
    state = GridPosterior.prior(grid).weighing()
    for t, seen in enumerate(log, 1):
        state = state.observe(seen, keep=25 if t > 25 else None)
        if t % 50 in (0, 7) or seen.number in (REFRESH - 2, REFRESH + 1):
            X = state.observed
            dense = np.linalg.solve(grid.kernel(X, X) + noise * np.eye(len(X)), grid.kernel(X, grid.points))
            np.testing.assert_allclose(state.weights(grid.points).T, dense, atol=tolerance)
    imagined = state.imagine([tuple(grid.points[3].tolist())])
    np.testing.assert_allclose(imagined.weights(grid.points), imagined.general.weights(grid.points), atol=tolerance)
    tail = fold(grid, log[-25 - REFRESH :], 25, GridPosterior.prior(grid).weighing())
    assert tail.weights(grid.points).tobytes() == state.weights(grid.points).tobytes()


def test_a_copy_of_the_candidates_is_answered_with_the_same_bits_as_themselves():
    grid = Grid(np.random.default_rng(4).random((25, 2)), Matern(2.5, 0.3), noise=0.01)
    state = fold(grid, log_of(grid, 30), keep=20).weighing()
    for ours, again in zip(state.predict(grid.points), state.predict(grid.points.copy()), strict=True):
        assert ours.tobytes() == again.tobytes()
    assert state.weights(grid.points).tobytes() == state.weights(grid.points.copy()).tobytes()
    assert not grid.is_all(grid.points[::-1])
