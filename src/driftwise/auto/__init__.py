"""`auto`, the policy without settings: a mixture of Gaussian-process experts, weighted by how well they predicted.

Read the modules in this order; each imports only those before it.

1. `readings`: a sensor that sticks, and changes of the unit; `data`: which observations the experts use, rewards
   centred and scaled, time in typical gaps.
2. `experts`: what one expert assumes; `forecasts`: its one-step-ahead forecasts of a window, and which observations it
   ignores; `bank`: all experts.
3. `weights`: the weights of experts: fixed share, the share with which new experts enter, families.
4. `pool`: the experts of a search; `refined`: length scales of their own; `waves`: functions that turn; `search`: all
   that a window suggests, cycles, moving levels and changes, too.
5. `stacked`: several experts evaluated at once, and the exploration bonus of each.
6. `mixture`: the belief of all experts together, and the acquisition function.
7. `diagnosis`: what the mixture says about drift, in words; `drift_history`: the same over time; `changes`: a log of
   abrupt changes for alarms.
8. `policy`: the policy itself, which puts these together.
"""
