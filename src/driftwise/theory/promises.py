"""What is proved for one problem, side by side: both theorems, and the best bounds at their best lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from driftwise.errors import InvalidInput
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


def tightest(problems: Iterable[Problem]) -> list[Tightest]:
    """The smallest of the best bounds for each policy, over problems that differ in λ, and so in γ, alone.

    >>> found = tightest([Problem(lambda n: math.log(1 + n), horizon=1000, budget=1.0, noise=1.0)])
    >>> [t.bound.vacuous for t in found]
    [False, False, False, False]
    """
    made = list(problems)
    if not made:
        raise InvalidInput("problems must be one or more, got none")
    tried = {
        name: [Tightest(name, n, p.noise, b) for p in made for n, b in [best(bound, p)]]
        for name, bound in TIGHT.items()
    }
    return [min(each, key=lambda t: t.bound.total) for each in tried.values()]


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
