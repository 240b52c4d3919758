"""`auto` with a history beside the other policies, on the recordings of the lab: `python -m benchmarks.history OUT`.

The first half of each recording is the past. The others get its covariance as their kernel, in the units in which it
fits, and `auto` gets the table itself. A seed plays another stretch of the second half. Arms have no coordinates.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import json  # noqa: E402
from collections.abc import Callable  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import driftwise as dw  # noqa: E402
from driftwise.environments import datasets  # noqa: E402
from driftwise.environments.recorded import Recorded, empirical, unordered  # noqa: E402
from driftwise.lab.statistics import hindsight  # noqa: E402
from driftwise.records import Array  # noqa: E402

OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"tv-gp-ucb, ε = {e}": ("tv-gp-ucb", {"epsilon": e}) for e in (0.003, 0.01, 0.03, 0.1)},
    **{f"sw-gp-ucb, w = {w}": ("sw-gp-ucb", {"window": w}) for w in (30, 60)},
    **{f"r-gp-ucb, H = {h}": ("r-gp-ucb", {"interval": h}) for h in (30, 60)},
    "gp-ucb": ("gp-ucb", {}),
}
OWN = ("auto with history", "auto told the covariance", "auto told nothing", "auto with another's history")
RANDOM = "random choices"


def load() -> Array:
    x, L = np.linspace(0, 1, 101), datasets.hourly_load()[:, None]
    return 1 - 2 * (np.maximum(x - L, 0) + 3 * np.maximum(L - x, 0))


TABLES: dict[str, Callable[[], Array]] = {
    "hottest-region": datasets.try_temperatures,
    "windiest-airport": datasets.airport_winds,
    "late-departures": datasets.late_shares,
    "solar-sand-point": partial(datasets.daily_irradiation, "sand-point"),
    "solar-greensboro": partial(datasets.daily_irradiation, "greensboro"),
    "load": load,
}


def world(name: str, seed: int, horizon: int) -> tuple[Array, Recorded]:
    """The past, and a stretch of what came after it, both in units of the past."""
    table = TABLES[name]()
    before, after = np.split(table, [len(table) // 2])
    location, scale = float(before.mean()), float(before.std(axis=0, ddof=1).max())
    start = int(np.random.default_rng(1000 + seed).integers(len(after) - horizon + 1))
    rows = np.ascontiguousarray((after[start : start + horizon] - location) / scale)
    return (before - location) / scale, Recorded(rows, unordered(table.shape[1]), empirical(before), name=name)


def random_regret(played: Recorded, horizon: int) -> float:
    """What random choices lose on average."""
    values = (played.value(t, played.space.points) for t in range(1, horizon + 1))
    return float(sum(row.max() - row.mean() for row in values))


def regret(label: str, name: str, seed: int, horizon: int) -> float:
    past, played = world(name, seed, horizon)
    if label == RANDOM:
        return random_regret(played, horizon)
    if label in OTHERS:
        which, options = OTHERS[label]
        policy = dw.policy(which, played.space, kernel=played.kernel, **options)
    else:
        other = past[:, np.random.default_rng(5).permutation(past.shape[1])]
        given: tuple[dict[str, Any], ...] = ({"history": past}, {"known_kernel": played.kernel}, {}, {"history": other})
        policy = dw.policy("auto", played.space, **given[OWN.index(label)])
    return float(sum(step.regret for step in dw.run(policy, played, horizon=horizon, seed=seed)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description=__doc__)
    parser.add_argument("out", type=Path, help="a file of JSON lines, in which what is there already is not run again")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--horizon", type=int, default=100)
    parser.add_argument("--own", nargs="*", default=OWN, help="which of auto's four ways")
    parser.add_argument("--recordings", nargs="*", default=list(TABLES))
    given = parser.parse_args()
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    found = {tuple(key): value for key, value in map(json.loads, lines)}
    with given.out.open("a", encoding="utf-8") as file:
        for name in given.recordings:
            labels = (*OTHERS, *given.own, RANDOM)
            seeds = range(given.first, given.first + given.seeds)
            for key in ((label, name, seed, given.horizon) for label in labels for seed in seeds):
                if key not in found:
                    found[key] = regret(*key)
                    print(json.dumps([key, found[key]]), file=file, flush=True)
            of = {k: np.array([found[k, name, seed, given.horizon] for seed in seeds]) for k in labels}
            best = min(OTHERS, key=lambda label: float(of[label].mean()))
            others = np.column_stack([of[label] for label in OTHERS])
            print(f"{name}: {best} {of[best].mean():.1f}")
            for label in given.own:
                beside, share = hindsight(of[label], others), of[label] / of[RANDOM]
                between = beside.interval.written(".2f", "-")
                print(f"  {label} {of[label].mean():.1f}, {beside.ratio:.2f} ({between}) of that", end=", ")
                print(f"{share.mean():.2f} of random's, {share.max():.2f} at worst")


if __name__ == "__main__":
    main()
