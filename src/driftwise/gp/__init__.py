"""Gaussian processes: all that a policy with a kernel needs.

Read `kernels` (a formula each) and `time_kernels` first, then `linalg` and `posterior`, which predicts anywhere. `grid`
and `grid_filter` update mean and variance at finitely many candidates, the first by the engine in `window/`, which is
also that of fleets and of `auto-lean`; `space_time` has a window of rows (x, t).
`belief` has their common interface (`Belief`, `Width`, `Model`) and the upper confidence bound.
Beside them: `landmarks` (few points that stand for all), `features` and `feature_ridge` (a kernel as finitely many
features, and a belief in these), `distances` (of points, pair by pair), `faded` (observations that count less with
age), `repeated` (many at one point), `ridge` (linear models), `clock` (times as users give them) and `buffers` (rows
that successive states share).
"""
