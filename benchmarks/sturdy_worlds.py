"""The worlds of `benchmarks.sturdy`: a cost whose readings go wrong, levels that move, and arms that go together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import driftwise as dw
from driftwise.environments.recorded import unordered
from driftwise.lab.zoo import zoo
from driftwise.records import Array
from driftwise.rng import generator

# --- a cost whose readings go wrong ---------------------------------------------------------------------------------

SERVICE = {"workers": dw.Int(1, 64, log=True), "batch": dw.Int(1, 20), "mode": dw.Choice(["a", "b", "c"])}
FROM, STUCK = 60, 10  # the step of the trouble, and for how many steps a sensor sticks

Wrong = Callable[[int, float, float, np.random.Generator], float]  # step, true reading, the one before, random numbers


@dataclass(frozen=True)
class Trouble:
    """What happens to a reading of a cost; `throughout` if at any step, and not from FROM on."""

    noise: float
    wrong: Wrong
    throughout: bool = False
    horizon: int = 80


def _spike(size: float, steps: int = 1) -> Wrong:
    return lambda t, y, before, rng: y + size if FROM <= t < FROM + steps else y


def _outliers(share: float, size: float) -> Wrong:
    def wrong(t: int, y: float, before: float, rng: np.random.Generator) -> float:
        hit, up = rng.random(2)
        return y + math.copysign(size, up - 0.5) if hit < share else y

    return wrong


def _stuck(t: int, y: float, before: float, rng: np.random.Generator) -> float:
    return before if FROM <= t < FROM + STUCK else y


def _unit(t: int, y: float, before: float, rng: np.random.Generator) -> float:
    return 1000 * y if t >= FROM else y


def _right(t: int, y: float, before: float, rng: np.random.Generator) -> float:
    return y


TROUBLES: Mapping[str, Trouble] = {
    "quiet:clean": Trouble(1.2, _right),
    "quiet:+70": Trouble(1.2, _spike(70)),
    "noisy:clean": Trouble(1.5, _right),
    "noisy:+80": Trouble(1.5, _spike(80)),
    "quiet:burst of three": Trouble(1.2, _spike(70, 3)),
    "quiet:stuck for ten": Trouble(1.2, _stuck),
    "quiet:unit × 1,000": Trouble(1.2, _unit),
    "long:clean": Trouble(1.2, _right, throughout=True, horizon=100),
    "long:1% outliers": Trouble(1.2, _outliers(0.01, 120), throughout=True, horizon=100),
    "long:5% outliers": Trouble(1.2, _outliers(0.05, 120), throughout=True, horizon=100),
}


@dataclass(frozen=True)
class Service:
    """A cost from 30 to about 100 of two whole numbers, one of them logarithmic, and a choice."""

    seed: int
    trouble: Trouble

    @property
    def space(self) -> Mapping[str, Any]:
        return SERVICE

    @cached_property
    def _parts(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(self.seed)
        return rng.uniform(0.2, 0.8, 2), rng.permutation([0.0, 4.0, 8.0])

    def cost(self, params: Mapping[str, Any]) -> float:
        centre, modes = self._parts
        u, v = math.log(params["workers"]) / math.log(64), (params["batch"] - 1) / 19
        mode = "abc".index(params["mode"])
        return 30 + 60 * (u - centre[0]) ** 2 + 40 * (v - centre[1]) ** 2 + float(modes[mode])

    @cached_property
    def best(self) -> float:
        settings = ({"workers": w, "batch": b, "mode": m} for w in range(1, 65) for b in range(1, 21) for m in "abc")
        return min(map(self.cost, settings))

    def reading(self, t: int, params: Mapping[str, Any], before: float) -> float:
        rng = generator(self.seed, t)
        y = self.cost(params) + self.trouble.noise * rng.standard_normal()
        return self.trouble.wrong(t, y, before, rng)


# --- levels, and arms -----------------------------------------------------------------------------------------------

HORIZON, COUNT, NOISE = 150, 20, 0.1
PATHS = ("cycle", "walk", "jumps")
LEVELS = tuple(f"{where}/{path}" for where in ("box", "moving box", "20 arms") for path in ("none", *PATHS))


@dataclass(frozen=True, eq=False)
class Table:
    """A row of rewards for each step, with noise on top."""

    rewards: Array  # (T, n)
    noise: float
    seed: int

    @property
    def horizon(self) -> int:
        return len(self.rewards)

    @property
    def space(self) -> Any:
        return unordered(self.rewards.shape[1])

    def observe(self, t: int, x: Array) -> float:
        return float(self.rewards[t - 1] @ x) + self.noise * float(generator(self.seed, t).standard_normal())

    def regret(self, t: int, x: Array) -> float:
        return float(self.rewards[t - 1].max() - self.rewards[t - 1] @ x)

    def random_regret(self) -> float:
        return float((self.rewards.max(axis=1) - self.rewards.mean(axis=1)).sum())


@dataclass(frozen=True, eq=False)
class Boxed:
    """A world of the zoo in two dimensions."""

    world: Any

    @property
    def horizon(self) -> int:
        return HORIZON

    @property
    def space(self) -> Any:
        return self.world.space

    def observe(self, t: int, x: Array) -> float:
        return float(self.world.observe(t, x))

    def regret(self, t: int, x: Array) -> float:
        return float(self.world.best(t) - self.world.value(t, x[None])[0])

    def random_regret(self) -> float:
        X = np.random.default_rng(0).random((1000, 2))
        return float(sum(self.world.best(t) - self.world.value(t, X).mean() for t in range(1, HORIZON + 1)))


def level_world(case: str, seed: int) -> Table | Boxed:
    where, path = case.split("/")
    if where == "20 arms":
        rng = np.random.default_rng(seed)
        return Table(rng.standard_normal(COUNT) + 1.5 * _level(path, rng)[:, None], NOISE, seed)
    moving = where.startswith("moving")
    if path == "none":
        kind = "slow-0.01" if moving else "still"
    else:
        kind = f"level-{path}{'-moving' if moving else ''}"
    return Boxed(zoo(kind=kind, dim=2, box=True, seed=seed, horizon=HORIZON))


def _level(path: str, rng: np.random.Generator) -> Array:
    """A path of standard deviation 1 or so: (HORIZON,)."""
    t = np.arange(HORIZON)
    if path == "cycle":
        return math.sqrt(2) * np.sin(2 * math.pi * t / 48 + rng.uniform(0, 2 * math.pi))
    if path == "walk":
        return np.cumsum(rng.standard_normal(HORIZON)) * math.sqrt(6 / HORIZON)
    return rng.standard_normal(2)[(t >= 80).astype(int)] if path == "jumps" else np.zeros(HORIZON)


ARMS = tuple(f"{count} arms/{kind}" for count in (50,) for kind in ("none", "day", "day and factors"))


def arm_world(case: str, seed: int) -> Table:
    """50 arms for 120 hours: their own means, a level with the day that some follow more than others, two factors."""
    count, steps = 50, 120
    rng = np.random.default_rng(seed)
    means, slopes = rng.standard_normal(count), 1 + 0.2 * rng.standard_normal(count)
    day = 2 * np.sin(2 * math.pi * np.arange(steps) / 24 + rng.uniform(0, 2 * math.pi))
    factors, loadings = _wandering(rng, steps, 2), 0.7 * rng.standard_normal((2, count))
    rewards = np.tile(means, (steps, 1))
    if "day" in case:
        rewards = rewards + day[:, None] * slopes
    if "factors" in case:
        rewards = rewards + factors @ loadings + 0.3 * _wandering(rng, steps, count)
    return Table(rewards, NOISE, seed)


def _wandering(rng: np.random.Generator, steps: int, count: int) -> Array:
    """Independent AR(1) paths of variance 1, a correlation of .95 from step to step: (steps, count)."""
    path = np.empty((steps, count))
    path[0] = rng.standard_normal(count)
    for t in range(1, steps):
        path[t] = 0.95 * path[t - 1] + math.sqrt(1 - 0.95**2) * rng.standard_normal(count)
    return path
