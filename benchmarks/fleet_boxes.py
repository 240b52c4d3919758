"""A fleet on boxes beside a study for each key: the regret, and the time on the processor.

Each key is a world of the drift zoo on a box. The fleet chooses among points that all keys share, and a study searches
the box itself; policy, kernel, noise and width are the same. `python -m benchmarks fleet-boxes`; the environment
variable DRIFTWISE_BENCH_KEYS gives another number of worlds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.measure import Result
from driftwise.lab.zoo import zoo

KEYS, STEPS = int(os.environ.get("DRIFTWISE_BENCH_KEYS", "24")), 200
CASES = [(dim, kind) for dim in (1, 2, 3, 6) for kind in ("still", "slow-0.01", "abrupt-rarely")]
TIMED, LOOPED, WINDOW = 1024, 8, 64  # keys of the fleet and studies of the loop that are timed


def run() -> Iterator[Result]:
    for dim, kind in CASES:
        worlds = [zoo(kind=kind, dim=dim, box=True, seed=seed, horizon=STEPS) for seed in range(KEYS)]
        fleet, study = fleet_regret(worlds), study_regret(worlds)
        spread = (fleet - study).std(ddof=1) / np.sqrt(KEYS) / study.mean()
        ratio = fleet.mean() / study.mean()
        yield Result(
            f"box{dim}d/{kind}: regret a step, ratio ± {2 * spread:.3f}",
            f"{fleet.mean():.4f}",
            f"{study.mean():.4f}",
            ratio,
        )
    for dim in (1, 2, 3):
        loop = seconds_each(dim, LOOPED, looped)
        for engine in ("numpy", "compiled"):
            ours = seconds_each(dim, TIMED, lambda dim, keys, engine=engine: batched(dim, keys, engine))
            yield Result(
                f"box{dim}d: a decision, {engine}", f"{1e6 * ours:.0f} µs", f"{1e6 * loop:.0f} µs", loop / ours
            )


def options(world: Any) -> dict[str, Any]:
    return {"kernel": world.kernel, "noise": 0.01, "window": WINDOW, "width": 2.0, "standardise": False}


def fleet_regret(worlds: list[Any]) -> Any:
    """The mean regret a step of each key."""
    regret, keys = np.zeros(len(worlds)), list(range(len(worlds)))
    with dw.Fleet("bench", worlds[0].space, "sw-gp-ucb", **options(worlds[0])) as fleet:
        for t in range(1, STEPS + 1):
            batch = fleet.ask(keys)
            fleet.tell(batch, [world.observe(t, x) for world, x in zip(worlds, batch.points, strict=True)])
            values = [float(world.value(t, x[None])[0]) for world, x in zip(worlds, batch.points, strict=True)]
            regret += [float(world.best(t)) - value for world, value in zip(worlds, values, strict=True)]
    return regret / STEPS


def study_regret(worlds: list[Any]) -> Any:
    policies = [dw.policy("sw-gp-ucb", world.space, **options(world)) for world in worlds]
    runs = zip(policies, worlds, strict=True)
    return np.array([np.mean([step.regret for step in dw.run(policy, world, STEPS)]) for policy, world in runs])


def seconds_each(dim: int, keys: int, made: Callable[[int, int], Callable[[int], None]]) -> float:
    """Seconds on the processor for a decision of one key, once the windows are full."""
    step = made(dim, keys)
    for number in range(WINDOW + 2):
        step(number)
    began = process_time()
    for number in range(8):
        step(number)
    return (process_time() - began) / 8 / keys


def reward(points: Any, number: int) -> Any:
    noise = 0.1 * np.random.default_rng(number).standard_normal(len(points))
    return np.sin(5 * points[:, 0] + number / 20) + noise


def batched(dim: int, keys: int, engine: str) -> Callable[[int], None]:
    world = zoo(kind="still", dim=dim, box=True)
    fleet = dw.Fleet("bench", world.space, "sw-gp-ucb", engine=engine, **options(world))

    def step(number: int) -> None:
        batch = fleet.ask(list(range(keys)))
        fleet.tell(batch, reward(batch.points, number))

    return step


def looped(dim: int, keys: int) -> Callable[[int], None]:
    world = zoo(kind="still", dim=dim, box=True)
    studies = [dw.Study(str(i), world.space, "sw-gp-ucb", **options(world)) for i in range(keys)]

    def step(number: int) -> None:
        for study in studies:
            s = study.ask()
            study.tell(s, float(reward(np.array([s.x]), number)[0]))

    return step
