"""Many studies at once: a key each, over the same settings, in batches.

Read `fleet` first, the door, then `shard`: what is asked and told, exactly once. `streams` (`columns`) is what is known
of each key and `alarms` whether its world moved. An `engine` chooses and learns: `folding` does with any policy,
`windows` with those that have a window (`windowed`), whose beliefs are those of `driftwise.gp.window`, in `compiled` or
on a card in `gpu` (`window_kernels`); `lean_engine` does with `auto-lean` on a card (`lean_gpu`, `lean_kernels`,
`lean_scores`). `residents` is which beliefs are in memory.
`together` is what keys learn from each other. `build` is what defines a fleet, `places`, `processes` and `ray_places`
are where its shards are, and `journal/` makes them durable. The command line uses `stream`, `overview` with `page`, and
`bench`.
"""

from driftwise.fleet.fleet import Advice, Batch, Fleet, Movement
from driftwise.fleet.shard import Outcomes

__all__ = ["Advice", "Batch", "Fleet", "Movement", "Outcomes"]
