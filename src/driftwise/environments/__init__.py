"""Worlds, simulated and recorded, and the explicit registry of their names.

Read, in this order: `world` (what a world is), `rkhs`, `drift` and `noise` (what it is made of), `playback` and
`optimum` (how f_t and its maximum are computed), `catalogue` (the named worlds, published and ours), `moving`, `swept`
and `functions` (worlds that are formulas in time), `recorded` and `csv_sheet` (your recordings), `datasets` (data).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from driftwise import checks
from driftwise.environments import catalogue
from driftwise.environments.drift import Abrupt, Chain, Drift, Rotating, Slow, Still, Storm, Trend, Waves
from driftwise.environments.moving import Moving, Translated
from driftwise.environments.noise import Changing, Gaussian, Noise, Rademacher, Uniform
from driftwise.environments.recorded import Recorded, recorded
from driftwise.environments.rkhs import Basis, Coordinates, Expansion, Peaked, Whitened
from driftwise.environments.swept import Swept, swept
from driftwise.environments.world import Environment, SeededEnvironment, World
from driftwise.errors import InvalidInput, NotFoundError

REGISTRY: dict[str, Callable[..., World]] = {
    "still": catalogue.still,
    "deng-abrupt": catalogue.deng_abrupt,
    "deng-slow": catalogue.deng_slow,
    "bogunovic": catalogue.bogunovic,
    "rotating": catalogue.rotating,
    "rotating-box": catalogue.rotating_box,
}

__all__ = [
    "REGISTRY",
    "Abrupt",
    "Basis",
    "Chain",
    "Changing",
    "Coordinates",
    "Drift",
    "Environment",
    "Expansion",
    "Gaussian",
    "Moving",
    "Noise",
    "Peaked",
    "Rademacher",
    "Recorded",
    "Rotating",
    "SeededEnvironment",
    "Slow",
    "Still",
    "Storm",
    "Swept",
    "Translated",
    "Trend",
    "Uniform",
    "Waves",
    "Whitened",
    "World",
    "environment",
    "options_of",
    "recorded",
    "swept",
]


def environment(name: str, *, seed: int = 0, **options: Any) -> World:
    """A world by name, with options of its own; `noise_std` is the standard deviation of its noise.

    >>> environment("deng-abrupt", seed=1, noise_std=0.2).noise
    Gaussian(std=0.2)
    """
    if not isinstance(name, str) or name not in REGISTRY:
        raise NotFoundError(f"no environment is called {checks.shown(name)}; there are {', '.join(sorted(REGISTRY))}")
    known = options_of(name)
    for option in options:
        if option == "noise":
            raise InvalidInput("noise is the variance that a policy assumes; a world takes noise_std, as noise_std=0.1")
        if option not in known:
            raise InvalidInput(f"{name} has no option {checks.shown(option)}; it has {', '.join(known)}")
    return REGISTRY[name](seed=seed, **options)


def options_of(name: str) -> dict[str, inspect.Parameter]:
    """The options that an environment takes by keyword, besides its seed."""
    parameters = inspect.signature(REGISTRY[name]).parameters
    return {key: value for key, value in parameters.items() if key != "seed"}
