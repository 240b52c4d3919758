"""Small logs and tables that the tests of auto's parts share."""

import numpy as np

from driftwise.auto.data import Frame, Observations
from driftwise.auto.pieces import made_at_once
from driftwise.auto.rows import Hypotheses, Row
from driftwise.auto.sheaf import fold
from driftwise.auto.window import Readings
from driftwise.gp.kernels import RBF, Level, Matern, Sum
from driftwise.gp.time_kernels import Forgetting, MaternInTime

KERNELS = (Sum(Matern(2.5, (0.3, 0.3)), Level(0.3)), Sum(RBF((0.4, 0.4)), Level(0.3)))
TIMES = (Forgetting(0.0), Forgetting(0.03), MaternInTime(2.5, 20.0))
TABLE = Hypotheses(KERNELS, TIMES, (0.01, 0.03, 0.1), parts=((0,), (1,)), dim=2)


def observations(n, *, seed=0, far=(), value=60.0, standardise=True, lowest=None):
    """Readings of a smooth function at random settings; those at the indices `far` are a `value` off."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    if lowest is not None:
        y = y - y.min() + lowest
    y[list(far)] += value
    return Observations(np.arange(1, n + 1), np.arange(1.0, n + 1), X, y, Frame((1.0, 1.0), standardise=standardise))


def first(data, n):
    return data.only(np.arange(n))


def folded(rows, window, table=TABLE):
    return made_at_once(fold(table, window, rows, np.zeros(len(window), dtype=bool)))


def sheaf_of(data, rows, table=TABLE, known=None):
    return folded(rows, Readings.of(data, known), table)


def row(kernel=0, time=TIMES[1], noise=0.03, **parts):
    return Row(kernel, time, noise, **parts)
