"""The maximum among what an ask allows: it is allowed, and as high as the best of a fine grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise import Candidates, Choice, Float, Int
from driftwise.errors import InvalidInput, NothingAllowed
from driftwise.gp.belief import Ucb
from driftwise.gp.kernels import RBF
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Ask
from driftwise.spaces import Box, all_of, as_space, draw
from driftwise.spaces.context import pinned
from driftwise.spaces.local import nearby

pytestmark = pytest.mark.slow  # it says nothing about versions of other packages

Rule = Callable[[Array], Any]
TOLERANCE = 2e-3  # of the range of the score, by which the maximum may be missed


def ucb(space: Any, seed: int, n: int = 30) -> Ucb:
    rng = np.random.default_rng(seed)
    X = space.sample(rng, n)
    y = np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    kernel = RBF(0.4)
    return Ucb(Posterior(kernel, 0.01, X=X, y=y, K=kernel(X, X)), 1.0)


def lines(d: int, n: int) -> Array:
    return np.stack(np.meshgrid(*[np.linspace(0, 1, n)] * d, indexing="ij"), axis=-1).reshape(-1, d)


def disc(share: float, *centre: float) -> Rule:
    return lambda X: np.square(X[:, : len(centre)] - centre).sum(axis=1) <= share / np.pi


RULES: dict[str, Rule] = {
    "50%": lambda X: X[:, 0] + X[:, 1] <= 1,
    "10%": lambda X: X[:, 0] * X[:, 1] <= 0.02,
    "1% in a disc": disc(0.01, 0.3, 0.6),
    "1% in a band": lambda X: np.abs(X[:, 0] - X[:, 1]) <= 0.005,
    "0.1% in a disc": disc(0.001, 0.7, 0.2),
    "0.1% in a band": lambda X: np.abs(X[:, 0] - X[:, 1] ** 2) <= 0.0005,
    "0.1% in a ring": lambda X: np.abs(np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) - 0.3) <= 0.00027,
}
PLANE = Box.of({"a": Float(0, 1), "b": Float(0, 1)})
MIXED = Box.of({"a": Float(0, 1), "n": Int(1, 5000), "c": Choice(["x", "y", "z"])})


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("seed", range(3))
def test_in_the_plane_it_is_as_high_as_the_best_of_a_million(rule: Rule, seed: int) -> None:
    score, grid = ucb(PLANE, seed), lines(2, 1001)
    values = np.concatenate([score(X) for X in np.array_split(grid, 20)])
    x = PLANE.argmax(score, Ask(seed + 1, 1.0, allowed=rule))
    assert rule(x[None])[0]
    assert score(x[None])[0] >= values[rule(grid)].max() - TOLERANCE * np.ptp(values)


@given(low=st.floats(0, 0.999), share=st.sampled_from([0.5, 0.1, 0.01, 0.001]), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_on_a_line_it_is_the_best_of_an_interval(low: float, share: float, seed: int) -> None:
    line = Box.of({"a": Float(0, 1)})
    score = ucb(line, seed)
    high = min(low + share, 1.0)

    def rule(X: Array) -> Any:
        return (low <= X[:, 0]) & (X[:, 0] <= high)

    x = line.argmax(score, Ask(1, 1.0, allowed=rule))
    values = score(np.linspace(0, 1, 5001)[:, None])
    assert rule(x[None])[0]
    best = score(np.linspace(low, high, 2001)[:, None]).max()
    assert score(x[None])[0] >= best - TOLERANCE * np.ptp(values)


MIXED_RULES: dict[str, Rule] = {
    "50%": lambda X: X[:, 0] + X[:, 1] <= 1,
    "10%": lambda X: (X[:, 0] * X[:, 1] <= 0.1) & (X[:, 3] == 1),
    "1%": lambda X: (np.abs(X[:, 0] - X[:, 1]) <= 0.005) | (X[:, 0] > 2),
    "0.1%": lambda X: (np.abs(X[:, 0] - X[:, 1]) <= 0.0015) & (X[:, 4] == 1),
}


@pytest.mark.parametrize("rule", MIXED_RULES.values(), ids=MIXED_RULES)
@pytest.mark.parametrize("seed", range(3))
def test_on_a_mixed_box_too(rule: Rule, seed: int) -> None:
    score = ucb(MIXED, seed)
    numbers = lines(2, 501)
    numbers[:, 1] = MIXED.parameters[1][1].snap(numbers[:, 1:])[:, 0]
    numbers = np.vstack([numbers, np.repeat(numbers[::502, 1:], 2, axis=1)])  # the diagonal as it is
    grid = np.vstack([np.hstack([numbers, np.tile(np.eye(3)[c], (len(numbers), 1))]) for c in range(3)])
    values = np.concatenate([score(X) for X in np.array_split(grid, 20)])
    x = MIXED.argmax(score, Ask(seed + 1, 1.0, allowed=rule))
    assert rule(x[None])[0]
    assert np.array_equal(MIXED.snap(x[None])[0], x)
    assert score(x[None])[0] >= values[rule(grid)].max() - TOLERANCE * np.ptp(values)


def test_in_many_coordinates_it_is_allowed_and_better_than_chance() -> None:
    space = Box.of({"a": Float(0, 1), "c": Choice(list(range(80))), "b": Float(0, 1), "k": Choice(list(range(20)))})
    score = ucb(space, 0)

    def rule(X: Array) -> Any:
        return (X[:, 0] + X[:, 81] <= 0.5) & (X[:, 1:40].sum(axis=1) == 1)

    x = space.argmax(score, Ask(3, 1.0, allowed=rule))
    assert rule(x[None])[0]
    assert np.array_equal(space.snap(x[None])[0], x)
    some = space.sample(np.random.default_rng(1), 20_000)
    assert score(x[None])[0] >= score(some[rule(some)]).max()


FIXABLE = {
    "plane": (PLANE, (1,)),
    "mixed, the number": (MIXED, (1,)),
    "mixed, the choice": (MIXED, (2, 3, 4)),
    "mixed, all but the choice": (MIXED, (0, 1)),
    "all": (PLANE, (0, 1)),
    "few": (Box.of({"n": Int(0, 6), "c": Choice(["x", "y"])}), (0,)),
    "candidates": (Candidates(np.random.default_rng(0).integers(0, 4, (60, 2)).astype(float)), (1,)),
    "many": (Box.of({"a": Float(0, 1), "b": Float(0, 1), "c": Choice(list(range(90)))}), (0,)),
}


@pytest.mark.parametrize(("space", "places"), FIXABLE.values(), ids=FIXABLE)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_coordinates_come_back_to_the_bit(space: Any, places: tuple[int, ...], seed: int) -> None:
    score = ucb(space, seed)
    at = space.sample(np.random.default_rng(100 + seed), 1)[0]
    ask = Ask(seed + 1, 1.0, fixed=tuple((j, float(at[j])) for j in places))
    some = space.points if space.points is not None else space.sample(np.random.default_rng(1), 5000)
    some = some[(some[:, places] == at[list(places)]).all(axis=1)] if space.points is not None else some
    some = some.copy()
    some[:, places] = at[list(places)]
    for x in (space.argmax(score, ask), draw(space, ask), nearby(score, space, some[0], 0.3, ask)):
        assert x[list(places)].tolist() == at[list(places)].tolist()
        assert space.to_unit(space.from_unit(tuple(x.tolist()))) == tuple(x.tolist())
    assert score(space.argmax(score, ask)[None])[0] >= score(some).max() - TOLERANCE


@pytest.mark.parametrize("seed", range(5))
def test_draws_and_small_steps_are_allowed(seed: int) -> None:
    rule = RULES["1% in a band"]
    for space in (PLANE, MIXED, Candidates(np.linspace(0, 1, 200)[:, None] + np.array([0.0, 0.001]))):
        ask = Ask(seed + 1, 1.0, allowed=rule)
        assert rule(draw(space, ask)[None])[0]
        start = space.sample(np.random.default_rng(seed), 1)[0]  # as likely as not itself not allowed
        x = nearby(ucb(space, seed), space, start, 0.1, ask)
        assert rule(x[None])[0]


def test_examples_lead_to_what_no_scan_finds() -> None:
    class Tiny:
        examples = np.array([[0.123456, 0.654321]])

        def __call__(self, X: Array) -> Any:
            return np.abs(X - self.examples[0]).max(axis=1) <= 1e-6

    score, rule = ucb(PLANE, 0), Tiny()
    for ask in (Ask(1, 1.0, allowed=rule), Ask(1, 1.0, allowed=all_of(rule, lambda X: X[:, 0] < 0.5))):
        assert rule(PLANE.argmax(score, ask)[None])[0]
        assert rule(draw(PLANE, ask)[None])[0]
    pinned = Ask(1, 1.0, allowed=rule, fixed=((0, 0.123456),))
    assert rule(PLANE.argmax(score, pinned)[None])[0]


@pytest.mark.parametrize("space", [PLANE, MIXED, Candidates([[0.0], [1.0]]), as_space({"n": Int(1, 5)})])
def test_where_nothing_is_allowed_it_says_so(space: Any) -> None:
    ask = Ask(1, 1.0, allowed=lambda X: np.zeros(len(X), dtype=bool))
    for call in (lambda: space.argmax(ucb(space, 0), ask), lambda: draw(space, ask)):
        with pytest.raises(NothingAllowed, match=r"must be allowed, and of .* none is; loosen"):
            call()
    assert issubclass(NothingAllowed, InvalidInput)


def test_what_is_fixed_is_shown_in_the_users_units() -> None:
    space = as_space({"size": Float(0, 40, log=False), "kind": Choice(["fast", "slow", "off"]), "n": Int(1, 9)})
    fixed = pinned(space, {"size": 10.0, "kind": "slow"})
    ask = Ask(1, 1.0, fixed=fixed, allowed=lambda X: np.zeros(len(X), dtype=bool))
    whole = replace(ask, fixed=pinned(space, {"size": 10.0, "kind": "slow", "n": 3}))
    for each, shown in ((ask, "size = 10.0, kind = 'slow'"), (whole, "size = 10.0, kind = 'slow', n = 3")):
        for call in (lambda each=each: space.argmax(ucb(space, 0), each), lambda each=each: draw(space, each)):
            with pytest.raises(NothingAllowed, match=rf"settings with {shown} none is"):
                call()


def test_the_same_ask_gives_the_same_bits() -> None:
    for space in (PLANE, MIXED):
        ask = Ask(5, 1.0, seed=3, allowed=RULES["1% in a band"])
        assert space.argmax(ucb(space, 1), ask).tobytes() == space.argmax(ucb(space, 1), ask).tobytes()
