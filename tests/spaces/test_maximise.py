"""The search for the maximum, against maxima known in closed form or by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest

import driftwise as dw
from driftwise.gp.belief import Ucb
from driftwise.gp.kernels import RBF, Kernel, Matern
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Ask
from driftwise.spaces.box import Box
from driftwise.spaces.maximise import maximise

NOWHERE = np.zeros((0, 0))


@dataclass(frozen=True)
class Bumps:
    """Σ h_j exp(−‖x − c_j‖²/2ℓ²): with narrow bumps far apart, its maximum is the highest one's centre."""

    centres: Array
    heights: Array
    width: float = 0.1
    near: Array = field(default_factory=NOWHERE.copy)

    def __call__(self, X: Array) -> Array:
        return self.gradient(X)[0]

    def gradient(self, X: Array) -> tuple[Array, Array]:
        away = X[:, None] - self.centres
        bumps = self.heights * np.exp(-0.5 * (away**2).sum(axis=2) / self.width**2)
        return bumps.sum(axis=1), -np.einsum("mj,mjd->md", bumps, away) / self.width**2

    def anchors(self) -> Array:
        return self.near


def cube(d: int) -> Box:
    return Box.of({f"x{j}": dw.Float(0, 1) for j in range(d)})


def ucb(kernel: Kernel, d: int, *, n: int = 60, seed: int = 0) -> Ucb:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    return Ucb(Posterior(kernel, 0.01, X=X, y=y, K=kernel(X, X)), 2.0)


@pytest.mark.parametrize("number", range(1, 11))
def test_finds_the_highest_of_several_bumps(number: int) -> None:
    centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.85], [0.05, 0.95]])
    score = Bumps(centres, np.array([1.0, 1.02, 1.05, 1.01]))
    assert maximise(score, cube(2), Ask(number, 1.0)) == pytest.approx([0.5, 0.85], abs=1e-3)


def test_finds_a_maximum_in_a_corner() -> None:
    score = Bumps(np.array([[1.0] * 6, [0.4] * 6]), np.array([1.0, 0.9]), width=0.3)
    assert maximise(score, cube(6), Ask(1, 1.0)) == pytest.approx(np.ones(6), abs=1e-6)


def test_finds_a_needle_beside_an_anchor() -> None:
    needle = np.array([[0.31, 0.77, 0.52, 0.13]])
    score = Bumps(needle, np.array([1.0]), width=0.03, near=needle + 0.02)
    assert maximise(score, cube(4), Ask(1, 1.0)) == pytest.approx(needle[0], abs=1e-3)


@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(2.5, 0.2)])
@pytest.mark.parametrize("seed", range(5))
def test_ucb_is_as_high_as_on_a_fine_grid(kernel: Kernel, seed: int) -> None:
    score = ucb(kernel, 2, seed=seed)
    axis = np.linspace(0, 1, 201)
    highest = score(np.stack(np.meshgrid(axis, axis), axis=2).reshape(-1, 2)).max()
    assert score(maximise(score, cube(2), Ask(seed + 1, 1.0))[None])[0] >= highest - 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_mixed_space_as_by_enumeration(seed: int) -> None:
    space = Box.of({"n": dw.Int(1, 40), "kind": dw.Choice(("a", "b", "c")), "x": dw.Float(0, 1)})
    rng = np.random.default_rng(seed)
    X = space.sample(rng, 40)
    kernel, y = Matern(2.5, 0.3), rng.standard_normal(40)
    score = Ucb(Posterior(kernel, 0.01, X=X, y=y, K=kernel(X, X)), 2.0)
    every = itertools.product(range(1, 41), "abc", np.linspace(0, 1, 101))
    highest = score(np.array([space.to_unit({"n": n, "kind": kind, "x": x}) for n, kind, x in every])).max()
    found = maximise(score, space, Ask(seed + 1, 1.0))
    assert (space.snap(found[None]) == found).all()
    assert score(found[None])[0] >= highest - 1e-5


def test_whole_number_far_from_every_scanned_point() -> None:
    space = Box.of({"n": dw.Int(0, 100_000), "m": dw.Int(0, 100_000)})
    top = np.array([space.to_unit({"n": 12_345, "m": 67_890})])
    found = space.from_unit(tuple(maximise(Bumps(top, np.array([1.0]), width=0.2), space, Ask(1, 1.0))))
    assert abs(found["n"] - 12_345) <= 20
    assert abs(found["m"] - 67_890) <= 20


def test_is_a_function_of_score_seed_and_number() -> None:
    score, space = ucb(Matern(2.5, 0.2), 3), cube(3)
    first = maximise(score, space, Ask(7, 1.0, seed=1))
    assert (maximise(score, space, Ask(7, 2.0, seed=1)) == first).all()


def test_another_number_or_seed_scans_other_points() -> None:
    flat = Bumps(np.zeros((1, 2)), np.zeros(1))
    points = {tuple(maximise(flat, cube(2), Ask(n, 1.0, seed=s))) for n, s in ((1, 0), (2, 0), (1, 1))}
    assert len(points) == 3


@pytest.mark.parametrize("d", [1, 20])
def test_few_and_many_dimensions(d: int) -> None:
    score = ucb(Matern(2.5, 0.2 * np.sqrt(d)), d)
    found = maximise(score, cube(d), Ask(1, 1.0))
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert score(found[None])[0] >= score(np.random.default_rng(1).random((20_000, d))).max() - 1e-5
