"""How large is too large: one limit, of numbers of 8 bytes, that spaces and policies are held to when they are made.

What an ask costs follows from the space and the policy: so many candidates beside so many observations, so many
coordinates of so many points. Each says here what it needs; this is the only place that knows how much there is.
"""

from __future__ import annotations

from driftwise.errors import InvalidInput

LARGEST = 2**24  # numbers, 134 MB; while it computes, a step has two or three times as many and takes about a second
PART = LARGEST // 8  # what may be kept once for each of several states, or scanned at a time
OBSERVATIONS = 128  # that are counted where a policy keeps as many as it is told


def check(who: str, numbers: int, what: str, fix: str) -> None:
    """`who` needs so many numbers, `what` they are: refused where they are more than LARGEST.

    >>> check("r-perp", 10_000**2, "10,000 × 10,000 candidates", "give fewer candidates")
    Traceback (most recent call last):
    driftwise.errors.InvalidInput: r-perp needs at most 16,777,216 numbers (134 MB) in memory, ...
    """
    if numbers > LARGEST:
        most = f"{LARGEST:,} numbers ({8 * LARGEST / 1e6:.0f} MB)"
        raise InvalidInput(f"{who} needs at most {most} in memory, got {numbers:,}: {what}; {fix}")


def rows(dim: int, *, most: int, least: int = 1) -> int:
    """How many points of so many coordinates are looked at or kept at a time.

    >>> rows(2, most=2000), rows(10_000, most=2000)
    (2000, 209)
    """
    return max(min(most, PART // dim), least)
