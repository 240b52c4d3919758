"""Policies under heavy-tailed and private noise: `python -m benchmarks.heavy_tails [--seeds 20] [--horizon 600]`.

f is drawn from an RKHS and has norm 2 on 50 candidates of [0, 1]. The noise is Student's t of 2.2 degrees of freedom,
scaled by 0.3, which has a variance of 0.99 and no third moment; or rewards are made private by Laplace noise, ε = 2.
Cells are the mean of R(T) over seeds, with 95% intervals, where f stands still and where it changes twice.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import math  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import driftwise as dw  # noqa: E402
from driftwise.environments import Abrupt, Expansion, Gaussian, Still, World  # noqa: E402
from driftwise.lab import interval  # noqa: E402
from driftwise.rng import Stream, generator  # noqa: E402

LINE, KERNEL, NORM, SCALE, DEGREES = dw.Candidates(np.linspace(0, 1, 50)[:, None]), dw.RBF(0.2), 2.0, 0.3, 2.2
VARIANCE = SCALE**2 * DEGREES / (DEGREES - 2)
MOMENT = NORM**2 + VARIANCE  # of a reward, f included
TAILS = {"kernel": KERNEL, "noise": VARIANCE}
PRIVATE = {"kernel": KERNEL, "noise": 0.01, "epsilon": 2.0, "bound": NORM}

HEAVY: dict[str, dict[str, Any]] = {
    "gp-ucb": TAILS,
    "tgp-ucb": TAILS | {"inner": "gp-ucb", "moment": MOMENT},
    "ata-gp-ucb": TAILS | {"moment": MOMENT},
    "moma-gp-ucb": TAILS,
    "moma-gp-ucb, 3 replicas": TAILS | {"replicas": 3},
    "dal": TAILS | {"R": math.sqrt(VARIANCE)},
    "dal around ata-gp-ucb": TAILS | {"inner": "ata-gp-ucb", "moment": MOMENT, "R": math.sqrt(VARIANCE)},
    "sw-gp-ucb, w = 60": TAILS | {"window": 60},
    "random": {},
}
LOCAL: dict[str, dict[str, Any]] = {
    "ldp": PRIVATE | {"inner": "gp-ucb"},
    "ldp around tgp-ucb": PRIVATE | {"inner": "tgp-ucb", "moment": NORM**2 * 3},
    "ldp around ata-gp-ucb": PRIVATE | {"inner": "ata-gp-ucb"},
    "ldp around moma-gp-ucb": PRIVATE | {"inner": "moma-gp-ucb"},
    "random": {},
}


@dataclass(frozen=True)
class HeavyTailed:
    """A world whose rewards have Student's noise."""

    world: World

    def seeded(self, seed: int) -> HeavyTailed:
        return replace(self, world=self.world.seeded(seed))

    def value(self, t: int, X: Any) -> Any:
        return self.world.value(t, X)

    def best(self, t: int) -> float:
        return self.world.best(t)

    def observe(self, t: int, x: Any) -> float:
        noise = generator(self.world.seed, t, Stream.NOISE).standard_t(DEGREES)
        return float(self.world.value(t, np.array([x]))[0]) + SCALE * float(noise)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heavy_tails", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=600)
    given = parser.parse_args()
    T = given.horizon
    drifts = {"still": Still(), "two changes": Abrupt((T // 3, 2 * T // 3))}
    basis, quiet = Expansion(KERNEL, LINE, norm=NORM), Gaussian(0.1)
    worlds = {name: World(LINE, basis, drift, quiet, horizon=T) for name, drift in drifts.items()}
    table("Student's noise", {name: HeavyTailed(world) for name, world in worlds.items()}, HEAVY, given)
    table("private rewards", worlds, LOCAL, given)


def table(title: str, worlds: dict[str, Any], policies: dict[str, dict[str, Any]], given: argparse.Namespace) -> None:
    """R(T), a row for each policy, printed as soon as it is there."""
    print(f"\n| {title}, T = {given.horizon}, {given.seeds} seeds | {' | '.join(worlds)} |")
    print("|---|" + "---|" * len(worlds), flush=True)
    for label, options in policies.items():
        name = label.split(",")[0].split(" ")[0]
        cells = [
            summary([regret(name, options, world, given, seed) for seed in range(given.seeds)])
            for world in worlds.values()
        ]
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def regret(name: str, options: dict[str, Any], world: Any, given: argparse.Namespace, seed: int) -> float:
    own = {"seed": seed} if name == "ldp" else {}
    made = dw.policy(name, LINE, **options, **own)
    return sum(step.regret for step in dw.run(made, world, given.horizon, seed=seed))


def summary(regrets: list[float]) -> str:
    return f"{np.mean(regrets):.0f} ({interval(regrets).written('.0f')})"


if __name__ == "__main__":
    main()
