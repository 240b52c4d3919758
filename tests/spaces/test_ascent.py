"""The climb, against maxima known in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from driftwise.records import Array
from driftwise.spaces.ascent import ascend


@dataclass(frozen=True)
class Paraboloid:
    """−½ (x − top)ᵀ A (x − top), badly scaled."""

    top: Array
    A: Array

    def gradient(self, X: Array) -> tuple[Array, Array]:
        away = X - self.top
        return -0.5 * np.einsum("mi,ij,mj->m", away, self.A, away) - 1.0, -away @ self.A


def paraboloid(d: int, top: float = 0.6) -> Paraboloid:
    Q, _ = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))
    return Paraboloid(np.full(d, top), Q @ np.diag(np.logspace(0, 2, d)) @ Q.T)


@pytest.mark.parametrize("d", [1, 2, 6, 20])
@pytest.mark.parametrize("race", [False, True])
def test_reaches_the_top_of_a_badly_scaled_paraboloid(d: int, race: bool) -> None:
    score, starts = paraboloid(d), np.random.default_rng(0).random((5, d))
    X, values = ascend(score, starts, np.ones(d, dtype=bool), race=race, tolerance=1e-9)
    assert values.max() == pytest.approx(-1.0, abs=3e-5)  # what forty iterations may leave, whichever climb wins
    assert np.abs(X[np.argmax(values)] - 0.6).max() < 0.02


def test_every_climb_ends_at_its_own_top_in_the_order_of_the_starts() -> None:
    @dataclass(frozen=True)
    class Own:
        """Row i has its maximum, −i − 1, at tops[i]; it must be asked for all the rows."""

        tops: Array

        def gradient(self, X: Array) -> tuple[Array, Array]:
            assert len(X) == len(self.tops)
            away = X - self.tops
            return -(away * away).sum(axis=1) - np.arange(1, len(X) + 1), -2 * away

    tops = np.random.default_rng(1).random((7, 3))
    X, values = ascend(Own(tops), np.full((7, 3), 0.5), np.ones(3, dtype=bool), tolerance=1e-12)
    assert np.abs(X - tops).max() < 1e-5
    assert np.abs(values + np.arange(1, 8)).max() < 1e-9


def test_stops_at_the_faces_where_the_top_is_outside() -> None:
    score = Paraboloid(np.array([1.5, -0.5, 0.3]), np.eye(3))
    X, _ = ascend(score, np.full((1, 3), 0.5), np.ones(3, dtype=bool), tolerance=1e-12)
    assert X[0] == pytest.approx([1.0, 0.0, 0.3], abs=1e-6)


def test_moves_only_what_is_free() -> None:
    X, _ = ascend(paraboloid(3), np.full((2, 3), 0.1), np.array([True, False, True]))
    assert (X[:, 1] == 0.1).all()
    assert (X[:, [0, 2]] != 0.1).all()


def test_never_ends_below_its_start_nor_outside_the_cube() -> None:
    class Wavy:
        def gradient(self, X: Array) -> tuple[Array, Array]:
            return np.sin(40 * X).sum(axis=1), 40 * np.cos(40 * X)

    starts = np.random.default_rng(2).random((50, 4))
    X, values = ascend(Wavy(), starts, np.ones(4, dtype=bool))
    assert (values >= Wavy().gradient(starts)[0]).all()
    assert values == pytest.approx(Wavy().gradient(X)[0])
    assert X.min() >= 0.0
    assert X.max() <= 1.0


def test_stays_where_everything_is_level() -> None:
    class Flat:
        def gradient(self, X: Array) -> tuple[Array, Array]:
            return np.zeros(len(X)), np.zeros(X.shape)

    starts = np.random.default_rng(3).random((4, 2))
    X, values = ascend(Flat(), starts, np.ones(2, dtype=bool), race=True)
    assert (starts == X).all()
    assert (values == 0).all()
