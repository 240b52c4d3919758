"""The one limit on the size of a problem, which spaces and policies check when they are made.

The memory of an ask follows from the space and the policy, for example from the number of candidates times the number
of observations. Each part counts the numbers that it needs. Only this module knows how many are allowed.
"""

from __future__ import annotations

from driftwise.errors import InvalidInput

LARGEST = 2**24  # numbers, 134 MB; while it computes, a step has two or three times as many and takes about a second
PART = LARGEST // 8  # for what is stored once for each of several states, or scanned at a time
OBSERVATIONS = 128  # counted for a policy that stores as many observations as it gets


def check(who: str, numbers: int, what: str, fix: str) -> None:
    """Raise `InvalidInput` if `who` needs more than LARGEST numbers. `what` says which numbers they are.

    >>> check("r-perp", 10_000**2, "10,000 × 10,000 candidates", "give fewer candidates")
    Traceback (most recent call last):
    driftwise.errors.InvalidInput: r-perp needs at most 16,777,216 numbers (134 MB) in memory, ...
    """
    if numbers > LARGEST:
        most = f"{LARGEST:,} numbers ({8 * LARGEST / 1e6:.0f} MB)"
        raise InvalidInput(f"{who} needs at most {most} in memory, got {numbers:,}: {what}; {fix}")


def rows(dim: int, *, most: int, least: int = 1) -> int:
    """How many points of `dim` coordinates are evaluated or stored at a time.

    >>> rows(2, most=2000), rows(10_000, most=2000)
    (2000, 209)
    """
    return max(min(most, PART // dim), least)
