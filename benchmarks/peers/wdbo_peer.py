"""wdbo-algo, by the authors of W-DBO: Matérn-5/2 in space and time as in its example, with its defaults."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import gpytorch
import numpy as np
import torch
from wdbo_algo.optimizer import WDBOOptimizer

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation


@dataclass
class Wdbo:
    """Its natural loop: next_query(t), tell(x, t, y), clean(t). It is given a step as `unit` of time."""

    dim: int
    seed: int
    unit: float = 1.0

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)  # it mixes float and double, and stops, with any other
        matern = gpytorch.kernels.MaternKernel
        cube = np.array([[0.0, 1.0]] * self.dim)
        self.optimiser = WDBOOptimizer(cube, matern, matern, spatial_kernel_args=[2.5], temporal_kernel_args=[2.5])

    def ask(self, number: int, at: float) -> Array:
        self._seed(number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.optimiser.next_query(self.unit * at))

    def tell(self, seen: Observation) -> None:
        self._seed(seen.number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.optimiser.tell(np.array(seen.x), self.unit * seen.at, seen.y)
            self.optimiser.clean(self.unit * seen.at)

    def _seed(self, number: int) -> None:
        seed = seed_of(self.seed, number)
        np.random.seed(seed)  # noqa: NPY002 - its first points come from there
        torch.manual_seed(seed)
