"""Which policy to use in an environment like this one: run them, and compare their regret with intervals."""

import numpy as np

import driftwise as dw
from driftwise.lab import regrets, student

SEEDS, HORIZON = 15, 300
world = dw.environment("deng-abrupt")

for name, options in [("gp-ucb", {}), ("r-gp-ucb", {"interval": 60}), ("sw-gp-ucb", {"window": 60})]:
    policy = dw.policy(name, world.space, kernel=world.kernel, noise=world.noise.variance, width=2.0, **options)
    totals = [regrets(dw.run(policy, world, HORIZON, seed=seed)).sum() for seed in range(SEEDS)]
    regret = student(np.array(totals))
    print(f"{name:10} {regret.mean:6.1f}   (95%: {max(regret.low, 0):.1f} to {regret.high:.1f})")
