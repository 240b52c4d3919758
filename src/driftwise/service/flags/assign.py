"""Who gets which suggestion, and for how long: a pure function of the key and the time."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from driftwise.service.flags.plan import FlagPlan

SPACE = 2**64


@dataclass(frozen=True, slots=True)
class Slot:
    """The suggestion of one targeting key in one period. `key` is the key with which the study is asked."""

    who: str  # a digest of the targeting key, which may be a person's and is not stored
    key: str
    explores: bool


def slot_of(study: str, plan: FlagPlan, targeting_key: str, now: float) -> Slot:
    """Where a targeting key stands now. `study` is what stands for the study, whatever its name.

    Whether it explores depends on the key alone, so that a larger share includes those of a smaller one. Periods of
    different keys begin at different times, so that not everybody changes at once. Who does not explore shares the
    recommended setting of the period with all others.
    """
    who = digest(study, targeting_key)
    share, phase = draw("share", study, targeting_key), draw("phase", study, targeting_key)
    explores = share < plan.explore
    period = math.floor(now / plan.keep_seconds + (phase if explores else 0.0))
    return Slot(who, f"flag {who if explores else 'recommended'} {period}", explores)


def digest(*parts: str) -> str:
    """A short text that stands for these, and from which nobody can tell them."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def draw(*parts: str) -> float:
    """A number from 0 to 1, uniform over all texts."""
    return int(digest(*parts)[:16], 16) / SPACE
