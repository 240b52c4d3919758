"""A step of the filters on candidates, against one n×n symmetric rank-one update in place, in one run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import perf_counter

import numpy as np
from scipy.linalg import blas

from driftwise import RBF, Candidates, policy
from driftwise.policies import AnyPolicy
from driftwise.policies.beliefs.grid_filter import BLOCK
from driftwise.records import Ask, Observation

POLICIES = {
    "tv-gp-ucb": {"epsilon": 0.01},
    "ui-gp-ucb": {},
    "smooth-gp-ucb (3/2)": {"nu": 1.5},
    "smooth-gp-ucb (5/2)": {"nu": 2.5},
    "pe-gp-ucb (6 priors)": {},
    "sw-gp-ucb (w = 100)": {"window": 100},
}


def filters(n: int = 1000, rounds: int = 8) -> dict[str, float]:
    """How many rank-one updates a step (choose and update) costs, on average with the foldings counted in.

    All are measured in turns of BLOCK steps, so that each turn has one folding, one after the other, and the median
    turn is taken: what else the machine does at times falls on all alike.
    """
    points = np.random.default_rng(0).random((n, 2))
    turns = {"one rank-one update": _rank_one(n)}
    for label, options in POLICIES.items():
        turns[label] = _player(policy(label.split(" ")[0], Candidates(points), kernel=RBF(0.2), **options))
    for turn in turns.values():
        for _ in range(3):
            turn()
    laps: dict[str, list[float]] = {label: [] for label in turns}
    for _ in range(rounds):
        for label, turn in turns.items():
            laps[label].append(_timed(turn))
    seconds = {label: np.median(lap) / BLOCK for label, lap in laps.items()}
    unit = seconds["one rank-one update"]
    return {"microseconds of one": 1e6 * float(unit)} | {label: float(s / unit) for label, s in seconds.items()}


def _rank_one(n: int) -> Callable[[], None]:
    C, x = np.zeros((n, n), order="F"), np.random.default_rng(1).random(n)

    def turn() -> None:
        for _ in range(BLOCK):
            blas.dsyr(1e-6, x, a=C, lower=1, overwrite_a=1)

    return turn


def _player(made: AnyPolicy) -> Callable[[], None]:
    state, numbers, noise = made.start(), count(1), np.random.default_rng(2)

    def turn() -> None:
        nonlocal state
        for _ in range(BLOCK):
            t = next(numbers)
            x = tuple(made.choose(state, Ask(t, float(t))).tolist())
            state = made.update(
                state, Observation(t, float(t), x, float(np.sin(9 * x[0] + t / 40) + 0.1 * noise.random()))
            )

    return turn


def _timed(turn: Callable[[], None]) -> float:
    start = perf_counter()
    turn()
    return perf_counter() - start


if __name__ == "__main__":
    for label, ratio in filters().items():
        print(f"{label:24} {ratio:8.2f}")
