"""driftwise: time-varying Bayesian optimisation."""

from driftwise.environments import environment
from driftwise.kernels import RBF, Linear, Matern, Product, Scaled, Sum
from driftwise.lab import run
from driftwise.policies import policy
from driftwise.posterior import Posterior
from driftwise.spaces import Candidates, Choice, Float, Int
from driftwise.study import Study

__all__ = [
    "RBF",
    "Candidates",
    "Choice",
    "Float",
    "Int",
    "Linear",
    "Matern",
    "Posterior",
    "Product",
    "Scaled",
    "Study",
    "Sum",
    "environment",
    "policy",
    "run",
]
