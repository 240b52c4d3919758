"""The arithmetic of `auto-lean`, for one key or many at once: every array has an axis of keys first.

The posteriors of all experts are those of `driftwise.gp.window.experts`. Read `bank` (the experts, and what all keys
share), `window` (the observations of each key, and the units of rewards), `weigh` (how experts are weighted), `step`
(one observation after the other, and the score by which to choose) and `across` (what keys learn from each other).
"""
