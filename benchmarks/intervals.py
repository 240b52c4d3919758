"""How often a 95% interval holds the figure it is of: `python -m benchmarks.intervals [--runs 4000]`, in a minute.

Regrets of so many seeds are drawn from a law whose mean is known, thousands of times. Printed is the share of the
intervals that hold the mean, or the ratio of two means, and how long they are: the median of (high − low)/mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
from scipy import stats

from driftwise.lab.statistics import Interval, hindsight, interval, jackknife, means_without
from driftwise.records import Array

Law = Callable[[np.random.Generator, tuple[int, int]], Array]
Kind = Callable[[Array], Interval]  # of (seeds, experiments)


def stuck(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A run in five is stuck, and has three times the regret."""
    return rng.lognormal(0, 0.25, shape) * np.where(rng.random(shape) < 0.2, 3, 1)


LAWS: dict[str, tuple[Law, float]] = {  # each with its mean
    "normal, std 0.3 of the mean": (lambda rng, shape: rng.normal(1, 0.3, shape), 1.0),
    "log-normal, σ = 0.25": (lambda rng, shape: rng.lognormal(0, 0.25, shape), float(np.exp(0.25**2 / 2))),
    "log-normal, σ = 0.5": (lambda rng, shape: rng.lognormal(0, 0.5, shape), float(np.exp(0.5**2 / 2))),
    "log-normal, σ = 1": (lambda rng, shape: rng.lognormal(0, 1, shape), float(np.exp(0.5))),
    "gamma, shape 2": (lambda rng, shape: rng.gamma(2, size=shape), 2.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "a run in five stuck": (stuck, float(1.4 * np.exp(0.25**2 / 2))),
}


def student(values: Array) -> Interval:
    return interval(values, signed=True)


def percentile(values: Array) -> Interval:
    """The bootstrap's: the quantiles of the means of seeds drawn with replacement."""
    means = _shares(len(values)) @ values
    return Interval(values.mean(axis=0), *np.quantile(means, [0.025, 0.975], axis=0))


def bca(values: Array) -> Interval:
    """The bootstrap's, corrected for bias and acceleration."""
    mean, means, moved = values.mean(axis=0), _shares(len(values)) @ values, means_without(values)
    bias = stats.norm.ppf(np.clip((means < mean).mean(axis=0), 0.001, 0.999))
    off = moved.mean(axis=0) - moved
    pull = (off**3).sum(axis=0) / np.maximum(6 * ((off**2).sum(axis=0)) ** 1.5, 1e-300)
    ends = []
    for z in stats.norm.ppf([0.025, 0.975]):
        share = stats.norm.cdf(bias + (bias + z) / (1 - pull * (bias + z)))
        rank = np.clip((share * len(means)).astype(int), 0, len(means) - 1)
        ends.append(np.take_along_axis(np.sort(means, axis=0), rank[None], axis=0)[0])
    return Interval(mean, *ends)


def logarithm(values: Array) -> Interval:
    """Ours without its second term: mean × exp(± t e)."""
    mean, moved = values.mean(axis=0), np.log(np.maximum(means_without(values), 1e-300))
    of = jackknife(np.log(mean), [moved], signed=True)
    return Interval(mean, np.exp(of.low), np.exp(of.high))


@lru_cache
def _shares(n: int) -> Array:
    shares: Array = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=1000) / n
    return shares


KINDS: dict[str, Kind] = {
    "percentile bootstrap": percentile,
    "BCa bootstrap": bca,
    "Student's t": student,
    "t on the logarithm": logarithm,
    "ours": interval,
}


def share(found: Interval, truth: float) -> float:
    """Of the experiments whose interval holds the truth."""
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


def of_means(kind: Kind, law: str, *, seeds: int, runs: int) -> tuple[float, float]:
    """Coverage, and the median length of the intervals, of the mean."""
    draw, truth = LAWS[law]
    found = kind(draw(np.random.default_rng(seeds), (seeds, runs)))
    return share(found, truth), float(np.median(found.high - found.low) / truth)


def of_ratios(law: str, *, others: int, seeds: int, runs: int) -> float:
    """Coverage of the ratio of a policy's mean to that of the best of others, all of one law, on the same worlds."""
    draw, _ = LAWS[law]
    rng, held = np.random.default_rng(seeds), 0
    for _ in range(runs):
        shared = draw(rng, (seeds, 1))  # some worlds are hard for everyone
        own = draw(rng, (seeds, 1 + others)) * shared * np.r_[1.0, np.linspace(1, 1.5, others)]
        found = hindsight(own[:, 0], own[:, 1:]).interval
        held += bool(found.low <= 1.0 <= found.high)
    return held / runs


def lines(runs: int, counts: Sequence[int] = (3, 5, 10, 20)) -> Iterator[str]:
    """The table of means, and that of ratios, in Markdown."""
    yield f"| regrets | seeds | {' | '.join(KINDS)} |"
    yield "|---|---|" + "---|" * len(KINDS)
    for law in LAWS:
        for seeds in counts:
            cells = [of_means(kind, law, seeds=seeds, runs=runs) for kind in KINDS.values()]
            yield f"| {law} | {seeds} | {' | '.join(f'{held:.1%}, {wide:.2f}' for held, wide in cells)} |"
    yield ""
    yield "| ratio to the best of | regrets | " + " | ".join(f"{seeds} seeds" for seeds in counts) + " |"
    yield "|---|---|" + "---|" * len(counts)
    for others in (1, 3):
        for law in ("log-normal, σ = 0.25", "log-normal, σ = 1", "exponential"):
            of = partial(of_ratios, law, others=others, runs=max(runs // 4, 1))
            yield f"| {others} | {law} | {' | '.join(f'{of(seeds=seeds):.1%}' for seeds in counts)} |"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="experiments of each kind (4000)")
    for line in lines(parser.parse_args(given).runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
