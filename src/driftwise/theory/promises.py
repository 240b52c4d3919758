"""What is proved for one problem, side by side: both theorems, and the best bounds at their best lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from driftwise.theory.bounds import (
    Bound,
    Problem,
    as_problem,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    window_bound,
)
from driftwise.theory.information import as_gain
from driftwise.theory.schedules import known_budget, unknown_budget
from driftwise.theory.tight import best, drift_aware_bound, tight_restart_bound, tight_window_bound
from driftwise.theory.widths import confidence

STEPS, MOVES = (1.0, 0.5, 0.25), 6  # of the logarithm of λ, and how often each is taken
WORTH = 0.999  # a step is taken if the bound is then less than this part of what it was


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


@dataclass(frozen=True)
class Tightest:
    """A policy with width="mixture", the length and the λ at which its best bound is smallest, and that bound."""

    policy: str
    memory: int  # H or w
    noise: float  # λ
    bound: Bound


TIGHT: dict[str, Callable[[Problem, int], Bound]] = {
    "r-gp-ucb": tight_restart_bound,
    "sw-gp-ucb": tight_window_bound,
    "drift-aware, restarts": drift_aware_bound,
    "drift-aware, window": partial(drift_aware_bound, forget="window"),
}


def tightest(problem: Callable[[float], Problem], *, noise: float | None = None) -> list[Tightest]:
    """The smallest of the best bounds for each policy, of the problem with this λ, or with the best λ if None.

    >>> of = lambda noise: Problem(lambda n: math.log1p(n / noise), horizon=1000, budget=1.0, noise=noise)
    >>> [row.bound.vacuous for row in tightest(of, noise=1.0)]
    [False, False, False, False]
    >>> all(free.bound.total <= row.bound.total for free, row in zip(tightest(of), tightest(of, noise=1.0)))
    True
    """
    made = lru_cache(maxsize=None)(problem)
    if noise is not None:
        return [_at_its_best(policy, made(noise)) for policy in TIGHT]
    return [_with_best_noise(policy, made) for policy in TIGHT]


def _with_best_noise(policy: str, problem: Callable[[float], Problem]) -> Tightest:
    """A search by steps of ten in λ from 1, which become smaller where neither direction is better."""
    found = lru_cache(maxsize=None)(lambda power: _at_its_best(policy, problem(10**power)))
    power = 0.0
    for step in STEPS:
        for _ in range(MOVES):
            better = min((power - step, power + step), key=lambda p: found(p).bound.total)
            if found(better).bound.total >= WORTH * found(power).bound.total:
                break
            power = better
    return found(power)


def _at_its_best(policy: str, problem: Problem) -> Tightest:
    length, bound = best(TIGHT[policy], problem)
    return Tightest(policy, length, problem.noise, bound)


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
    T = as_problem(problem).horizon
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
