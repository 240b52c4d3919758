"""How large a command's sizes may be: what would never end, or never fit, is told at once."""

from __future__ import annotations

from driftwise import checks
from driftwise.errors import InvalidInput

LIMITS = {
    "horizon": (1_000_000, "every step is kept until the run is over"),
    "seeds": (10_000, "intervals hardly get narrower beyond"),
    "points": (5_000, "γ is searched for in a matrix of points × points"),
    "dim": (100, "the points on which γ is maximised do not fill a larger cube"),
}


def within(**sizes: int | None) -> None:
    """Refuses the options that are beyond their limit.

    >>> within(horizon=500, seeds=None)
    """
    for name, size in sizes.items():
        most, why = LIMITS[name]
        if size is not None and size > most:
            raise InvalidInput(f"{name} must be at most {most:,}, got {checks.shown(size)}: {why}")
