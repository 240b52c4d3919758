"""Outcomes as they are stored: the reward as a number, and the rest as JSON, which most outcomes do not have."""

from __future__ import annotations

import json
from typing import Any

from driftwise.records import Observation
from driftwise.store.base import Outcome
from driftwise.store.checksums import damaged


def written(outcome: Outcome | Observation) -> tuple[float, str | None]:
    """The reward (0 of a failure), and the details as JSON, or None if there are none.

    >>> written(Outcome(1.5)), written(Outcome(1.5, repeats=3)), written(Outcome(0.0, failed=True))
    ((1.5, None), (1.5, '{"repeats":3}'), (0.0, '{"failed":true}'))
    """
    if outcome.std is None and outcome.repeats == 1 and not outcome.measures and not outcome.failed:
        return float(outcome.y) + 0.0, None  # −0 becomes 0, because that is what a file returns
    details: dict[str, Any] = {
        "std": outcome.std,
        "repeats": outcome.repeats if outcome.repeats != 1 else None,
        "measures": outcome.measures or None,
        "failed": outcome.failed or None,
    }
    given = {name: value for name, value in details.items() if value is not None}
    return 0.0 if outcome.failed else float(outcome.y) + 0.0, json.dumps(given, allow_nan=False, separators=(",", ":"))


def read(y: float, details: str | None) -> Outcome:
    """The outcome that was written, to the last bit.

    >>> read(*written(Outcome(1.5, std=0.1, measures=(("ms", 0.1 + 0.2),)))).measures
    (('ms', 0.30000000000000004),)
    """
    if details is None:
        return Outcome(y)
    try:
        given = json.loads(details)
        measures = tuple((name, value) for name, value in given.pop("measures", ()))
        return Outcome(y, measures=measures, **given)
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(f"the details {details!r:.80} are no outcome") from error
