"""Feasible choices: settings that fail, and limits on what is measured, behind one policy around the user's own.

Read `failures` (where settings work), `limits` (where limits hold), `gate` (where an ask may go), then `policy`.
"""

from __future__ import annotations

from driftwise.feasible.limits import Limit, at_least, at_most
from driftwise.feasible.policy import Feasible

__all__ = ["Feasible", "Limit", "at_least", "at_most"]
