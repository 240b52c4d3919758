"""When a setting is worth a trial: it is better by the belief, by more than it costs to change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.gp.belief import Belief, Ucb
from driftwise.live.rollout import Proposal
from driftwise.records import Array, Ask, Point
from driftwise.spaces import Space
from driftwise.spaces.local import nearby

CAUTION = 1.0  # standard deviations by which a setting is expected to be better
FEWEST = 5  # readings of the incumbent before there is a candidate
LATEST = 128  # readings among which those of the incumbent are looked for
NEAR = 0.05  # distance in the unit cube up to which settings are the same candidate, where they cannot be listed
SHORTEST = 100  # asks for which a change pays at least


def promising(
    space: Space,
    belief: Belief,
    ask: Ask,
    here: Array,
    *,
    margin: float,
    cost: float,
    lasted: int,
    reach: float | None,
    tried: Sequence[Array] = (),
) -> Array | None:
    """The setting with the best cautious forecast, if it beats `here` by the margin and by `cost` over what it lasts.

    What has lasted so many asks will last as many again. What is not known of `here` is common to all settings, such as
    the level: it cancels in the difference. With a `reach` settings further away are left out. What was `tried` lately
    is not tried again.
    """
    score = Ucb(belief, -CAUTION)
    x = space.argmax(score, ask) if reach is None else nearby(score, space, here, reach, ask)
    mean, std = belief.predict(np.vstack([x, here]))
    scale = belief.units[1]
    gain = scale * (mean[0] - mean[1])
    unsure = scale * math.sqrt(max(std[0] ** 2 - std[1] ** 2, 0.0))
    worth = gain > max(margin, cost / max(lasted, SHORTEST), CAUTION * unsure)
    near = 0.0 if space.points is not None else NEAR
    known = any(float(np.linalg.norm(x - each)) <= near for each in (here, *tried))
    return x if worth and not known else None


def proposal(candidate: Point, incumbent: Point, readings: Sequence[float]) -> Proposal:
    """A candidate beside what the readings of the incumbent, oldest first, say of its level and its noise.

    The noise is that of their differences, so that a level that moves does not count as noise.
    """
    y = np.asarray(readings, dtype=float)
    scale = math.sqrt(float(np.mean(np.diff(y) ** 2)) / 2)
    return Proposal(candidate, incumbent, float(y[-16:].mean()), max(scale, 1e-9 * max(1.0, float(np.abs(y).max()))))


def said(made: Proposal) -> dict[str, Any]:
    """A proposal as JSON has it."""
    return made._asdict()


def heard(given: Any) -> Proposal:
    """The proposal that `said` wrote."""
    return Proposal(tuple(given["candidate"]), tuple(given["incumbent"]), given["level"], given["scale"])
