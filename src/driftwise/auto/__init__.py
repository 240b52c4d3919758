"""`auto`, the policy without settings: one table of hypotheses, weighed by how well they predicted.

Read the modules in this order; each imports only those before it.

1. `readings`: a sensor that sticks, and changes of the unit; `data`: which observations are used, time in typical gaps.
2. `rows`: what a row assumes, what it costs, and which rows are proposed; `warps`: the scales of the reward.
3. `window`: the readings on every scale; `far`: errors and cliffs; `sheaf`: rows folded over a window.
4. `weights`: fixed share, and how rows enter at their dates.
5. `pieces`: work done a little at a time; `search`: the greedy loop that proposes, weighs and drops; `follow`: the
   heaviest rows between two searches. A change is noticed here: `Following.after` adds rows with a date.
6. `horizon`: for how long a discovery pays; `mixture`: the belief of all rows; `acquisition`: what a setting is
   worth.
7. `diagnosis`: what the weights say about drift, in words; `drift_history`: the same over time; `changes`: a log of
   abrupt changes for alarms.
8. `policy`: the policy itself, which puts these together.
"""
