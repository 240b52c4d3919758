"""driftwise: time-varying Bayesian optimisation."""

from driftwise.environments import environment
from driftwise.gp.kernels import RBF, Linear, Matern, Product, Scaled, Sum
from driftwise.gp.posterior import Posterior
from driftwise.lab import run
from driftwise.policies import policy
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
