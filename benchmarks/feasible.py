"""Failures and limits: how many asks fail, how many violate a limit, and what is found. Figures with 95% intervals.

It takes about an hour, so that it is not one of all benchmarks: `python -m benchmarks feasible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.feasible_worlds import Service, Tried, run_in
from benchmarks.measure import Result
from driftwise.feasible import Feasible, at_most
from driftwise.lab.statistics import interval
from driftwise.records import Array
from driftwise.rng import generator

LINE = {"x": dw.Float(0, 1)}
SQUARE = {"x": dw.Float(0, 1), "y": dw.Float(0, 1)}
CHOICE = {"x": dw.Float(0, 1), "c": dw.Choice(["a", "crash", "b"])}
GRID = dw.Candidates(np.linspace(0, 1, 201)[:, None])
POLICIES = ("auto", "sw-gp-ucb", "gp-ucb", "tv-gp-ucb")
SAFE = {"tv-gp-ucb": 100, "gp-ucb": 100, "sw-gp-ucb": 100, "auto": 20}  # seeds
SAFE_STEPS, DELTA = 100, 0.05


@dataclass(frozen=True)
class World:
    """Settings that fail; `found` says what is looked at: the best that worked, or what was tried from a step on."""

    name: str
    space: Any
    steps: int
    reward: Callable[[Array, int], float]
    fails: Callable[[Array, int, int], bool]  # the setting, the step, the seed
    found: Callable[[Sequence[Tried]], float]
    says: str


def best(tried: Sequence[Tried]) -> float:
    return max((step.value for step in tried if not step.failed), default=0.0)


def until_found(tried: Sequence[Tried]) -> float:
    """Steps after 100 until a setting within 2% of the best is tried."""
    return float(next((i for i, step in enumerate(tried[100:], 1) if step.value >= 9.8 and not step.failed), 999))


WORLDS = (
    World("10x, x > 0.7 fails", LINE, 60, lambda x, t: 10 * x[0], lambda x, t, s: x[0] > 0.7, best, "best that worked"),
    World(
        "5(x + y), x + y > 1.2 fails",
        SQUARE,
        60,
        lambda x, t: 5 * (x[0] + x[1]),
        lambda x, t, s: x[0] + x[1] > 1.2,
        best,
        "best that worked, of 6",
    ),
    World(
        "a choice that crashes",
        CHOICE,
        60,
        lambda x, t: 10 - 9 * (x[0] - 0.3) ** 2 + 3 * x[2],
        lambda x, t, s: x[2] == 1,
        best,
        "best that worked, of 10",
    ),
    World(
        "x > 0.7 fails; from 101 on x < 0.5",
        GRID,
        160,
        lambda x, t: 10 * x[0],
        lambda x, t, s: x[0] > 0.7 if t <= 100 else x[0] < 0.5,
        until_found,
        "steps until the new best",
    ),
    World(
        "2% fail anywhere",
        GRID,
        120,
        lambda x, t: 10 - 10 * (x[0] - 0.6) ** 2,
        lambda x, t, s: bool(generator(s, t).random() < 0.02),
        lambda tried: float(np.mean([step.value for step in tried[40:]])),
        "mean from step 41 on, of 10",
    ),
)


def run() -> Iterator[Result]:
    for world in WORLDS:
        for name in POLICIES:
            yield failures(world, name, 10)
    for name in POLICIES:
        yield recommended(name, 10)
    for name, seeds in SAFE.items():
        for safe in (True, False):
            yield violations(name, seeds, safe=safe)


def made(name: str, space: Any, **given: Any) -> Feasible:
    return Feasible(dw.policy(name, space, **({} if name == "auto" else {"standardise": True})), **given)


def failures(world: World, name: str, seeds: int) -> Result:
    """How many asks fail, and what is found."""
    counts, found = [], []
    for seed in range(seeds):
        tried = run_in(
            made(name, world.space),
            world.reward,
            steps=world.steps,
            seed=seed,
            fails=lambda x, t, s=seed: world.fails(x, t, s),
        )
        counts.append(float(sum(step.failed for step in tried)))
        found.append(world.found(tried))
    ours = f"{shown(counts)} of {world.steps} fail, at most {max(counts):.0f}"
    return Result(f"{name}: {world.name}", ours, f"{world.says} {shown(found)}, from {min(found):.2f}")


def recommended(name: str, seeds: int) -> Result:
    """What a study of 10x that fails for x > 0.7 recommends after 60 asks, as a share of the best; 0 if it fails."""
    shares, sure = [], 0
    for seed in range(seeds):
        study = dw.Study("tenfold", LINE, name, seed=seed)
        for _ in range(60):
            s = study.ask()
            study.tell(s, 10 * s.params["x"]) if s.params["x"] <= 0.7 else study.tell(s, failed=True)
        best = study.recommend()
        shares.append(best.params["x"] / 0.7 if best.params["x"] <= 0.7 else 0.0)
        sure += best.sure
    ours = f"{shown(shares, 3)} of the best is recommended, from {min(shares):.3f}"
    return Result(
        f"{name}: 10x, recommended", ours, f"sure in {sure} of {seeds}", None, "within 2%", min(shares) >= 0.98
    )


def violations(name: str, seeds: int, *, safe: bool) -> Result:
    """The share of asks whose true latency is above the limit, and the regret beside that of staying."""
    shares, regret, staying = [], [], []
    for seed in range(seeds):
        world, steps = Service(seed), range(1, SAFE_STEPS + 1)
        given: dict[str, Any] = {"safe": True, "begin": (0.2,), "delta": DELTA} if safe else {}
        tried = run_in(
            made(name, GRID, limits={"ms": at_most(200)}, **given),
            lambda x, t, w=world: float(w.reward(x[0], t)),
            measure=lambda x, t, w=world: float(w.latency(x[0], t)),
            steps=SAFE_STEPS,
            seed=seed,
            noise=0.2,
        )
        shares.append(float(np.mean([step.measure > 200 for step in tried])))
        regret.append(float(np.mean([world.best(t) - step.value for t, step in zip(steps, tried, strict=True)])))
        staying.append(float(np.mean([world.best(t) - float(world.reward(0.2, t)) for t in steps])))
    ours = f"{shown(shares, 3)} of the asks violate, regret {shown(regret)}"
    met = float(np.mean(shares)) <= DELTA if safe else None
    kind = "safe" if safe else "not safe"
    target = f"at most {DELTA:g}" if safe else ""
    return Result(f"{name}, {kind}, {seeds} seeds", ours, f"staying: regret {np.mean(staying):.2f}", None, target, met)


def shown(values: Sequence[float], digits: int = 2) -> str:
    """The mean and its interval."""
    return f"{np.mean(values):.{digits}f} ({interval(values).written(f'.{digits}f', ' to ')})"
