"""BoTorch, in a process of its own: reads a window as a line of JSON, answers where its UCB is largest and the seconds.

Run by `benchmarks.box` with the Python of .venv-bench; it imports nothing of driftwise.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.kernels import MaternKernel
from gpytorch.means import ZeroMean

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def ask(X: torch.Tensor, y: torch.Tensor, *, lengthscale: float, noise: float, beta: float) -> torch.Tensor:
    kernel = MaternKernel(nu=2.5)
    kernel.lengthscale = lengthscale
    model = SingleTaskGP(
        X,
        y[:, None],
        torch.full((len(y), 1), noise),
        covar_module=kernel,
        mean_module=ZeroMean(),
        outcome_transform=None,
    )
    model.eval()
    ucb = UpperConfidenceBound(model, beta=beta**2)  # BoTorch's beta is the square of ours
    cube = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])])
    return optimize_acqf(ucb, cube, q=1, num_restarts=10, raw_samples=256)


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        task = json.loads(line)
        X, y = torch.tensor(task.pop("X")), torch.tensor(task.pop("y"))
        torch.manual_seed(task.pop("seed"))
        start = time.process_time()  # as `benchmarks.measure` does
        x, value = ask(X, y, **task)
        seconds = time.process_time() - start
        print(json.dumps({"x": x[0].tolist(), "value": float(value), "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
