"""A recording of your own system: what would each policy have lost to somebody who knew?

The CSV has a row a time and a column a candidate; a second one has the candidates' coordinates, a row each.
Here we write two such files first: twelve servers on a line, of which another is the fastest every hour.
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
    told = {} if name == "random" else {"kernel": world.kernel, "noise": 0.01}
    policy = dw.policy(name, world.space, **told, **options)
    print(f"{name:10} lost {regrets(dw.run(policy, world, world.horizon)).sum():6.1f} of {world.horizon}")
