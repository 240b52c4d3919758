"""Optuna: its Gaussian-process sampler and its tree-structured Parzen estimator, with their defaults."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import optuna
import torch
from optuna.distributions import FloatDistribution

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation

SAMPLERS = {"gp": optuna.samplers.GPSampler, "tpe": optuna.samplers.TPESampler}


@dataclass
class Optuna:
    """A study in memory that maximises; ten random points to begin with, as both samplers have it."""

    dim: int
    seed: int
    sampler: str = "gp"

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = SAMPLERS[self.sampler](seed=seed_of(self.seed, 0))
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.distributions = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(self.dim)}
        self.trial: optuna.Trial | None = None

    def ask(self, number: int, at: float) -> Array:
        torch.manual_seed(seed_of(self.seed, number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.trial = self.study.ask(self.distributions)
        return np.array([self.trial.params[name] for name in self.distributions])

    def tell(self, seen: Observation) -> None:
        params = dict(zip(self.distributions, seen.x, strict=True))
        if self.trial is not None and self.trial.params == params:
            self.study.tell(self.trial, seen.y)
        else:  # told of a point that it did not ask for
            if self.trial is not None:
                self.study.tell(self.trial, state=optuna.trial.TrialState.FAIL)
            known = optuna.trial.create_trial(params=params, distributions=self.distributions, value=seen.y)
            self.study.add_trial(known)
        self.trial = None
