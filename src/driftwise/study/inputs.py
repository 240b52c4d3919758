"""What a user gives to a study, checked before anything is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.log import Outcome
from driftwise.records import Suggestion

LARGEST = 1e100  # beyond this the square of a reward nears the end of float64
MEASURES = 32  # of an outcome, at most
REASON = 500  # characters of who and why


def finite(name: str, value: Any) -> float:
    """A finite float. −0 becomes 0, because that is what a file returns."""
    return checks.real(name, value) + 0.0


def time(at: Any) -> float | None:
    """The user's own time, if it is given."""
    return None if at is None else finite("at", at)


def key(given: Any) -> str | None:
    return None if given is None else checks.name("a key", given)


def reward(value: Any, name: str = "reward") -> float:
    """A finite number of at most LARGEST in size."""
    number = finite(name, value)
    if abs(number) > LARGEST:
        raise InvalidInput(f"{name} must be at most {LARGEST:g} in size, got {number!r}; scale your rewards")
    return number


def outcome(given: Any, *, failed: Any = False, std: Any = None, repeats: Any = 1, measures: Any = None) -> Outcome:
    """What came of a setting: a reward with what is known of its noise, or a failure; and what else was measured.

    `std` is the standard deviation of one reading; the outcome has that of their mean.
    """
    found = _measures(measures)
    if checks.flag("failed", failed):
        if given is not None or std is not None or repeats != 1:
            raise InvalidInput("a setting that failed has no reward; leave out reward, std and repeats, or failed=True")
        return Outcome(math.nan, measures=found, failed=True)
    if given is None:
        raise InvalidInput("reward must be a number, got None; or give failed=True if the setting failed")
    count = checks.count("repeats", repeats)
    if std is not None:
        std = checks.positive("std", std, fix="it is the standard deviation of one reading, for example 0.3")
        std = reward(std / math.sqrt(count), "std")
        count = 1
    return Outcome(reward(given), std, count, found)


def _measures(given: Any) -> tuple[tuple[str, float], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidInput(f"measures must be a dict of numbers by name, got {checks.shown(given)}")
    if len(given) > MEASURES:
        raise InvalidInput(f"measures may be {MEASURES} at most, got {len(given)}")
    named = {checks.name("a measure's name", name): value for name, value in given.items()}
    return tuple((name, reward(named[name], f"measure {name!r}")) for name in sorted(named))


def suggestion_id(given: Suggestion | str) -> str:
    id = given.id if isinstance(given, Suggestion) else given
    if not isinstance(id, str):
        raise InvalidInput(f"give a suggestion or its id, got {checks.shown(given)}")
    return id


def reason(who: Any, why: Any) -> tuple[str, str]:
    """Who corrects an observation, and why: any text of at most 500 characters."""
    for name, text in (("who", who), ("why", why)):
        if not isinstance(text, str) or len(text) > REASON:
            raise InvalidInput(f"{name} must be text of at most {REASON} characters, got {checks.shown(text)}")
    return who, why
