from driftwise.integrations.optuna import DriftSampler, best_now, drift

__all__ = ["DriftSampler", "best_now", "drift"]
