"""What a study says about settings: where to go, what to expect there, and how sure that is. Pure functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from driftwise import limits
from driftwise.gp.belief import Belief, Ucb
from driftwise.records import Array, Ask
from driftwise.rng import generator
from driftwise.spaces import Space

CAUTION = 1.0  # standard deviations by which a recommendation is below the mean
SAMPLE = 512  # settings at which the function's variance is measured
FEWEST = 2  # observations, and one for each parameter, before anything can be sure
KNOWN = 0.75  # share of that variance that must be explained at a setting that one may be sure of


def cautious(space: Space, belief: Belief, ask: Ask) -> Array:
    """argmax μ − σ: where the posterior is good and known. After one reward it is the setting that was tried."""
    return space.argmax(Ucb(belief, -CAUTION), replace(ask, pending=()))


def is_known(space: Space, belief: Belief, x: Array) -> bool:
    """Whether the observations explain most of what the function does at x: σ²(x) ≤ (1 − KNOWN) Var f.

    Var f is the variance of the function's value at a random setting, Var μ + E σ². With no more observations than
    parameters nothing is known: there is nothing to compare with.
    """
    if len(belief) < FEWEST + len(space.names):
        return False
    if space.points is not None:
        X = space.points[: limits.rows(space.dim, most=4096)]
    else:
        X = space.sample(generator(0), limits.rows(space.dim, most=SAMPLE))
    mean, std = belief.predict(X)
    variance = float(np.var(mean) + np.mean(std**2))
    return float(belief.predict(x[None, :])[1][0]) ** 2 <= (1 - KNOWN) * variance


def is_limited(belief: Belief, x: Array, doubted: Array) -> bool:
    """Whether a setting of which it is doubted that it works is as good as x, by μ − σ: to be sure of x, one must know.

    Rounding is no difference: x itself may be the one that is doubted.
    """
    scores = Ucb(belief, -CAUTION)(np.vstack([x, doubted]))
    return bool((scores[1:] >= scores[0]).any() or np.isclose(scores[1:], scores[0]).any())


def in_users_units(belief: Belief, X: Array, sign: float) -> tuple[Array, Array]:
    """Mean and standard deviation of the function at the rows of X, in the units and with the sign of the rewards."""
    mean, std = belief.predict(X)
    location, scale = belief.units
    return sign * (location + scale * mean), scale * std
