"""The best upper bounds that we can prove, for any H or w; `best` finds the length at which one is smallest.

The proofs are in docs/theory.md. They need functions f_1, …, f_T that are fixed before the first step; Theorems 1 and 2
also hold where f_t answers to the noise of earlier steps. Against Theorems 1 and 2 five things are smaller: β
(`widths.MixtureBand`), the sum of the deviations (`tight_spread`), in which no step counts for more than the 2B that it
can lose, the drift term (`restart_drift`, `window_drift`), and the last block, which may be short.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.theory.bounds import Bound, Problem, as_problem, within_horizon
from driftwise.theory.widths import mixture

LENGTHS = 32  # lengths that `best` looks at, in each of two rounds


def tight_spread(n: int, noise: float, gain: float, most: float = 1.0) -> float:
    """Σ_{t ≤ n} min(σ_{t−1}(x_t), c) ≤ n ĥ(γ_n/n), c = `most` ≤ 1: ĥ is the least concave function above min(h, c).

    h(g) = √(λ(e^{2g} − 1)) is the deviation at a point that gains g.

    >>> tight_spread(4, noise=1.0, gain=2 * math.log(1.25))
    2.0
    >>> tight_spread(4, noise=1.0, gain=100.0), tight_spread(4, noise=1.0, gain=100.0, most=0.25)
    (4.0, 1.0)
    """
    n, gain = checks.count("n", n, least=0), checks.nonnegative("gain", gain)
    noise, most = checks.positive("noise", noise), checks.share("most", most)
    share, end = gain / max(n, 1), 0.5 * math.log1p(most**2 / noise)  # h(end) = c
    if share >= end:
        return n * most
    touch = _touch(noise, most)
    if share <= touch:
        return n * _deviation(share, noise)
    low = _deviation(touch, noise)
    return n * (low + (most - low) * (share - touch) / (end - touch))


def restart_drift(interval: int) -> float:
    """max_j √j (H − j): a change after step j of a block moves the means of its H − j later steps by √j at most.

    >>> restart_drift(3)
    2.0
    """
    H = checks.count("interval", interval)
    near = {j for j in (H // 3, H // 3 + 1) if 1 <= j < H}
    return max((math.sqrt(j) * (H - j) for j in near), default=0.0)


def window_drift(window: int) -> float:
    """Σ_{i ≤ w} √i: of a change i observations before it are in the window, one fewer at every step.

    >>> round(window_drift(2), 4)
    2.4142
    """
    w = checks.count("window", window)
    if w <= 10_000:
        return float(np.sqrt(np.arange(1, w + 1)).sum())
    return 2 / 3 * w**1.5 + 0.5 * math.sqrt(w)  # from above: Euler and Maclaurin, less 0.2


def tight_restart_bound(problem: Problem, interval: int) -> Bound:
    """R-GP-UCB with width="mixture":  R(T) ≤ (P_T/√λ) max_j √j (H − j) + 2 β Σσ; P_T may be in sup-norm."""
    H = within_horizon(problem, "interval", interval)
    return _bound(problem, H, in_use=H - 1, drift=restart_drift(H))


def tight_window_bound(problem: Problem, window: int) -> Bound:
    """SW-GP-UCB with width="mixture":  R(T) ≤ (P_T/√λ) Σ_{i ≤ w} √i + 2 β Σσ; P_T may be in sup-norm."""
    w = within_horizon(problem, "window", window)
    return _bound(problem, w, in_use=min(w, problem.horizon - 1), drift=window_drift(w))


def drift_aware_bound(problem: Problem, length: int, *, forget: str = "restart", even: bool = True) -> Bound:
    """drift-aware with width="mixture", whose index knows the drift:  R(T) ≤ 2 (β + D/√λ) Σσ, of order P^⅓ T^⅔.

    `even`: no step moves f by more than ρ = P_T/(T − 1), and D = ρ √(n(n+1)(2n+1)/6) with n observations in use. Else
    the drift V_j of each block is known, D = V_j √n, and Σ V_j ≤ P_T; that is for restarts only. P_T is in sup-norm.
    """
    H = within_horizon(problem, "length", length)
    restarts = checks.one_of("forget", forget, ("restart", "window")) == "restart"
    n = H - 1 if restarts else min(H, problem.horizon - 1)
    if checks.flag("even", even) or not restarts:
        rate = problem.budget / max(problem.horizon - 1, 1)
        wider = rate * math.sqrt(n * (n + 1) * (2 * n + 1) / (6 * problem.noise))  # D/√λ
        beta = _beta(problem, n)
        deviations = _deviations(problem, H, most=min(1.0, problem.B / (beta + wider)))
        return Bound(2 * wider * deviations, 2 * beta * deviations, 2 * problem.B * problem.horizon)
    drift = 2 * tight_spread(H, problem.noise, _gain(problem, H)) * math.sqrt(n / problem.noise) * problem.budget
    return replace(_bound(problem, H, in_use=n, drift=0.0), drift=drift)


def best(bound: Callable[[Problem, int], Bound], problem: Problem) -> tuple[int, Bound]:
    """The length in [1, T] at which a bound is smallest, among lengths a few per cent apart, and the bound there.

    >>> problem = Problem(lambda n: math.log1p(n), horizon=1000, budget=0.0, noise=1.0)
    >>> best(tight_restart_bound, problem)[0]
    1000
    """
    T = as_problem(problem).horizon
    wanted = "a bound of a problem and a length, as tight_restart_bound"
    of_length = checks.like("bound", bound, ("__call__",), wanted)

    @cache
    def found(n: int) -> Bound:
        try:
            return checks.like("what bound gives", of_length(problem, n), ("total",), "a Bound")
        except TypeError as error:  # a function of other arguments
            raise InvalidInput(f"bound must be {wanted}, got {checks.shown(bound)}: {error}") from error

    coarse = _lengths(1, T)
    i = coarse.index(min(coarse, key=lambda n: found(n).total))
    fine = _lengths(coarse[max(i - 1, 0)], coarse[min(i + 1, len(coarse) - 1)])
    n = min(fine, key=lambda n: found(n).total)
    return n, found(n)


def _bound(problem: Problem, n: int, *, in_use: int, drift: float) -> Bound:
    """2 β Σ min(σ, B/β), as no step loses more than 2B; and what a unit of drift costs, P_T times."""
    beta = _beta(problem, in_use)
    return Bound(
        drift=problem.budget * drift / math.sqrt(problem.noise),
        estimation=2 * beta * _deviations(problem, n, most=min(1.0, problem.B / beta)),
        trivial=2 * problem.B * problem.horizon,
    )


def _beta(problem: Problem, n: int) -> float:
    """β with n observations. Every step is an event: the band is about f_t, which is another at every step."""
    delta = problem.delta / problem.horizon
    return mixture(_gain(problem, n), problem.noise, B=problem.B, R=problem.R, delta=delta)


def _deviations(problem: Problem, n: int, *, most: float) -> float:
    """Σ min(σ, c) over all blocks of n steps, of which the last may be shorter."""
    whole, rest = divmod(problem.horizon, n)
    total = whole * tight_spread(n, problem.noise, _gain(problem, n), most)
    return total + tight_spread(rest, problem.noise, _gain(problem, rest), most)


def _gain(problem: Problem, n: int) -> float:
    return problem.gain(n) if n else 0.0


def _deviation(g: float, noise: float) -> float:
    """h(g): the deviation at a point that gains g."""
    return math.sqrt(noise * math.expm1(2 * g))


@lru_cache(maxsize=1024)
def _touch(noise: float, most: float) -> float:
    """Where the chord to (G, c), h(G) = c, is a tangent of h; G itself where h is concave all the way, c² ≤ λ."""
    end = 0.5 * math.log1p(most**2 / noise)
    if most**2 <= noise:
        return end

    def ahead(g: float) -> float:  # of the tangent at g, when it is at G
        h = _deviation(g, noise)
        return h + noise * math.exp(2 * g) / h * (end - g) - most

    low, high = 0.0, 0.5 * math.log(2)  # σ² = λ at the latter: h is concave before
    for _ in range(60):  # tangents are ahead before the touch, and behind after it
        middle = (low + high) / 2
        low, high = (middle, high) if ahead(middle) > 0 else (low, middle)
    return low


def _lengths(low: int, high: int) -> list[int]:
    return np.unique(np.geomspace(low, high, LENGTHS).round().astype(int)).tolist()
