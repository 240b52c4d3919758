"""What the examples with trackers tune: earnings at a price whose best value moves."""

import math

import optuna

TRIALS = 25


def objective(trial: optuna.Trial) -> float:
    """Earnings on the day of a trial."""
    price = trial.suggest_float("price", 5, 20)
    best = 12 + 4 * math.sin(trial.number / 25)
    return 100 * math.exp(-(((price - best) / 4) ** 2))
