"""The step that Numba compiles against the one of NumPy: the same but for rounding, and as exact in a replay."""

import numpy as np
import pytest

from driftwise.gp import grid as module
from driftwise.gp.grid import REFRESH, Grid, GridPosterior
from driftwise.gp.kernels import RBF
from driftwise.records import Observation

POINTS = np.random.default_rng(0).random((module.COMPILED_FROM + 1, 2))  # not a multiple of what is read at a time


def log_of(steps: int) -> list[Observation]:
    rng = np.random.default_rng(1)
    often = rng.integers(len(POINTS), size=12)
    where = np.where(rng.random(steps) < 0.4, rng.integers(len(POINTS), size=steps), rng.choice(often, size=steps))
    rewards = rng.standard_normal(steps)
    return [
        Observation(t, float(t), tuple(POINTS[i].tolist()), float(y))
        for t, (i, y) in enumerate(zip(where, rewards, strict=True), 1)
    ]


def fold(grid: Grid, log: list[Observation], keep: int | None) -> list[GridPosterior]:
    states = [GridPosterior.prior(grid)]
    for seen in log:
        states.append(states[-1].observe(seen, keep=keep))
    return states


@pytest.fixture
def without(monkeypatch):
    """A grid that takes the steps of NumPy, whatever is installed."""

    def made(standardise: bool) -> Grid:
        with monkeypatch.context() as patched:
            patched.setattr(module, "compiled_functions", lambda: None)
            grid = Grid(POINTS, RBF(0.2), 0.01, standardise)
            assert grid.compiled is None
        return grid

    return made


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("keep", [None, 30])
def test_the_same_as_without_but_for_rounding(standardise, keep, without):
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    grid = Grid(POINTS, RBF(0.2), 0.01, standardise)
    assert grid.compiled is not None
    log = log_of(REFRESH + 100)
    for ours, theirs in zip(fold(grid, log, keep)[::25], fold(without(standardise), log, keep)[::25], strict=True):
        for a, b in zip(ours.predict(POINTS), theirs.predict(POINTS), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
        assert ours.information_gain == pytest.approx(theirs.information_gain, abs=1e-9)
        assert ours.where.tolist() == theirs.where.tolist()


def test_a_replay_of_the_last_observations_has_the_same_bits():
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    grid, log = Grid(POINTS, RBF(0.2), 0.01), log_of(REFRESH + 300)
    live, again = fold(grid, log, 20)[-1], fold(grid, log[-20 - REFRESH :], 20)[-1]
    assert [a.tobytes() for a in live.predict(POINTS)] == [a.tobytes() for a in again.predict(POINTS)]


def test_two_futures_of_one_state_do_not_disturb_each_other():
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    grid, log = Grid(POINTS, RBF(0.2), 0.01), log_of(80)
    past = fold(grid, log[:40], 15)[-1]
    before = past.mean.tobytes(), past.var.tobytes()
    one, other = past, past
    for a, b in zip(log[40:60], log[60:], strict=True):
        one, other = one.observe(a, keep=15), other.observe(b, keep=15)
    assert one.mean.tobytes() == fold(grid, log[:60], 15)[-1].mean.tobytes()
    assert other.mean.tobytes() == fold(grid, log[:40] + log[60:], 15)[-1].mean.tobytes()
    assert before == (past.mean.tobytes(), past.var.tobytes())


@pytest.mark.parametrize(
    ("n", "noise"), [(module.COMPILED_FROM - 1, 0.01), (module.COMPILED_FROM, 1e-4)], ids=["few candidates", "noise"]
)
def test_where_it_does_not_pay_or_is_not_exact_it_is_not_loaded(n, noise, monkeypatch):
    monkeypatch.setattr(module, "compiled_functions", lambda: pytest.fail("it was loaded"))
    assert Grid(POINTS[:n], RBF(0.2), noise).compiled is None


@pytest.mark.parametrize("standardise", [False, True])
def test_upper_confidence_bounds_have_the_bits_that_numpy_gives_them(standardise):
    """Also where rounding has left a variance below 0 or above that of the prior."""
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    state = fold(Grid(POINTS, RBF(0.2), 0.01, standardise), log_of(60), 20)[-1]
    state.var[:2] = -1e-17, 1.0 + 1e-15
    mean, std = state.predict(POINTS)
    assert state.upper(POINTS, 2).tobytes() == (mean + 2.0 * std).tobytes()
    mean, std = state.predict(POINTS[:5])
    assert state.upper(POINTS[:5], 2).tobytes() == (mean + 2.0 * std).tobytes()
