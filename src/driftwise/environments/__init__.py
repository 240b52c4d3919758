"""Worlds, simulated and recorded, the registry of the built-in ones, and `ENVIRONMENTS`, which finds any by its name.

Read, in this order: `world` (what a world is), `rkhs`, `drift`, `levels` and `noise` (its parts), `playback` and
`optimum` (how f_t and its maximum are computed), `truth` (what a world truly is), `catalogue` (the named worlds,
published and ours), `moving`, `swept` and `functions` (worlds that are formulas in time), `searched`, `operations` and
`wrong_readings` (worlds as live systems have them), `recorded` and `csv_sheet` (your recordings), `datasets` (data).
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
from driftwise.errors import InvalidInput
from driftwise.lookup import Catalogue
from driftwise.text import did_you_mean

REGISTRY: dict[str, Callable[..., World]] = {
    "still": catalogue.still,
    "deng-abrupt": catalogue.deng_abrupt,
    "deng-slow": catalogue.deng_slow,
    "bogunovic": catalogue.bogunovic,
    "rotating": catalogue.rotating,
    "rotating-box": catalogue.rotating_box,
}

MEMBERS = (
    *("name", "space", "kernel", "noise", "seed", "horizon", "seeded"),
    *("value", "observe", "best", "variation"),
)
GUIDE = "docs/adding-an-environment.md has an example"


def _a_maker(name: str, given: Any) -> Any:
    """The rule that something makes worlds: a function or a class that takes `seed` by keyword."""
    shown = checks.shown(name)
    if not callable(given):
        raise InvalidInput(f"{shown} must be a function or a class that makes a world, got {checks.shown(given)}")
    try:
        parameters = inspect.signature(given).parameters
    except (TypeError, ValueError):  # some of those that are written in C
        parameters = inspect.signature(lambda: None).parameters
    if "seed" not in parameters or parameters["seed"].kind is inspect.Parameter.POSITIONAL_ONLY:
        raise InvalidInput(f"{shown} must take the keyword seed, as def world(*, seed=0, …); {GUIDE}")
    return given


ENVIRONMENTS = Catalogue("environment", "driftwise.environments", REGISTRY, _a_maker)

__all__ = [
    "ENVIRONMENTS",
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

    Args:
        name: the name of a built-in world or of an entry point, or "module:function_or_Class".
        seed: which world of its kind.
        **options: the options of the world; `driftwise environments` lists the worlds.

    Returns:
        The world, with `space`, `kernel`, `noise`, `value`, `observe` and `best`.

    >>> environment("deng-abrupt", seed=1, noise_std=0.2).noise
    Gaussian(std=0.2)
    """
    known = options_of(name)
    for option in options:
        if option == "noise" and option not in known:
            raise InvalidInput("noise is the variance that a policy assumes; a world takes noise_std, as noise_std=0.1")
        if option not in known:
            has = f"{did_you_mean(option, known)}it has {', '.join(known) or 'none'}"
            raise InvalidInput(f"{name} has no option {checks.shown(option)}; {has}")
    made: World = ENVIRONMENTS.find(name)(seed=seed, **options)
    missing = [member for member in MEMBERS if not hasattr(made, member)]
    if missing:
        raise InvalidInput(f"{name} made {checks.shown(made)}, a world without {', '.join(missing)}; {GUIDE}")
    return made


def options_of(name: str) -> dict[str, inspect.Parameter]:
    """The options that an environment takes by keyword, besides its seed."""
    parameters = inspect.signature(ENVIRONMENTS.find(name)).parameters
    by_keyword = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {key: value for key, value in parameters.items() if key != "seed" and value.kind in by_keyword}
