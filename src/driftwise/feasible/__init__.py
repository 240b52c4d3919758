"""Feasible choices: settings that fail, and limits on what is measured, behind one policy around the user's own.

Read `failures` (where settings work), `limits` (where limits hold), `gate` (where an ask may go), then `policy`.
"""

from __future__ import annotations

from driftwise.feasible.limits import Limit, as_limits, at_least, at_most
from driftwise.feasible.policy import Feasible, FeasibleState

__all__ = ["Feasible", "FeasibleState", "Limit", "as_limits", "at_least", "at_most"]
