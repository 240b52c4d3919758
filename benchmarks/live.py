"""Is a candidate judged rightly while the world drifts? `python -m benchmarks.live [--runs 1000] [--readings 10000]`.

All runs at once. A reading has noise of standard deviation 1 about a level that may move; before each trial there are
30 readings of the incumbent. `worse` and `better` are decisions at any of the readings, at 5% each.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import math  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import dataclass  # noqa: E402

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from driftwise.live.effect import Comparison, Sums  # noqa: E402
from driftwise.records import Array  # noqa: E402

WORLDS = ("still", "sine", "walk", "log-normal", "t3", "noise that doubles")
ALPHA, BEFORE, PERIOD, STEP = 0.05, 30, 200, 0.1
AGAINST = math.log(1 / ALPHA)


@dataclass(frozen=True)
class World:
    """What the incumbent gives, reading by reading: (runs,) each, with the noise that is in it."""

    name: str
    runs: int
    readings: int
    seed: int

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        rng = np.random.default_rng([self.seed, *map(ord, self.name)])
        phase, level = rng.random(self.runs), np.zeros(self.runs)
        for t in range(BEFORE + self.readings):
            noise = self._noise(rng) * (2 if self.name == "noise that doubles" and t > self.readings / 2 else 1)
            if self.name == "sine":
                level = 3 * np.sin(2 * np.pi * (t / PERIOD + phase))
            elif self.name == "walk":
                level = level + STEP * rng.standard_normal(self.runs)
            yield level + noise, noise

    def _noise(self, rng: np.random.Generator) -> Array:
        if self.name == "log-normal":
            return (rng.lognormal(size=self.runs) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
        return rng.standard_t(3, self.runs) / math.sqrt(3) if self.name == "t3" else rng.standard_normal(self.runs)


@dataclass
class Verdicts:
    """The reading at which each run decided; 0 if it did not. And the trials as they ended."""

    worse: Array
    better: Array
    trial: Comparison


def trials(world: World, *, effect: float = 0.0, share: float = 0.5, noisier: bool = False) -> Verdicts:
    """All runs of a world. With `noisier` the candidate has twice the noise."""
    roles = np.random.default_rng([world.seed, 1])
    readings = iter(world)
    before = np.array([next(readings)[0] for _ in range(BEFORE)])
    trial = Comparison.of(before.mean(0), before.std(0, ddof=1))
    found = Verdicts(np.zeros(world.runs), np.zeros(world.runs), trial)
    for n, (y, noise) in enumerate(readings, 1):
        role = (roles.random(world.runs) < share) * 1.0
        found.trial = found.trial.after(role, share, y + role * (effect + noisier * noise))
        for when, side in ((found.worse, -1.0), (found.better, 1.0)):
            when[(when == 0) & (found.trial.evidence(0.0, side=side) >= AGAINST)] = n
    return found


def before_and_after(world: World) -> tuple[float, float]:
    """The negative control: the first half is the incumbent's, the second the candidate's, compared once at the end."""
    y = np.array([each for each, _ in world])[BEFORE:]
    half = len(y) // 2
    z = stats.ttest_ind(y[half:], y[:half], equal_var=False).statistic
    return float((z < stats.norm.ppf(ALPHA)).mean()), float((z > stats.norm.ppf(1 - ALPHA)).mean())


def widths(world: World) -> tuple[float, float]:
    """The median width of the interval after all readings, with forecasts and with the mean of what was before."""
    roles = np.random.default_rng([world.seed, 2])
    readings = iter(world)
    before = np.array([next(readings)[0] for _ in range(BEFORE)])
    trial, plain = Comparison.of(before.mean(0), before.std(0, ddof=1)), Sums()
    mean, count = before.mean(0), BEFORE
    for y, _ in readings:
        role = (roles.random(world.runs) < 0.5) * 1.0
        trial, plain = trial.after(role, 0.5, y), plain.after(role, 0.5, y - mean)
        count += 1
        mean = mean + (y - mean) / count

    def median(sums: Sums) -> float:
        return float(np.median([np.ptp(each.interval(eta, ALPHA)) for each, eta in _one_by_one(sums, trial.eta)]))

    return median(trial.sums), median(plain)


def _one_by_one(sums: Sums, etas: Array) -> Iterator[tuple[Sums, float]]:
    for i, eta in enumerate(etas):
        numbers = [float(np.broadcast_to(each, etas.shape)[i]) for each in sums[:4]]
        parts = [tuple(float(np.broadcast_to(c, etas.shape)[i]) for c in each) for each in sums[4:]]
        yield Sums(*numbers, *parts), float(eta)


def limit(wrong: float, runs: int) -> float:
    """The upper 95% limit of a share (Clopper and Pearson)."""
    k = round(wrong * runs)
    return 1.0 if k == runs else float(stats.beta.ppf(0.95, k + 1, runs - k))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--readings", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=2027)
    given = parser.parse_args()
    runs = given.runs

    def world(name: str, readings: int = given.readings) -> World:
        return World(name, runs, readings, given.seed)

    print(f"candidate = incumbent, {given.readings:,} readings, {runs:,} runs\n")
    print("| world | share | worse | limit | better | limit | before/after: worse | better |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for share, noisier in ((0.5, False), (0.1, False), (0.1, True)):
        for name in WORLDS if not noisier else WORLDS[:1]:
            found = trials(world(name), share=share, noisier=noisier)
            wrong = [float((when > 0).mean()) for when in (found.worse, found.better)]
            cells = [f"{each:.1%} | {limit(each, runs):.1%}" for each in wrong]
            control = [f"{each:.0%}" for each in before_and_after(world(name))] if share == 0.5 else ["", ""]
            told = f"{name}, candidate's noise twice" if noisier else name
            print(f"| {told} | {share} | {' | '.join(cells)} | {' | '.join(control)} |", flush=True)

    print("\n| world | worse by 1 sd: median readings, 90% | better by .5 sd: found within 2,000, median |")
    print("|---|---|---|", flush=True)
    for name in WORLDS:
        worse, better = trials(world(name, 600), effect=-1.0).worse, trials(world(name, 2000), effect=0.5).better
        when = np.where(worse == 0, np.inf, worse)
        better_at = np.where(better == 0, np.inf, better)
        rolled = f"{np.median(when):.0f}, {np.quantile(when, 0.9, method='higher'):.0f}"
        print(f"| {name} | {rolled} | {(better > 0).mean():.1%}, {np.median(better_at):.0f} |", flush=True)

    print("\n| world | readings | width with forecasts | without | ratio |\n|---|---|---|---|---|", flush=True)
    for name in ("still", "sine", "walk"):
        for readings in (300, 2000):
            ours, plain = widths(World(name, min(runs, 200), readings, given.seed))
            print(f"| {name} | {readings:,} | {ours:.3f} | {plain:.3f} | {ours / plain:.2f} |", flush=True)


if __name__ == "__main__":
    main()
