"""Pictures: numbers in, figure out. Nothing here runs a policy or reads a file; `png` and `svg` turn a figure into text."""

from driftwise.plots.beliefs import belief_now, belief_over_time
from driftwise.plots.regret import regret_curves
from driftwise.plots.style import DARK, LIGHT, Theme, png, svg

__all__ = ["DARK", "LIGHT", "Theme", "belief_now", "belief_over_time", "png", "regret_curves", "svg"]
