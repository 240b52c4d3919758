"""driftwise inside other frameworks: one module each, which needs the framework and is imported by its own name.

`optuna` is a sampler (with `optuna_space`, its search spaces). `history` is what adapters share: the state of a policy
after a log that the framework keeps. The core never imports any of it.
"""
