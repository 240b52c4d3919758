"""Regret as curves, and means over seeds with their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array, Step

RESAMPLES = 100_000  # beyond, an interval's ends no longer move


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


@dataclass(frozen=True)
class Interval:
    """A mean and where it may well lie: numbers, or (T,) where curves were averaged."""

    mean: Array
    low: Array
    high: Array

    def overlaps(self, other: Interval) -> bool:
        """Whether the two have a value in common, anywhere."""
        return bool(np.any((self.low <= other.high) & (other.low <= self.high)))


def student(values: Array, *, level: float = 0.95) -> Interval:
    """mean ± t_{n−1} s/√n over the first axis, the seeds; one seed alone says nothing, and its interval is infinite.

    >>> interval = student(np.array([1.0, 2.0, 3.0]))
    >>> round(float(interval.high), 3)
    4.484
    """
    values, n = _seeds(values, level)
    mean = values.mean(axis=0)
    if n == 1:
        return Interval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    from scipy.stats import t as student_t  # slow to import

    half = student_t.ppf((1 + level) / 2, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def bootstrap(values: Array, *, level: float = 0.95, resamples: int = 2000, seed: int = 0) -> Interval:
    """The mean over the first axis, between quantiles of the means of seeds drawn with replacement."""
    values, _ = _seeds(values, level)
    means = resampled_means(values, resamples=resamples, seed=seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(values.mean(axis=0), low, high)


def resampled_means(values: Array, *, resamples: int = 2000, seed: int = 0) -> Array:
    """The means over the first axis of seeds drawn with replacement: (resamples, …)."""
    shares = _shares(len(values), checks.count("resamples", resamples, most=RESAMPLES), checks.seed("seed", seed))
    return np.tensordot(shares, values, axes=1)


@lru_cache(maxsize=8)
def _shares(n: int, resamples: int, seed: int) -> Array:
    """How much each of n seeds counts in each resample: (resamples, n). A report asks for it a thousand times."""
    rng = np.random.default_rng(seed)
    shares: Array = rng.multinomial(n, np.full(n, 1 / n), size=resamples) / n
    shares.flags.writeable = False
    return shares


def _seeds(values: Array, level: float) -> tuple[Array, int]:
    checks.probability("level", level)
    try:
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iuf" or numbers.ndim == 0 or not np.all(np.abs(numbers) <= checks.LARGEST):
            raise ValueError
    except Exception:  # what NumPy says of odd objects is of many kinds
        raise InvalidInput(
            f"values must be a row for each seed, numbers up to 1e100, got {checks.shown(values)}"
        ) from None
    if not len(numbers):
        raise InvalidInput(f"values must have a row for each seed, at least one, got shape {numbers.shape}")
    return numbers.astype(float), len(numbers)
