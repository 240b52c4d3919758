"""Xopt: its upper confidence bound with time as an input, the only one of its generators that knows time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from gest_api.vocs import VOCS
from xopt.generators.bayesian import time_dependent
from xopt.generators.bayesian.upper_confidence_bound import TDUpperConfidenceBoundGenerator

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation
from driftwise.rng import generator

RANDOM = 5  # points at first, as Xopt's own examples have it
AHEAD = 0.1  # seconds from the clock to the moment that is predicted for: its default


@dataclass
class Clock:
    """The time as Xopt reads it. A step is a second."""

    now: float = 0.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class XoptInTime:
    """TDUpperConfidenceBoundGenerator, which predicts for the moment of the question; RANDOM uniform points first."""

    dim: int
    seed: int

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        self.names = [f"x{j}" for j in range(self.dim)]
        vocs = VOCS(variables={name: [0.0, 1.0] for name in self.names}, objectives={"f": "MAXIMIZE"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.generator = TDUpperConfidenceBoundGenerator(vocs=vocs, added_time=AHEAD)
        self.told = 0

    def ask(self, number: int, at: float) -> Array:
        if self.told < max(RANDOM, 2 * self.dim):
            return generator(self.seed, number).random(self.dim)
        seed = seed_of(self.seed, number)
        np.random.seed(seed)  # noqa: NPY002 - where its libraries draw from
        torch.manual_seed(seed)
        time_dependent.time = Clock(at - AHEAD)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (point,) = self.generator.suggest(1)
        return np.array([point[name] for name in self.names])

    def tell(self, seen: Observation) -> None:
        row = dict(zip(self.names, seen.x, strict=True)) | {"f": seen.y, "time": seen.at}
        self.generator.add_data(pd.DataFrame([row]))
        self.told += 1
