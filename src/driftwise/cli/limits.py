"""How large the sizes given to a command may be: what would never end or never fit is refused at once."""

from __future__ import annotations

from driftwise import checks
from driftwise.errors import InvalidInput

LIMITS = {
    "horizon": (1_000_000, "every step is held in memory until the run ends"),
    "seeds": (10_000, "more seeds hardly narrow the intervals"),
    "points": (5_000, "γ needs a matrix of points × points"),
    "dim": (100, "the points over which γ is maximised cannot fill a larger cube"),
}


def within(**sizes: int | None) -> None:
    """Refuses the options that are beyond their limit.

    >>> within(horizon=500, seeds=None)
    """
    for name, size in sizes.items():
        most, why = LIMITS[name]
        if size is not None and size > most:
            raise InvalidInput(f"{name} must be at most {most:,}, got {checks.shown(size)}: {why}")
