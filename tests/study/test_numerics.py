"""No numerical failure reaches the user: duplicated points, constant and huge rewards, tiny noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Study
from driftwise.policies import REGISTRY

GRID = Candidates(np.linspace(0, 1, 30)[:, None], names=["x"])
BOX = {"x": Float(0, 1)}
REWARDS = {
    "constant": lambda i: 3.0,
    "zero": lambda i: 0.0,
    "huge": lambda i: 1e12 * (-1) ** i,
    "huge and constant": lambda i: -1e12,
    "huge, hardly different": lambda i: 1e12 + i % 2,
    "tiny": lambda i: 1e-300 * (i % 3),
    "of all sizes": lambda i: (-1) ** i * 10.0 ** (i % 25 - 12),
    "largest": lambda i: 1e100 * (-1) ** i,
}


def is_sound(study: Study) -> None:
    """A finite posterior, 0 ≤ variance ≤ prior variance, everywhere; and a finite recommendation."""
    belief = study.belief()
    for X in (GRID.points, np.random.default_rng(0).random((50, 1))):
        mean, std = belief.predict(X)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert (std <= 1).all()  # the kernels here have k(x, x) = 1
    best = study.recommend()
    assert math.isfinite(best.mean)
    assert math.isfinite(best.std)


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("space", [GRID, BOX], ids=["candidates", "box"])
@pytest.mark.parametrize("noise", [1e-2, 1e-9])
def test_bad_rewards_and_repeated_points(space, rewards, noise):
    study = Study("s", space, policy="sw-gp-ucb", window=12, kernel=RBF(0.5), noise=noise)
    for i in range(1, 31):
        x = GRID.points[(i // 7) % 3, 0]  # the same three points over and over
        study.observe({"x": float(x)}, REWARDS[rewards](i))
        if i % 5 == 0:
            study.tell(study.ask(), REWARDS[rewards](i))
            is_sound(study)


@pytest.mark.parametrize(
    ("space", "points"),
    [(Candidates([[0.5], [0.5 + 1e-12], [0.9]], names=["x"]), (0.5, 0.5 + 1e-12)), (BOX, (0.5, 0.9))],
    ids=["candidates", "box"],
)
def test_jitter_is_reported(space, points):
    """At a noise below rounding, equal points make a matrix without a factor: the ladder is climbed, and it is said.

    All observations of one candidate are one row, so that there only two that no kernel can tell apart are as equal.
    """
    study = Study("s", space, policy="sw-gp-ucb", window=12, kernel=RBF(0.5), noise=1e-18)
    for i in range(12):
        study.observe({"x": points[i % 2]}, float(i))
    study.ask()
    counts = study.describe().counts
    assert counts.jittered == 1
    assert counts.jitter >= 1e-10
    is_sound(study)


def test_repeats_of_candidates_need_no_jitter():
    study = Study("s", GRID, policy="sw-gp-ucb", window=12, kernel=RBF(0.5), noise=1e-18)
    for i in range(12):
        study.observe({"x": float(GRID.points[29 * (i % 2), 0])}, float(i))
    study.ask()
    assert study.describe().counts.jittered == 0
    is_sound(study)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_policy_survives(name):
    study = Study("s", GRID, name)
    for i in range(12):
        study.observe({"x": float(GRID.points[i % 2, 0])}, 1e12 * (-1) ** (i // 3))
        s = study.ask()
        study.tell(s, 1e12)
        assert all(map(math.isfinite, s.x))
