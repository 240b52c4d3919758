"""TuRBO-1 (Eriksson et al. 2019) on BoTorch's model: Thompson sampling inside a trust region around the best."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
import torch
from botorch.exceptions import BotorchWarning, InputDataWarning, ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning

from benchmarks.peers.adapter import seed_of
from driftwise.records import Array, Observation

FIRST, SHORTEST, LONGEST = 0.8, 0.5**7, 1.6  # sides of the region
SUCCESSES = 3  # in a row, after which it grows; it shrinks after max(4, d) failures
CANDIDATES, MOVED = 2000, 20  # points of which the best is taken, and coordinates of each that are moved, about
BETTER = 1e-3  # of the size of the best reward: what counts as a success


@dataclass
class Turbo:
    """One region at a time. When it is smaller than SHORTEST all is forgotten, and it begins again."""

    dim: int
    seed: int
    log: list[Observation] = field(default_factory=list)  # since the last beginning
    side: float = FIRST
    good: int = 0
    bad: int = 0

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        self.starts = 2 * self.dim

    def ask(self, number: int, at: float) -> Array:
        torch.manual_seed(seed_of(self.seed, number))
        if len(self.log) < self.starts:
            return torch.rand(self.dim).numpy()
        with warnings.catch_warnings():
            for kind in (BotorchWarning, InputDataWarning, NumericalWarning, RuntimeWarning):
                warnings.simplefilter("ignore", kind)
            return self._best()

    def tell(self, seen: Observation) -> None:
        if len(self.log) >= self.starts:
            best = max(each.y for each in self.log)
            better = seen.y > best + BETTER * abs(best)
            self.good, self.bad = (self.good + 1, 0) if better else (0, self.bad + 1)
        self.log.append(seen)
        if self.good == SUCCESSES:
            self.side, self.good = min(2 * self.side, LONGEST), 0
        elif self.bad == max(4, self.dim):
            self.side, self.bad = self.side / 2, 0
        if self.side < SHORTEST:
            self.log, self.side, self.good, self.bad = [], FIRST, 0, 0

    def _best(self) -> Array:
        X, y = torch.tensor([seen.x for seen in self.log]), torch.tensor([[seen.y] for seen in self.log])
        model = SingleTaskGP(X, y)
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:  # then the modes of its priors must do
            model.eval()
        points = self._candidates(model, X[int(y.argmax())])
        with torch.no_grad():
            drawn = model.posterior(points).rsample()
        return np.asarray(points[int(drawn.argmax())].numpy())

    def _candidates(self, model: SingleTaskGP, centre: torch.Tensor) -> torch.Tensor:
        """Sobol' points of the region, whose sides go with the length scales; some coordinates stay at the centre."""
        kernel = getattr(model.covar_module, "base_kernel", model.covar_module)
        lengths = kernel.lengthscale.detach().squeeze(0)
        sides = self.side * lengths / math.exp(float(lengths.log().mean()))
        low, high = (centre - sides / 2).clamp(0, 1), (centre + sides / 2).clamp(0, 1)
        points = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=self.seed).draw(CANDIDATES)
        moved = torch.rand(CANDIDATES, self.dim) <= min(MOVED / self.dim, 1.0)
        moved[torch.arange(CANDIDATES), torch.randint(self.dim, (CANDIDATES,))] = True
        return torch.where(moved, low + (high - low) * points, centre)
