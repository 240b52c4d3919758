"""Worlds in which settings fail or limits are measured, and runs in them. Tests use them, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.policies import decision
from driftwise.records import Array, Ask, Observation, failure
from driftwise.rng import Stream, generator


@dataclass(frozen=True)
class Tried:
    """One step: the setting, its true reward, whether it failed, and the true measure."""

    x: Array
    value: float
    failed: bool = False
    measure: float = 0.0


def run_in(
    policy: Any,
    reward: Callable[[Array, int], float],
    *,
    steps: int,
    seed: int = 0,
    fails: Callable[[Array, int], bool] = lambda x, t: False,
    measure: Callable[[Array, int], float] | None = None,
    noise: float = 0.05,
    measured_noise: float = 3.0,
) -> list[Tried]:
    """What a policy tries, when it is told rewards and measures with noise, and failures."""
    state, tried = policy.start(), []
    for t in range(1, steps + 1):
        x = decision(policy, state, Ask(t, float(t), seed=seed)).x
        e = generator(seed, t, Stream.NOISE).standard_normal(2)
        value, failed = reward(x, t), bool(fails(x, t))
        true = measure(x, t) if measure else 0.0
        also = (("ms", true + measured_noise * float(e[1])),) if measure else ()
        point = tuple(float(v) for v in x)
        told = Observation(t, float(t), point, value + noise * float(e[0]), measures=also)
        state = policy.update(state, failure(t, float(t), point, also) if failed else told)
        tried.append(Tried(x, value, failed, true))
    return tried


@dataclass(frozen=True)
class Service:
    """A service whose latency drifts: the load x pays 10x, less a drifting part, and p99 must stay below 200 ms."""

    seed: int

    @property
    def phase(self) -> float:
        return float(generator(self.seed, 0, Stream.WORLD).uniform(0, 2 * np.pi))

    def latency(self, x: Any, t: int) -> Any:
        return 100 + 150 * x**2 + 25 * np.sin(2 * np.pi * t / 300 + self.phase) * x + 10 * np.sin(5 * x + self.phase)

    def reward(self, x: Any, t: int) -> Any:
        return 10 * x - 3 * (x - 0.2 * np.sin(np.pi * t / 300 + self.phase)) ** 2

    def best(self, t: int) -> float:
        """The best reward within the limit."""
        x = np.linspace(0, 1, 501)
        return float(self.reward(x, t)[self.latency(x, t) <= 200].max())
