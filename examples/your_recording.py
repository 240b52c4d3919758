"""Policies on a recording of your own system, compared by their regret.

The first CSV file has one row per time and one column per candidate, the second one row of coordinates per candidate.
Two such files are written here: twelve servers on a line, of which the fastest changes from hour to hour.
"""

import tempfile
from pathlib import Path

import numpy as np

import driftwise as dw
from driftwise.environments import recorded
from driftwise.lab import regrets

with tempfile.TemporaryDirectory() as folder:
    servers, hours = np.linspace(0, 1, 12), np.arange(240)
    fastest = 0.5 + 0.4 * np.sin(hours / 30)
    rewards = np.exp(-(((servers - fastest[:, None]) / 0.2) ** 2))
    np.savetxt(Path(folder) / "rewards.csv", rewards, delimiter=",")
    np.savetxt(Path(folder) / "points.csv", servers, delimiter=",")

    world = recorded(Path(folder) / "rewards.csv", Path(folder) / "points.csv")

for name, options in [("random", {}), ("gp-ucb", {}), ("sw-gp-ucb", {"window": 20})]:
    given = {} if name == "random" else {"kernel": world.kernel, "noise": 0.01}
    policy = dw.policy(name, world.space, **given, **options)
    print(f"{name:10} lost {regrets(dw.run(policy, world, world.horizon)).sum():6.1f} of {world.horizon}")
