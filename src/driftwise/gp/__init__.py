"""Gaussian processes: all that a policy with a kernel needs.

Read `kernels` (a formula each) and `time_kernels` first, then `linalg` and `posterior`, which predicts anywhere. `grid`
updates mean and variance at finitely many candidates by the engine in `window/`, which is also that of fleets and of
`auto-lean`. `belief` has the common interface of beliefs (`Belief`, `Width`, `Model`) and the upper confidence bound.
Beside them: `distances` (of points, pair by pair), `slopes` (weighted sums of gradients), `noise` (of single
observations), `clock` (times as users give them) and `buffers` (rows that successive states share). `past`, with
`factors` and `pace`, says what a table of past rewards tells about candidates.
"""
