"""Where they are compared: any case of the lab's suites that is on a box, found by name from any process."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase

import numpy as np

from driftwise.environments.world import SeededEnvironment
from driftwise.errors import NotFoundError
from driftwise.lab import suites
from driftwise.lab.cases import Case
from driftwise.rng import generator
from driftwise.spaces import Box

TIMES, POINTS = 5, 8  # of a fingerprint


def case(suite: str, name: str) -> Case:
    """A case of a suite."""
    return suites.suite(suite).case(name)


def boxes(suite: str, patterns: list[str]) -> list[Case]:
    """The cases like one of `patterns` that peers can be run on."""
    named = [c for c in suites.suite(suite).cases if any(fnmatchcase(c.name, p) for p in patterns)]
    found = [c for c in named if fits(c.environment(0))]
    if not found:
        why = "are on boxes" if named else f"are called {' or '.join(patterns)}"
        raise NotFoundError(f"no cases of {suite} {why}; see: driftwise suites")
    return found


def fits(world: SeededEnvironment) -> bool:
    """Whether it is on a box of real numbers."""
    return isinstance(world.space, Box) and bool(world.space.continuous.all())


def fingerprint(world: SeededEnvironment, horizon: int) -> str:
    """Twelve characters that change when the world or its noise does: what is kept of another world is not this one's.

    Values are rounded to 6 digits, so that another machine's last bits are the same world.
    """
    X = generator(0).random((POINTS, world.space.dim))
    times = np.unique(np.linspace(1, horizon, TIMES).round().astype(int)).tolist()
    seen = [[*world.value(t, X), world.observe(t, X[0])] for t in times]
    text = ";".join(f"{value:.5e}" for row in seen for value in row)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
