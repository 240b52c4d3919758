"""Statistics of runs: the measures of one run, means over seeds with intervals, tests, and ratios over a suite.

r_t = max f_t − f_t(x_t) is the regret of step t, R(t) = Σ_{s≤t} r_s. Everything here is a function of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array, Step

LEVEL = 0.05  # of significance
SPAN = 10  # steps over which regret is averaged to see whether it is back
NEAR = 0.05  # of the optimum: as good as back, however low regret was before
SURE = 0.95  # how often an interval shall hold its figure
LEAST_SEEDS = 3  # of an interval: with two, t is 12.7
INTERVAL = "Intervals are 95%: Student's t on the logarithm, with the jackknife over seeds."  # under every table


# --- of one run ------------------------------------------------------------------------------------------------------


def regrets(steps: Iterable[Step]) -> Array:
    """r_t = max f_t − f_t(x_t): (T,)."""
    return np.array([step.regret for step in checks.each("steps", steps, _step, "list(run(policy, world, 100))")])


def cumulative_regret(steps: Iterable[Step]) -> Array:
    """R(t) = Σ_{s≤t} r_s: (T,)."""
    return np.cumsum(regrets(steps))


def mean_regret(steps: Iterable[Step]) -> Array:
    """R(t)/t: (T,)."""
    total = cumulative_regret(steps)
    return total / np.arange(1, len(total) + 1)


def _step(name: str, given: Any) -> Step:
    step: Step = checks.like(name, given, ("regret",), "a Step of a run")
    return step


def integrated(regret: ArrayLike, at: ArrayLike) -> float:
    """∫ r dt = Σ_t r_t (at_{t+1} − at_t): a setting is in force until the next one is chosen.

    The last lasts as long as the one before it; a single one for one unit. With at = t this is R(T).

    >>> integrated([1.0, 2.0, 4.0], [0.0, 10.0, 11.0])
    16.0
    """
    regret, at = _same_length("regret", regret, "at", at)
    gaps = np.diff(at)
    if (gaps < 0).any():
        raise InvalidInput("at must not run backwards; sort the steps by their time")
    held = np.append(gaps, gaps[-1] if len(gaps) else 1.0)
    return float(regret @ held)


def share_within(regret: ArrayLike, best: ArrayLike, percent: float) -> float:
    """The share of steps with r_t ≤ percent/100 · |max f_t|.

    >>> share_within([0.0, 0.2, 0.04], [1.0, 1.0, -1.0], percent=5)
    0.6666666666666666
    """
    regret, best = _same_length("regret", regret, "best", best)
    return float(np.mean(regret <= checks.nonnegative("percent", percent) / 100 * np.abs(best)))


def recovery(
    regret: ArrayLike, best: ArrayLike, changes: Sequence[int], *, span: int = SPAN, near: float = NEAR
) -> tuple[int | None, ...]:
    """For each change, after which step τ the world is another: how many steps until regret is back.

    The least n ≥ 0 for which the mean of r_{τ+n+1} … r_{τ+n+span} is at most the mean of r over the `span` steps up
    to τ, or at most `near` times the mean of |max f_t| over those same later steps. None where there is no such n
    before the next change, or before the end. Fewer steps than `span` before τ are averaged as they are; if the time
    until the next change is shorter than `span`, there is no answer.

    >>> recovery([0, 0, 0, 5, 5, 0, 0, 0], [1.0] * 8, [3], span=2)
    (2,)
    """
    regret, best = _same_length("regret", regret, "best", np.abs(best))
    ends = [*changes, len(regret)]
    if list(changes) != sorted(set(changes)) or (changes and not 1 <= changes[0] <= changes[-1] < len(regret)):
        raise InvalidInput(f"changes must increase, from 1 to {len(regret) - 1} at most, got {list(changes)}")
    found: list[int | None] = []
    for j, change in enumerate(changes):
        since = max(change - span, changes[j - 1] if j else 0)
        before = regret[since:change].mean()
        after, tops = _sliding_mean(regret[change : ends[j + 1]], span), _sliding_mean(best[change : ends[j + 1]], span)
        back = np.flatnonzero(after <= np.maximum(before, near * tops))
        found.append(int(back[0]) if len(back) else None)
    return tuple(found)


def _sliding_mean(values: Array, span: int) -> Array:
    if len(values) < span:
        return np.empty(0)
    return np.lib.stride_tricks.sliding_window_view(values, span).mean(axis=1)


# --- means over seeds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A figure and where it may well lie: numbers, or (T,) where curves were averaged."""

    mean: Array
    low: Array
    high: Array

    def overlaps(self, other: Interval) -> bool:
        """Whether the two have a value in common, anywhere."""
        return bool(np.any((self.low <= other.high) & (other.low <= self.high)))

    @property
    def known(self) -> bool:
        """Whether it has ends: too few seeds say nothing."""
        return bool(np.all(np.isfinite(self.low) & np.isfinite(self.high)))

    def written(self, form: str = ".4g", dash: str = " – ") -> str:
        """Its ends in a table."""
        return f"{self.low:{form}}{dash}{self.high:{form}}" if self.known else f"below {LEAST_SEEDS} seeds: none"

    def band(self) -> tuple[Array, Array]:
        """What a picture shows of it: nothing where it has no ends, and 0 to twice the highest mean at most."""
        top, known = 2 * np.max(self.mean), np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.maximum(self.low, np.minimum(self.mean, 0.0)), np.minimum(self.high, np.maximum(self.mean, top))
        return np.where(known, low, self.mean), np.where(known, high, self.mean)


def interval(values: ArrayLike, *, signed: bool = False) -> Interval:
    """The 95% interval of the mean over the first axis, the seeds: that of `jackknife`.

    `signed` values, such as differences, may have either sign: theirs is mean ± t s/√n.

    >>> found = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> found.low.round(2).item(), found.high.round(2).item()
    (1.25, 7.22)
    >>> found = interval([-1.0, 0.0, 1.0, 2.0, 3.0], signed=True)
    >>> found.low.round(2).item(), found.high.round(2).item()
    (-0.96, 2.96)
    """
    numbers = checks.numbers(values)
    if numbers is None or numbers.ndim == 0 or not np.all(np.abs(numbers) <= checks.LARGEST):
        raise InvalidInput(f"values must be rows of numbers up to 1e100, got {checks.shown(values)}")
    if not len(numbers):
        raise InvalidInput(f"values must have a row for each seed, at least one, got shape {numbers.shape}")
    return jackknife(numbers.mean(axis=0), [means_without(numbers)], signed=signed)


def means_without(values: Array) -> Array:
    """The means over the first axis without each seed in turn: (seeds, …); of one seed alone, that of itself."""
    return (values.sum(axis=0) - values) / (len(values) - 1) if len(values) > 1 else values


def jackknife(whole: ArrayLike, without: Sequence[Array], *, signed: bool = False) -> Interval:
    """The 95% interval of any figure of seeds, by Student's t on its logarithm: what every table and picture shows.

    `whole` is the figure on all seeds, and each of `without`, (seeds, …), what it is without each seed in turn; there
    is one for each case where cases have seeds of their own, and the degrees of freedom are Welch's. With the standard
    error e of the logarithm and h = t e, the interval is the figure times and over exp(h + h²/2). The second term was
    chosen by measurement (`benchmarks/intervals.py`): regrets are skewed to the right, and where the mean of a few of
    them is too low its error is too low as well. A figure that is `signed`, or not above 0 on some of these seeds, has
    no logarithm: its interval is ± t e of the figure itself, and may reach below 0. Fewer than 3 seeds of a case say
    nothing, and neither does a figure that is infinite: then the ends are infinite.
    """
    figure, groups = np.asarray(whole, dtype=float), [np.asarray(group, dtype=float) for group in without]
    sure = np.isfinite(figure) & np.all([np.isfinite(g).all(axis=0) for g in groups], axis=0)
    if min(map(len, groups)) < LEAST_SEEDS or not sure.any():
        return Interval(figure[()], np.full_like(figure, -np.inf)[()], np.full_like(figure, np.inf)[()])
    positive = (not signed) & (figure > 0) & np.all([(g > 0).all(axis=0) for g in groups], axis=0)
    with np.errstate(all="ignore"):
        h = np.where(positive, _half_width([np.log(g) for g in groups]), 0.0)
        factor, half = np.exp(h + h * h / 2), _half_width(groups)
        low = np.where(positive, figure / factor, figure - half)
        high = np.where(positive, figure * factor, figure + half)
    return Interval(figure[()], np.where(sure, low, -np.inf)[()], np.where(sure, high, np.inf)[()])


def _half_width(without: Sequence[Array]) -> Array:
    """t e: e² = Σ v with v = (n − 1)/n Σ (θ_{−i} − θ̄)² a case, t with (Σ v)²/Σ (v²/(n − 1)) degrees of freedom."""
    parts = np.array([(len(g) - 1) / len(g) * ((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in without])
    freedom = np.array([len(g) - 1.0 for g in without]).reshape(-1, *[1] * (parts.ndim - 1))
    weights = parts / np.maximum(parts.sum(axis=0), np.finfo(float).tiny)
    degrees = 1 / np.maximum((weights**2 / freedom).sum(axis=0), 1 / freedom.sum())
    half: Array = stats.t.ppf((1 + SURE) / 2, degrees) * np.sqrt(parts.sum(axis=0))
    return half


# --- of several runs -------------------------------------------------------------------------------------------------


def signed_rank(first: ArrayLike, second: ArrayLike) -> float:
    """Wilcoxon's signed-rank test of first − second, seed by seed, two-sided: the p-value.

    Equal pairs count for neither side (Pratt: they keep their ranks); with none but such, p = 1.

    >>> signed_rank([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    first, second = _same_length("first", first, "second", second)
    difference = first - second
    return float(stats.wilcoxon(difference, zero_method="pratt").pvalue) if difference.any() else 1.0


def holm(p: ArrayLike) -> Array:
    """Holm's adjusted p-values: p̃_(i) = max_{j≤i} min(1, (m − j + 1) p_(j)). Reject where p̃ ≤ level.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=float)
    order = np.argsort(given, kind="stable")
    stepped = np.minimum(given[order] * np.arange(len(given), 0, -1), 1.0)
    adjusted = np.empty_like(given)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def fewest_seeds(policies: int, *, level: float = LEVEL) -> int:
    """The number of seeds below which `verdict` cannot find any policy worse than the best, whatever their regret.

    On n seeds the signed-rank test has p ≥ 2/2ⁿ, and Holm's correction multiplies the least p by the number of
    comparisons, policies − 1.

    >>> fewest_seeds(2), fewest_seeds(3), fewest_seeds(20)
    (6, 7, 10)
    """
    comparisons = max(checks.count("policies", policies) - 1, 1)
    return math.ceil(1 + math.log2(comparisons / checks.probability("level", level)))


@dataclass(frozen=True)
class Verdict:
    """Which policy has the least mean, which others are not significantly worse, and the adjusted p-values."""

    winner: int
    level_with: NDArray[np.bool_]  # (policies,): the winner itself, and those not significantly worse
    p: Array  # (policies,): against the winner, Holm-adjusted over all the others; 1 for the winner


def verdict(values: ArrayLike, *, level: float = LEVEL) -> Verdict:
    """Of `values`, (seeds, policies), lower is better; columns are compared on the same seeds."""
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or not table.size:
        raise InvalidInput(f"values must have a row for each seed and a column for each policy, got {table.shape}")
    winner = int(np.argmin(table.mean(axis=0)))
    others = [j for j in range(table.shape[1]) if j != winner]
    p = np.ones(table.shape[1])
    p[others] = holm([signed_rank(table[:, j], table[:, winner]) for j in others])
    return Verdict(winner, p > checks.probability("level", level), p)


# --- of a suite ------------------------------------------------------------------------------------------------------


def ratio_to_best(means: ArrayLike, *, fixed: Sequence[int] | None = None) -> Array:
    """Mean regret over that of the best policy in hindsight, case by case: (cases, policies).

    "Best" is among the columns in `fixed`, all by default; others may then have ratios below 1. Where the best is 0, a
    policy that has 0 too has ratio 1, and others ∞. NaN stands for what was not run.

    >>> ratio_to_best([[2.0, 4.0], [3.0, 1.5]]).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    table = np.atleast_2d(np.asarray(means, dtype=float))
    among = table if fixed is None else table[:, list(fixed)]
    best = np.min(np.where(np.isnan(among), np.inf, among), axis=1, keepdims=True)
    best = np.where(np.isinf(best), np.nan, best)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = table / best
    return np.where((table == 0) & (best == 0), 1.0, ratio)


@dataclass(frozen=True)
class Hindsight:
    """One policy beside the best of others, picked when all was over: mean regret over that one's."""

    best: int  # of the others, on all seeds
    ratio: float
    without: Array  # (seeds,): the ratio without each seed in turn

    @property
    def interval(self) -> Interval:
        return jackknife(self.ratio, [self.without])


def hindsight(ours: ArrayLike, others: ArrayLike) -> Hindsight:
    """`ours`, (seeds,), beside the best column of `others`, (seeds, policies), on the same seeds.

    The best is picked anew whenever a seed is left out: who is best is chance, too.

    >>> found = hindsight([1.0, 3.0], [[2.0, 1.0], [2.0, 9.0]])
    >>> found.best, found.ratio
    (0, 1.0)
    """
    one, many = np.asarray(ours, dtype=float), np.asarray(others, dtype=float)
    if one.ndim != 1 or many.ndim != 2 or not many.size or len(one) != len(many):
        raise InvalidInput(f"ours and others must have the same seeds, and one at least, got {one.shape}, {many.shape}")
    table, fixed = np.column_stack([many, one]), range(many.shape[1])
    whole = table.mean(axis=0)
    ratio = float(ratio_to_best(whole, fixed=fixed)[0, -1])
    return Hindsight(int(np.argmin(whole[:-1])), ratio, ratio_to_best(means_without(table), fixed=fixed)[:, -1])


@dataclass(frozen=True)
class Slope:
    """y ≈ e^a x^slope, by least squares in logarithms, with the slope's standard error (infinite for two points)."""

    slope: float
    error: float
    points: int


def loglog_slope(x: ArrayLike, y: ArrayLike) -> Slope:
    """The exponent of y in x: of R(T) in T, or of R(T) in P_T. Pairs that are not both positive are left out.

    >>> found = loglog_slope([1, 2, 4, 8], [3, 6, 12, 24])
    >>> round(found.slope, 6)
    1.0
    """
    x, y = _same_length("x", x, "y", y)
    used = (x > 0) & (y > 0)
    if not used.any() or np.ptp(x[used]) == 0:
        raise InvalidInput("a slope needs two different positive x at least, each with a positive y")
    u, v, n = np.log(x[used]), np.log(y[used]), int(used.sum())
    u = u - u.mean()
    slope = float(u @ v / (u @ u))
    residual = v - v.mean() - slope * u
    error = math.sqrt(residual @ residual / (n - 2) / (u @ u)) if n > 2 else math.inf
    return Slope(slope, error, n)


def thin(n: int, most: int) -> NDArray[np.intp]:
    """At most `most` of the indices 0 … n − 1, the first and the last among them: a drawn curve needs no more.

    >>> thin(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _same_length(a: str, first: ArrayLike, b: str, second: ArrayLike) -> tuple[Array, Array]:
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.ndim != 1 or one.shape != two.shape or not len(one):
        raise InvalidInput(f"{a} and {b} must be as long as each other and not empty, got {one.shape} and {two.shape}")
    return one, two
