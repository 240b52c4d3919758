"""Pictures: numbers in, figure out. Nothing here runs a policy or touches a file; `png` and `svg` say what to write."""

from driftwise.plots.beliefs import Panel, belief_now, belief_of_choices, belief_over_time
from driftwise.plots.files import picture
from driftwise.plots.over_time import drift_over_time
from driftwise.plots.regret import regret_curves
from driftwise.plots.style import DARK, LIGHT, Theme, png, svg

__all__ = [
    "DARK",
    "LIGHT",
    "Panel",
    "Theme",
    "belief_now",
    "belief_of_choices",
    "belief_over_time",
    "drift_over_time",
    "picture",
    "png",
    "regret_curves",
    "svg",
]
