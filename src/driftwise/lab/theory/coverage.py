"""How often the bands of Lemmas 1 and 2, and the one that knows of drift, are left by the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution

from driftwise.environments import Abrupt, Drift, Gaussian, Still, Whitened, World
from driftwise.environments.drift import Draw
from driftwise.lab.theory.settings import Settings, Turning, smooth
from driftwise.policies import policy
from driftwise.records import Array, Ask, Observation
from driftwise.theory.bands import drift_aware_band, paper_band, relaxed_drift_aware_band
from driftwise.theory.bounds import xi

LENGTHS = {"r-gp-ucb": "interval", "sw-gp-ucb": "window"}
BANDS = ("lemma", "drift-aware", "relaxed", "no drift term")
WORLDS = ("still", "turning", "jumping")
NOISE = 0.01  # λ


@dataclass(frozen=True)
class Normed(Drift):
    """A drift whose functions are scaled to norm 1, on an orthonormal basis."""

    drift: Drift

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        z = self.drift.at(t, draw, before)
        return z / float(np.sqrt(z @ z))


@dataclass(frozen=True)
class CoverageJob:
    """Some runs of one policy in one kind of world."""

    settings: Settings
    world: str
    policy: str
    seeds: tuple[int, ...]

    @property
    def cell(self) -> tuple[str, ...]:
        return "coverage", self.world, self.policy

    def perform(self) -> list[Checked]:
        made = _policy(self.settings, self.policy)
        return [checked(made, _world(self.settings, self.world, seed), self) for seed in self.seeds]


@dataclass(frozen=True)
class Checked:
    """One run: for each of BANDS the largest |f − μ| / band anywhere, and the share of it that says something."""

    job: CoverageJob
    tightest: tuple[float, ...]
    informative: tuple[float, ...]


@dataclass(frozen=True)
class Coverage:
    """A row: how many of `runs` left the band somewhere, at some step. `most` is 95% sure to exceed that share."""

    world: str
    policy: str
    band: str
    runs: int
    failures: int
    most: float
    tightest: float  # the largest |f − μ| / band of all runs: 1 would be the edge
    informative: float  # the share of (t, x) at which it says more than |f_t(x)| ≤ B


def jobs(settings: Settings) -> list[CoverageJob]:
    """Twenty runs a job."""
    seeds = range(settings.runs)
    return [
        CoverageJob(settings, world, name, tuple(seeds[i : i + 20]))
        for world in WORLDS
        for name in LENGTHS
        for i in range(0, settings.runs, 20)
    ]


def checked(made: Any, world: World, job: CoverageJob) -> Checked:
    """One run, with every band at every step and every candidate."""
    T, length = job.settings.coverage_horizon, job.settings.coverage_length
    X = world.space.points
    assert X is not None
    F = np.array([world.value(t, X) for t in range(1, T + 1)])  # (T, n)
    moves = np.array([world.variation(t + 1) - world.variation(t) for t in range(1, T)])  # (T − 1,)
    cost = xi(length, NOISE, made.width.gain.upper(length))
    ratios, says = np.zeros((T, len(BANDS))), np.zeros((T, len(BANDS)))
    state = made.start()
    for t in range(1, T + 1):
        ask = Ask(number=t, at=float(t), seed=world.seed)
        belief = made.belief(state, ask)
        used = slice(t - 1 - len(belief), t - 1)
        beta = made.width(belief, t)
        moved = float(np.abs(F[used] - F[t - 1]).max(initial=0.0))  # V of the window
        mean, std = belief.predict(X)
        bands = (
            paper_band(belief, X, beta=beta, drift=float(moves[used].sum()), xi=cost),
            drift_aware_band(belief, X, beta=beta, drift=moved),
            relaxed_drift_aware_band(belief, X, beta=beta, drift=moved),
            beta * std,
        )
        error = np.abs(F[t - 1] - mean)
        ratios[t - 1] = [float((error / band).max()) for band in bands]
        says[t - 1] = [float(((mean + band < 1) | (mean - band > -1)).mean()) for band in bands]
        x = made.choose(state, ask)
        y = world.observe(t, x)
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), y))
    return Checked(job, tuple(ratios.max(axis=0).tolist()), tuple(says.mean(axis=0).tolist()))


def rows(found: Sequence[Checked]) -> list[Coverage]:
    """A row for each world, policy and band."""
    made = []
    for world in WORLDS:
        for name in LENGTHS:
            runs = [run for run in found if (run.job.world, run.job.policy) == (world, name)]
            if not runs:
                continue
            ratio, says = np.array([r.tightest for r in runs]), np.array([r.informative for r in runs])
            for i, band in enumerate(BANDS):
                failures = int((ratio[:, i] > 1 + 1e-12).sum())
                made.append(
                    Coverage(
                        world=world,
                        policy=name,
                        band=band,
                        runs=len(runs),
                        failures=failures,
                        most=upper_limit(failures, len(runs)),
                        tightest=float(ratio[:, i].max()),
                        informative=float(says[:, i].mean()),
                    )
                )
    return made


def upper_limit(failures: int, runs: int) -> float:
    """The one-sided 95% limit of Clopper and Pearson.

    >>> round(upper_limit(0, 100), 4)
    0.0295
    """
    return 1.0 if failures == runs else float(beta_distribution.ppf(0.95, failures + 1, runs - failures))


def _policy(settings: Settings, name: str) -> Any:
    kernel, points = smooth(settings)
    options: dict[str, Any] = {LENGTHS[name]: settings.coverage_length, "horizon": settings.coverage_horizon}
    options |= {"kernel": kernel, "noise": NOISE, "width": "lemma", "R": settings.R, "delta": settings.delta}
    return policy(name, points, **options)


def _world(settings: Settings, kind: str, seed: int) -> World:
    """Norm 1; turning by P_T = 2, jumping twice, in mid-block, to a function that has nothing to do with the last."""
    kernel, points = smooth(settings)
    T, half = settings.coverage_horizon, settings.coverage_length // 2
    drifts: dict[str, Drift] = {
        "still": Normed(Still()),
        "turning": Turning.of(2.0, T),
        "jumping": Normed(Abrupt((T // 4 + half, 3 * T // 4 + half))),
    }
    return World(points, Whitened(kernel, points), drifts[kind], Gaussian(settings.R), seed, T, kind)
