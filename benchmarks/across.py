"""python -m benchmarks.across: the first 20 steps of a key that begins with what others learned, beside one alone.

In each world 64 keys are played alone for 60 steps. Their pooled prior is that of 64 new keys, which are also played
without it, with the same noise. Regret is in standard deviations of a key's function, on a 16 × 16 grid.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import driftwise as dw  # noqa: E402
from driftwise.environments.catalogue import grid  # noqa: E402
from driftwise.lab.statistics import Interval, hindsight  # noqa: E402
from driftwise.lean.across import pooled  # noqa: E402
from driftwise.lean.bank import LeanBank  # noqa: E402
from driftwise.lean.step import LeanState, moments, observe, optimism  # noqa: E402
from driftwise.policies.auto_lean import BROAD  # noqa: E402
from driftwise.records import Array  # noqa: E402

KEYS, BEFORE, FIRST = 64, 60, 20
SPACE = grid(16, 2)
WORLDS = {  # how much of the variance the functions of keys have in common; None: nothing at all is alike
    "0.7 of the variance in common": 0.7,
    "0.5 of the variance in common": 0.5,
    "the same kernel, noise and units alone": 0.0,
    "nothing alike": None,
}


@dataclass(frozen=True, eq=False)
class Keys:
    """The functions of keys, (k, n), and the standard deviations of their noise, (k,)."""

    functions: Array
    noise: Array


def drawn(rng: np.random.Generator, lengthscale: float, count: int) -> Array:
    """Functions from a Gaussian process: (count, n)."""
    K = dw.RBF(lengthscale)(SPACE.points, SPACE.points)
    values, vectors = np.linalg.eigh(K)
    return rng.standard_normal((count, len(K))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T


def world(common: float | None, seed: int) -> tuple[Keys, Keys]:
    """The keys that came before, and the new ones."""
    rng, count = np.random.default_rng(seed), 2 * KEYS
    if common is None:
        functions = np.vstack([drawn(rng, float(10 ** rng.uniform(-1, -0.3)), 1) for _ in range(count)])
        level, scale = rng.normal(0, 100, count), 10 ** rng.uniform(-1, 2, count)
        noise = 10 ** rng.uniform(-1.5, -0.3, count)
    else:
        functions = np.sqrt(common) * drawn(rng, 0.2, 1) + np.sqrt(1 - common) * drawn(rng, 0.2, count)
        level, scale, noise = np.full(count, 10.0), np.full(count, 3.0), np.full(count, 0.1)
    all_of = level[:, None] + scale[:, None] * functions, scale * noise
    return Keys(all_of[0][:KEYS], all_of[1][:KEYS]), Keys(all_of[0][KEYS:], all_of[1][KEYS:])


def played(bank: LeanBank, keys: Keys, steps: int, seed: int) -> tuple[Array, LeanState]:
    """Mean regret a step of each key, (k,), and the states at the end."""
    rng, rows, state = np.random.default_rng(seed), np.arange(len(keys.noise)), LeanState.start(bank, len(keys.noise))
    regret, best = np.zeros(len(rows)), keys.functions.max(axis=1)
    for t in range(1, steps + 1):
        number = np.full(len(rows), t)
        j = np.argmax(optimism(bank, state, moments(bank, state, number), BROAD), axis=1)
        value = keys.functions[rows, j]
        regret += (best - value) / keys.functions.std(axis=1)
        state = observe(bank, state, j, value + keys.noise * rng.standard_normal(len(rows)), number)
    return regret / steps, state


def compared(common: float | None, seeds: Sequence[int]) -> tuple[float, float, Interval]:
    """Mean regret alone and with the prior, and the ratio with its interval over worlds and keys."""
    bank, alone, taught = dw.policy("auto-lean", SPACE).bank, list[Array](), list[Array]()
    for seed in seeds:
        before, new = world(common, seed)
        prior = pooled(bank, played(bank, before, BEFORE, seed)[1])
        alone.append(played(bank, new, FIRST, seed + 1)[0])
        taught.append(played(replace(bank, prior=prior), new, FIRST, seed + 1)[0])
    a, b = np.concatenate(alone), np.concatenate(taught)
    return float(a.mean()), float(b.mean()), hindsight(b, a[:, None]).interval


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.across", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="worlds of each kind (4)")
    parser.add_argument("--first", type=int, default=2000, help="the first seed (2000)")
    asked = parser.parse_args(given)
    table = Table("keys", "alone", "with the prior", "ratio (95%)", title=f"regret a step, first {FIRST} steps")
    for name, common in WORLDS.items():
        a, b, ratio = compared(common, range(asked.first, asked.first + asked.seeds))
        table.add_row(name, f"{a:.3f}", f"{b:.3f}", f"{ratio.mean:.2f} ({ratio.low:.2f}-{ratio.high:.2f})")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
