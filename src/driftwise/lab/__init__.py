"""Experiments: runs, and what is measured of them."""

from driftwise.lab.run import run
from driftwise.lab.statistics import Interval, bootstrap, cumulative_regret, mean_regret, regrets, student

__all__ = ["Interval", "bootstrap", "cumulative_regret", "mean_regret", "regrets", "run", "student"]
