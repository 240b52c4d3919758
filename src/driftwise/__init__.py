"""driftwise: time-varying Bayesian optimisation.

A name is imported when it is first used, so that the command line can complete a word without loading NumPy.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftwise.environments import environment
    from driftwise.feasible import Limit, at_least, at_most
    from driftwise.gp.kernels import RBF, Linear, Matern, Product, Scaled, Sum
    from driftwise.gp.posterior import Posterior
    from driftwise.lab.run import run
    from driftwise.policies import policy
    from driftwise.spaces import Candidates, Choice, Float, Int
    from driftwise.study import Study

__all__ = [
    "RBF",
    "Candidates",
    "Choice",
    "Float",
    "Int",
    "Limit",
    "Linear",
    "Matern",
    "Posterior",
    "Product",
    "Scaled",
    "Study",
    "Sum",
    "at_least",
    "at_most",
    "environment",
    "policy",
    "run",
]

_HOMES = {
    "environments": ("environment",),
    "feasible.limits": ("Limit", "at_least", "at_most"),
    "gp.kernels": ("RBF", "Linear", "Matern", "Product", "Scaled", "Sum"),
    "gp.posterior": ("Posterior",),
    "lab.run": ("run",),
    "policies": ("policy",),
    "spaces": ("Candidates", "Choice", "Float", "Int"),
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
