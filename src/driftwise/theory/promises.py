"""What the theorems promise for one problem, side by side: both policies, with P_T known and unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array
from driftwise.theory.bounds import (
    Bound,
    Problem,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    window_bound,
)
from driftwise.theory.information import as_gain
from driftwise.theory.schedules import known_budget, unknown_budget
from driftwise.theory.widths import confidence

DIMENSIONS, POINTS = 1000, 10_000  # of which γ is computed: a table of 80 MB at most


@dataclass(frozen=True)
class Promise:
    """A policy, whether it knows P_T, how long it then remembers, and what that gives."""

    policy: str
    budget_known: bool
    memory: int  # H or w
    gain: float  # γ of the memory
    beta: float  # at full memory
    bound: Bound  # Theorem 1 or 2
    sharp: Bound  # the same with ½√(n/λ) in place of ξ_n


def promises(problem: Problem, *, estimate: Callable[[int], float] | None = None) -> list[Promise]:
    """R-GP-UCB and SW-GP-UCB with the memory of Remark (2), which knows P_T, and of Remark (3), which does not.

    A bound needs γ from above, a memory does not: `estimate` is the γ that H and w follow from, in policies
    `MaximumGain` itself, from below; the problem's own where it is not given.

    >>> for p in promises(Problem(lambda n: math.log(1 + n), horizon=100, budget=1.0)):
    ...     print(p.policy, p.budget_known, p.memory, p.bound.vacuous)
    r-gp-ucb True 15 True
    r-gp-ucb False 15 True
    sw-gp-ucb True 15 True
    sw-gp-ucb False 15 True
    """
    if not isinstance(problem, Problem):
        raise InvalidInput(f"problem must be a Problem(gain, horizon, budget), got {checks.shown(problem)}")
    T = problem.horizon
    gamma = (problem.gain if estimate is None else as_gain("estimate", estimate))(T)
    memories = {True: known_budget(gamma, T, problem.budget), False: unknown_budget(gamma, T)}
    return [
        _promise(problem, policy, known, n) for policy in ("r-gp-ucb", "sw-gp-ucb") for known, n in memories.items()
    ]


def _promise(problem: Problem, policy: str, known: bool, n: int) -> Promise:
    restarts = policy == "r-gp-ucb"
    unions = math.ceil(problem.horizon / n) if restarts else problem.horizon
    gain = problem.gain(n)
    return Promise(
        policy=policy,
        budget_known=known,
        memory=n,
        gain=gain,
        beta=confidence(gain, problem.noise, B=problem.B, R=problem.R, delta=problem.delta / unions),
        bound=(restart_bound if restarts else window_bound)(problem, n),
        sharp=(sharp_restart_bound if restarts else sharp_window_bound)(problem, n),
    )


def cube(dim: int, n: int) -> Array:
    """About n points spread over [0, 1]^dim, on which γ is computed: (n, dim).

    >>> cube(1, 3).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    n = checks.count("points", n, least=2, most=POINTS)
    if checks.count("dim", dim, most=DIMENSIONS) == 1:
        return np.linspace(0.0, 1.0, n)[:, None]
    from scipy.stats import qmc  # slow to import

    spread: Array = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(0)).random_base2((n - 1).bit_length())
    return spread[:n]
