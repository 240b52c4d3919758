"""Context: regret with it, relative to that without it, on worlds whose optimum moves with the context.

The traffic of one jumps from step to step, so that only the context tells where the optimum is. That of the other is a
daily curve, which a study without the context can follow as a change over time, and `auto` as a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.measure import Result
from driftwise.lab.statistics import interval
from driftwise.records import Array

STEPS, SEEDS, MOST = 150, range(8), 0.4
# auto is given nothing; sw-gp-ucb a kernel that suits the world, with context and without
POLICIES: dict[str, dict[str, Any]] = {"auto": {}, "sw-gp-ucb": {"window": 150, "kernel": dw.RBF(0.4)}}


def run() -> Iterator[Result]:
    for daily, (name, options) in product((False, True), POLICIES.items()):
        ratios = [ratio(name, options, Service(seed, daily=daily)) for seed in SEEDS]
        mean, half = geometric(ratios)
        low, high = mean / half, mean * half
        traffic = "daily" if daily else "jumping"
        yield Result(
            what=f"regret of {name} in {STEPS} steps, {traffic} traffic, with context / without",
            ours=f"{mean:.2f} (95%: {low:.2f} – {high:.2f}, at most {max(ratios):.2f})",
            ratio=mean,
            target="" if daily else f"≤ {MOST}",
            met=None if daily else mean <= MOST,
        )


def geometric(ratios: list[float]) -> tuple[float, float]:
    """The geometric mean, and the factor to either end of its 95% interval."""
    found = interval(np.log(ratios), signed=True)
    return math.exp(found.mean), math.exp(found.mean - found.low)


@dataclass(frozen=True)
class Service:
    """Workers and a cache whose best sizes follow the traffic."""

    seed: int
    daily: bool = False

    @cached_property
    def curves(self) -> Array:
        """For each parameter where its optimum begins and how far it moves with the traffic: (2, 2)."""
        rng = np.random.default_rng(self.seed)
        begin = rng.uniform(0.1, 0.35, 2)
        return np.stack([begin, rng.uniform(0.4, 0.55, 2)])

    def traffic(self, t: int) -> float:
        rng = np.random.default_rng((self.seed, t))
        if not self.daily:
            return float(rng.random())
        return float(np.clip(0.5 - 0.45 * math.cos(2 * math.pi * t / 24) + rng.normal(0, 0.1), 0, 1))

    def value(self, params: dict[str, float], traffic: float) -> float:
        """At most 1, which is reached at the optimum."""
        begin, slope = self.curves
        x = np.array([params["workers"], params["cache"]])
        return float(np.exp(-np.sum((x - begin - slope * traffic) ** 2) / (2 * 0.2**2)))

    def reward(self, params: dict[str, float], t: int) -> float:
        noise = np.random.default_rng((self.seed, t, 1)).normal(0, 0.05)
        return self.value(params, self.traffic(t)) + float(noise)


def ratio(name: str, options: dict[str, Any], service: Service, *, steps: int = STEPS) -> float:
    """Regret with the context relative to that without it, over the same hours and the same noise."""
    given, hidden = (regret(name, options, service, given=given, steps=steps) for given in (True, False))
    return given / hidden


def regret(name: str, options: dict[str, Any], service: Service, *, given: bool, steps: int = STEPS) -> float:
    """The sum over all steps of what was lost to the best setting in the context of the step."""
    space = {"workers": dw.Float(0, 1), "cache": dw.Float(0, 1)}
    context = {"traffic": dw.Float(0, 1)} if given else None
    study = dw.Study("service", space, (name, dict(options)), context=context)
    lost = 0.0
    for t in range(1, steps + 1):
        s = study.ask(context={"traffic": service.traffic(t)} if given else None)
        lost += 1 - service.value(dict(s.params), service.traffic(t))
        study.tell(s, service.reward(dict(s.params), t))
    return lost
