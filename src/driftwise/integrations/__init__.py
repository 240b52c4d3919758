"""driftwise inside other frameworks: one module each, which needs the framework and is imported by its own name.

`history` is what adapters share: the state of a policy after a log that the framework keeps. `optuna` is a sampler,
with `optuna_space` (its search spaces) and `optuna_trials` (its trials as a log). `river` has bandit policies, `gest` a
generator for Xopt and others that follow gest-api, and `ax` a generation node. The core never imports any of it.
"""
