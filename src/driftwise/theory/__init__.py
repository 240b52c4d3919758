"""What the theorems say, as numbers: how long to remember, what regret to expect, how far off a mean can be."""

from driftwise.theory.bands import drift_aware_band, drift_bias, paper_band, relaxed_drift_aware_band
from driftwise.theory.bounds import (
    Bound,
    Problem,
    realised_bound,
    restart_bound,
    sharp_restart_bound,
    sharp_window_bound,
    sharp_xi,
    window_bound,
    xi,
)
from driftwise.theory.information import GainCurve, MaximumGain, greedy_gain
from driftwise.theory.schedules import drift_aware, known_budget, sharp_budget, unknown_budget
from driftwise.theory.tight import best, drift_aware_bound, tight_restart_bound, tight_spread, tight_window_bound

__all__ = [
    "Bound",
    "GainCurve",
    "MaximumGain",
    "Problem",
    "best",
    "drift_aware",
    "drift_aware_band",
    "drift_aware_bound",
    "drift_bias",
    "greedy_gain",
    "known_budget",
    "paper_band",
    "realised_bound",
    "relaxed_drift_aware_band",
    "restart_bound",
    "sharp_budget",
    "sharp_restart_bound",
    "sharp_window_bound",
    "sharp_xi",
    "tight_restart_bound",
    "tight_spread",
    "tight_window_bound",
    "unknown_budget",
    "window_bound",
    "xi",
]
