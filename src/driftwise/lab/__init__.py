"""Experiments: runs, and what is measured of them."""

from driftwise.lab.metrics import Interval, bootstrap, cumulative_regret, mean_regret, regrets, student
from driftwise.lab.run import run

__all__ = ["Interval", "bootstrap", "cumulative_regret", "mean_regret", "regrets", "run", "student"]
