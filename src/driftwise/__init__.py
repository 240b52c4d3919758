"""driftwise: time-varying Bayesian optimisation.

A name is imported when it is first used, so that the command line can complete a word without loading NumPy.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftwise.environments import environment
    from driftwise.errors import InvalidInput
    from driftwise.feasible import Limit, at_least, at_most
    from driftwise.fleet import Fleet
    from driftwise.gp.kernels import RBF, Kernel, Linear, Matern, Product, Scaled, Sum
    from driftwise.gp.posterior import Posterior
    from driftwise.lab.run import run
    from driftwise.live import Live
    from driftwise.policies import BasePolicy, Decision, policy
    from driftwise.records import Array, Ask, Observation
    from driftwise.rng import generator
    from driftwise.spaces import Candidates, Choice, Float, Int, Space
    from driftwise.study import Study

__all__ = [
    "RBF",
    "Array",
    "Ask",
    "BasePolicy",
    "Candidates",
    "Choice",
    "Decision",
    "Fleet",
    "Float",
    "Int",
    "InvalidInput",
    "Kernel",
    "Limit",
    "Linear",
    "Live",
    "Matern",
    "Observation",
    "Posterior",
    "Product",
    "Scaled",
    "Space",
    "Study",
    "Sum",
    "at_least",
    "at_most",
    "environment",
    "generator",
    "policy",
    "run",
]

_HOMES = {
    "environments": ("environment",),
    "errors": ("InvalidInput",),
    "feasible.limits": ("Limit", "at_least", "at_most"),
    "fleet": ("Fleet",),
    "gp.kernels": ("RBF", "Kernel", "Linear", "Matern", "Product", "Scaled", "Sum"),
    "gp.posterior": ("Posterior",),
    "lab.run": ("run",),
    "live": ("Live",),
    "policies": ("BasePolicy", "Decision", "policy"),
    "records": ("Array", "Ask", "Observation"),
    "rng": ("generator",),
    "spaces": ("Candidates", "Choice", "Float", "Int", "Space"),
    "study": ("Study",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # a type checker knows every name, and that there are no others

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
            return value
        if importlib.util.find_spec(f"{__name__}.{name}"):  # a module of ours, as driftwise.errors
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
