"""BoTorch: GP-UCB, all hyper-parameters refitted at every step; on all the data, on a window, with time as an input."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.exceptions import BotorchWarning, InputDataWarning, ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation

BETA = 2.0  # multiplies the standard deviation, as in our policies
RESTARTS, RAW = 10, 256


@dataclass
class BoTorch:
    """SingleTaskGP as it comes (its priors, its standardisation of rewards) and UCB; Sobol' points to begin with."""

    dim: int
    seed: int
    window: int | None = None
    time: bool = False
    log: list[Observation] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        self.starts = max(5, 2 * self.dim)
        engine = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=self.seed)
        self.design = engine.draw(self.starts).numpy()

    def ask(self, number: int, at: float) -> Array:
        if len(self.log) < self.starts:
            return self.design[len(self.log)]
        torch.manual_seed(seed_of(self.seed, number))
        with warnings.catch_warnings():
            for kind in (BotorchWarning, InputDataWarning, NumericalWarning, RuntimeWarning):
                warnings.simplefilter("ignore", kind)
            return self._best(at)

    def tell(self, seen: Observation) -> None:
        self.log.append(seen)

    def _best(self, at: float) -> Array:
        used = self.log if self.window is None else self.log[-self.window :]
        X = torch.tensor([seen.x for seen in used])
        now = {}
        if self.time:  # from the first observation in use to now is the unit, as its Normalize would have it
            since = used[0].at
            times = torch.tensor([(seen.at - since) / (at - since) for seen in used])
            X, now = torch.cat([X, times[:, None]], dim=1), {self.dim: 1.0}
        model = SingleTaskGP(X, torch.tensor([[seen.y] for seen in used]))
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:  # then the modes of its priors must do
            model.eval()
        ucb = UpperConfidenceBound(model, beta=BETA**2)  # BoTorch's beta is the square of ours
        cube = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])])
        x, _ = optimize_acqf(ucb, cube, q=1, num_restarts=RESTARTS, raw_samples=RAW, fixed_features=now or None)
        return np.asarray(x[0, : self.dim].numpy())
