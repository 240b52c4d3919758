"""bayesian-optimization, with its defaults: a Matérn-5/2 Gaussian process of scikit-learn, UCB with κ = 2.576."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass

import numpy as np
from bayes_opt import BayesianOptimization

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation


@dataclass
class BayesOpt:
    """Five random points, as its `maximize` has it, then suggest and register. `alpha` is the noise it reckons with."""

    dim: int
    seed: int
    alpha: float = 1e-6

    def __post_init__(self) -> None:
        self.names = [f"x{j:02d}" for j in range(self.dim)]
        self.optimiser = BayesianOptimization(
            f=None,
            pbounds=dict.fromkeys(self.names, (0.0, 1.0)),
            random_state=seed_of(self.seed, 0),
            verbose=0,
            allow_duplicate_points=True,
        )
        self.optimiser.set_gp_params(alpha=self.alpha)
        self.told = 0

    def ask(self, number: int, at: float) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            early = self.told < 5
            params = self.optimiser.random_sample(1)[0] if early else self.optimiser.suggest()
        return np.array([float(params[name]) for name in self.names])

    def tell(self, seen: Observation) -> None:
        self.told += 1
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):  # it prints a line for every duplicate
            warnings.simplefilter("ignore")
            self.optimiser.register(params=dict(zip(self.names, seen.x, strict=True)), target=seen.y)
