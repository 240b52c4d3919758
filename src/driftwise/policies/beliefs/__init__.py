"""Beliefs that only policies of the literature have; what several rooms use is in `driftwise.gp`.

`grid_filter` is a Kalman filter in time at finitely many candidates, and `space_time` that or a window of rows (x, t).
`ridge` is a linear model; `landmarks` are few points that stand for all, `features` a kernel as finitely many features,
and `feature_ridge` a belief in these. `faded` has observations that count less with age, `repeated` many at one point.
"""
