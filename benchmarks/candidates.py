"""1,000 candidates: SW-GP-UCB against refactorising at every step, as a careful user would write it, and the floor.

The floor is the time to read the kernel rows of the window, (w, n), once; BLAS's dot product does so as fast as any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, cholesky, solve_triangular

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from benchmarks.worlds import Drifting
from driftwise.gp import grid
from driftwise.policies import AnyPolicy
from driftwise.records import Array, Ask, Observation

CANDIDATES, STEPS, LONG, BETA = 1000, 2000, 20_000, 2.0
KERNEL = dw.RBF(0.2)
TARGETS = {100: 12.0, 200: 20.0}
ABOVE_FLOOR = {False: 4.0, True: 2.0}  # compiled or not: at most so many times the floor
ACCURACY = {1e-2: 1e-7, 1e-4: 1e-7, 1e-6: 1e-5}


@dataclass(frozen=True, eq=False)
class Refactorise:
    """The kernel matrix is computed once; every step factorises the window and solves for all candidates."""

    K: Array  # (n, n)
    noise: float
    window: int

    def posterior(self, where: Array, y: Array) -> tuple[Array, Array]:
        rows = self.K[where]
        A = rows[:, where]
        A.flat[:: len(A) + 1] += self.noise
        L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        V = solve_triangular(L, rows, lower=True, check_finite=False)
        z = solve_triangular(L, y, lower=True, check_finite=False)
        return z @ V, 1.0 - np.einsum("wn,wn->n", V, V)

    def choose(self, where: list[int], y: list[float]) -> int:
        mean, var = self.posterior(np.array(where[-self.window :], dtype=int), np.array(y[-self.window :]))
        return int(np.argmax(mean + BETA * np.sqrt(np.maximum(var, 0.0))))


@dataclass(frozen=True)
class Race:
    """Median seconds of a step, and of reading the window's kernel rows once; and how many choices were the same."""

    ours: float
    theirs: float
    floor: float
    equal: int
    distinct: float  # candidates in a window


def run() -> Iterator[Result]:
    for compiled in (False, True) if grid.compiled_functions() else (False,):
        with using(compiled):
            for window, target in TARGETS.items():
                yield from _raced(window, target, compiled)
    with using(False):
        yield from _small_noise()


def _raced(window: int, target: float, compiled: bool) -> Iterator[Result]:
    how = "compiled" if compiled else "NumPy and SciPy"
    raced, most = race(window, noise=0.01), ABOVE_FLOOR[compiled]
    ours, ratio, above = duration(raced.ours), raced.theirs / raced.ours, raced.ours / raced.floor
    what, floor = f"step on 1,000 candidates, window {window}, noise 0.01, {how}", duration(raced.floor)
    yield Result(what, ours, f"{duration(raced.theirs)} (refactorise)", ratio, f"≥ {target:.0f}×", ratio >= target)
    yield Result("… above the floor", ours, f"{floor} (kernel rows read once)", above, f"≤ {most:.0f}×", above <= most)
    yield Result("… the same choices", f"{raced.equal} of {STEPS}", target="all", met=raced.equal == STEPS)
    raced, what = race(window, noise=0.01, repeats=False), "… where no candidate is repeated"
    shown = f"{duration(raced.theirs)} (refactorise), {duration(raced.floor)} (floor)"
    yield Result(what, duration(raced.ours), shown, raced.theirs / raced.ours)


def _small_noise() -> Iterator[Result]:
    for noise, allowed in ACCURACY.items():
        if noise < 0.01:
            raced = race(100, noise=noise)
            what, theirs = f"step on 1,000 candidates, window 100, noise {noise:.0e}", duration(raced.theirs)
            yield Result(what, duration(raced.ours), f"{theirs} (refactorise)", raced.theirs / raced.ours)
        mean, var = errors(100, noise=noise)
        yield Result(
            what=f"… error against a dense solve over {LONG:,} steps, noise {noise:.0e}",
            ours=f"mean {mean:.0e}, variance {var:.0e}",
            target=f"≤ {allowed:.0e}",
            met=max(mean, var) <= allowed,
        )


@contextmanager
def using(compiled: bool) -> Iterator[None]:
    """Grids that are made here take compiled steps, or those of NumPy whatever is installed."""
    given = grid.compiled_functions
    if not compiled:
        grid.compiled_functions = lambda: None  # type: ignore[assignment]
    try:
        yield
    finally:
        grid.compiled_functions = given


def race(window: int, *, noise: float, repeats: bool = True, block: int = 50) -> Race:
    """Alternating blocks of steps. Without `repeats` all candidates are observed in turn, whatever is chosen."""
    policy, points, drifting = setting(window, noise)
    world = drifting.on(points)
    theirs = Refactorise(KERNEL(points, points), noise, window)
    index = {tuple(x): i for i, x in enumerate(points.tolist())}
    state, where, y, equal, distinct = policy.start(), [], [], 0, []
    our_time, their_time, floor = Stopwatch(), Stopwatch(), Stopwatch()
    for first in range(1, STEPS + 1, block):
        full = first > window  # only full windows are timed
        chosen, drawn = [], [world.values(t) for t in range(first, first + block)]  # the world is not what is timed
        for t, rewards in enumerate(drawn, start=first):

            def step(t: int = t, state: Any = state, rewards: Array = rewards) -> tuple[Any, int, int]:
                x = tuple(policy.choose(state, Ask(t, float(t))).tolist())
                i = index[x]
                told = i if repeats else t % CANDIDATES
                seen = Observation(t, float(t), x if repeats else policy.space.coordinates[told], rewards.item(told))
                return policy.update(state, seen), i, told

            state, i, told = (our_time if full else Stopwatch())(step)
            chosen.append((i, told, rewards.item(told)))
        distinct.append(len(set(state.where.tolist())))
        rows = theirs.K[state.where].ravel()
        for i, told, reward in chosen:
            watch = their_time if full else Stopwatch()
            equal += watch(theirs.choose, where, y) == i
            where.append(told)
            y.append(reward)
        for _ in range(block):
            floor(blas.ddot, rows, rows)
    return Race(our_time.median, their_time.median, floor.median, equal, float(np.median(distinct)))


def errors(window: int, *, noise: float) -> tuple[float, float]:
    """The largest errors of mean and variance at any candidate, looked at about 250 times."""
    policy, points, world = setting(window, noise)
    dense = Refactorise(KERNEL(points, points), noise, window)
    state, worst = policy.start(), np.zeros(2)
    for t in range(1, LONG + 1):
        x = policy.choose(state, Ask(t, float(t)))
        state = policy.update(state, Observation(t, float(t), tuple(x.tolist()), world.observe(t, x)))
        if t % 97 == 0 or t % 512 == 511:  # the second: just before everything is computed afresh
            mean, var = dense.posterior(state.where, state.y)
            worst = np.maximum(worst, [np.abs(mean - state.mean[0]).max(), np.abs(var - state.var).max()])
    return float(worst[0]), float(worst[1])


def setting(window: int, noise: float) -> tuple[AnyPolicy, Array, Drifting]:
    points = np.random.default_rng(0).random((CANDIDATES, 2))
    space = dw.Candidates(points)
    policy = dw.policy("sw-gp-ucb", space, window=window, kernel=KERNEL, noise=noise, width=BETA)
    return policy, points, Drifting.of(KERNEL, dim=2)
