"""`auto`, the policy that needs to be told nothing: everything that it alone uses.

Read `policy` first, which says what it does with a reward and how it chooses. `data` is what experts see of the log;
`experts` has the bank of them, their forecasts and their weights; `search` looks for what the bank lacks: changes,
cycles, levels, outliers. `mixture` is what they believe together, `stacked` hears them at once. `diagnosis` says in
words how the world moves, `drift_history` how it moved.
"""
