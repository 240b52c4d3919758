"""Which policy to use in an environment like this one: run them, and compare their regret with intervals."""

import driftwise as dw
from driftwise.lab import interval, regrets

SEEDS, HORIZON = 15, 300
world = dw.environment("deng-abrupt")

for name, options in [("gp-ucb", {}), ("r-gp-ucb", {"interval": 60}), ("sw-gp-ucb", {"window": 60})]:
    policy = dw.policy(name, world.space, kernel=world.kernel, noise=world.noise.variance, width=2.0, **options)
    totals = [regrets(dw.run(policy, world, HORIZON, seed=seed)).sum() for seed in range(SEEDS)]
    regret = interval(totals)
    print(f"{name:10} {regret.mean:6.1f}   (95%: {regret.low:.1f} to {regret.high:.1f})")
