"""Gaussian processes: all that a policy with a kernel needs.

Read `kernels` (a formula each) and `time_kernels` first, then `linalg` and `posterior`, which answers anywhere; `grid`
and `grid_filter` keep mean and variance at finitely many candidates, `space_time` a window of rows (x, t). `belief`
says what they have in common (`Belief`, `Width`, `Model`) and has the upper confidence bound.
Beside them: `distances` (of points, pair by pair), `faded` (observations that count less with age), `repeated` (many at
one point), `ridge` (linear models), `clock` (times as users give them) and `buffers` (rows that successive states
share).
"""
