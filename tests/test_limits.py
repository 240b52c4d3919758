"""Large spaces: each works, with so many points looked at and so much memory, or is refused when it is made."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from driftwise import Candidates, Choice, Float, Int, Study, limits, policy
from driftwise.errors import InvalidInput
from driftwise.gp.distances import squared_distance
from driftwise.gp.kernels import RBF, Matern
from driftwise.log import codec
from driftwise.policies import REGISTRY
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Box, as_space
from driftwise.spaces.many import CLIMBS, FEW, LOOKS, OBSERVED, SCANNED, maximise_in_many

LARGE: dict[str, Any] = {
    "a choice of 10,000": lambda: {"c": Choice(range(10_000))},
    "a choice of 2,501": lambda: {"c": Choice(range(2501))},
    "a choice of 300 and a float": lambda: {"c": Choice(range(300)), "x": Float(0, 1)},
    "a choice of 1,000 and a float": lambda: {"c": Choice(range(1000)), "x": Float(0, 1)},
    "20 choices of 50": lambda: {f"c{j}": Choice(range(50)) for j in range(20)},
    "200 whole numbers": lambda: {f"n{j}": Int(0, 100) for j in range(200)},
    "100,000 candidates": lambda: Candidates(np.random.default_rng(0).random((100_000, 2))),
}
TOO_LARGE = {(name, "a choice of 2,501") for name in ("sw-linucb", "d-linucb", "restart-linucb", "w-dbo")}
TOO_LARGE |= {(name, "100,000 candidates") for name in ("auto", "igp-ucb", "bob-gp-ucb")}
TOO_LARGE |= {(name, where) for name in ("r-perp", "ada-opkb", "auto-lean") for where in LARGE}


@cache
def large(where: str) -> Any:
    return as_space(LARGE[where]())


@dataclass
class Counting:
    """−‖x − top‖², which counts the rows it is asked for."""

    top: Array
    rows: int = 0
    slopes: int = 0
    seen: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __call__(self, X: Array) -> Array:
        self.rows += len(X)
        return -np.square(X - self.top).sum(axis=1)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        self.slopes += len(X)
        return -np.square(X - self.top).sum(axis=1), 2 * (self.top - X)

    def anchors(self) -> Array:
        return self.seen


@pytest.mark.parametrize("where", [name for name in LARGE if "candidates" not in name])
def test_a_search_looks_at_so_many_points_and_no_more(where: str) -> None:
    box = large(where)
    assert isinstance(box, Box)
    assert box.points is None
    anchors = box.sample(np.random.default_rng(1), 300)
    score = Counting(box.sample(np.random.default_rng(0), 1)[0], seen=anchors)
    x = maximise_in_many(score, box, Ask(1, 1.0))
    assert box.snap(x[None]).tolist() == [x.tolist()]
    climbs = 41 * CLIMBS * 21
    assert score.rows <= SCANNED + OBSERVED + 32 + LOOKS + climbs * (FEW + 1)
    assert score.slopes <= climbs
    assert score(x[None])[0] >= score(anchors).max()


def test_it_finds_numbers_beside_a_large_choice_and_a_value_that_was_seen() -> None:
    box = Box.of({"c": Choice(range(5000)), "x": Float(0, 1), "n": Int(0, 1000)})
    top = np.array(box.to_unit({"c": 4321, "x": 0.3, "n": 777}))
    seen = np.array([box.to_unit({"c": 4321, "x": 0.9, "n": 3})])
    found = box.from_unit(tuple(maximise_in_many(Counting(top, seen=seen), box, Ask(1, 1.0))))
    assert found["c"] == 4321
    assert found["n"] == 777
    assert found["x"] == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(2.5, tuple(np.linspace(0.1, 2.0, 200)))])
def test_coordinates_that_do_not_differ_change_no_bit(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    X, Y = np.zeros((5, 200)), np.zeros((7, 200))
    X[:, 3:170:40], Y[:, 3:170:30] = rng.random((5, 5)), rng.random((7, 6))
    whole = kernel(X, Y)
    for i in range(5):
        for j in range(7):
            scale = np.asarray(kernel.lengthscale)
            all_of_them = cdist(X[i : i + 1] / scale, Y[j : j + 1] / scale, "sqeuclidean")
            assert squared_distance(X, Y, kernel.lengthscale)[i, j] == all_of_them[0, 0]
            assert kernel(X[i : i + 1], Y[j : j + 1])[0, 0] == whole[i, j]


PEAK = """
import resource, sys
import numpy as np
import driftwise as dw
from driftwise import Choice, Float, Int
space = {space}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
study = dw.Study("large", space=space, policy={policy!r}, seed=1)
for x in study.space.sample(np.random.default_rng(0), 12):
    study.observe(study.space.from_unit(tuple(x)), float(x[0]))
for _ in range(2):
    study.tell(study.ask(), 1.0)
study.recommend()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


MANY = '{"c": Choice(range(10_000))}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("auto", MANY),
        ("auto", '{"c": Choice(range(1000)), "x": Float(0, 1)}'),
        ("auto", '{f"c{j}": Choice(range(50)) for j in range(20)}'),
        ("auto", '{f"n{j}": Int(0, 100) for j in range(200)}'),
        ("sw-gp-ucb", MANY),
    ],
)
def test_a_large_space_is_asked_and_told_within_500_megabytes(name: str, space: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PEAK.format(space=space, policy=name)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 500


REFUSED = [  # a number stands for so many candidates
    ("auto", {"c": Choice(range(20_000))}, "a space needs at most 16,777,216 numbers .* 20,000 coordinates"),
    ("igp-ucb", {"c": Choice(range(10_000))}, "by γ needs at most .* 10,000 coordinates"),
    ("sw-linucb", {"c": Choice(range(3000))}, "16 matrices of 3,000 × 3,000 coordinates; use a policy with a kernel"),
    ("d-linucb", {"c": Choice(range(3000))}, "d-linucb needs at most"),
    ("restart-linucb", {"c": Choice(range(3000))}, "restart-linucb needs at most"),
    ("w-dbo", {f"c{j}": Choice(range(50)) for j in range(20)}, "w-dbo needs at most .* 1,000 coordinates"),
    ("r-perp", 5000, "a matrix of 5,000 × 5,000 candidates; give fewer, or use r-gp-ucb"),
    ("ada-opkb", 1100, "ada-opkb needs at most .* 1,100 × 1,100 candidates"),
    ("auto", 50_000, "× 2 experts.; give fewer candidates, at most 45,589"),
    ("sw-gp-ucb", 200_000, "200,000 candidates.; give fewer candidates, at most 131,071"),
    ("pe-gp-ucb", 200_000, "give fewer candidates"),
    ("r-perp", {"c": Choice(range(2501))}, "finitely many settings only"),
]


@pytest.mark.parametrize(("name", "space", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_too_large_is_refused_before_anything_is_written(name, space, message, tmp_path) -> None:
    if isinstance(space, int):
        space = Candidates(np.arange(float(space)))
    with pytest.raises(InvalidInput, match=message):
        policy(name, space)
    with pytest.raises(InvalidInput, match=message):
        Study("large", space=space, policy=name, path=tmp_path / "large.db")
    assert not list(tmp_path.iterdir())


def test_a_million_candidates_are_refused_by_the_space_itself() -> None:
    with pytest.raises(InvalidInput, match="1,000,000 candidates of 2 coordinates, 16 for each; give fewer"):
        Candidates(np.zeros((1_000_000, 2)))


def test_a_description_that_is_too_large_is_refused_when_it_is_read() -> None:
    small = codec.encode(policy("sw-gp-ucb", {"c": Choice(["a", "b"])}))
    small["model"]["space"]["parameters"][0][1]["values"] = list(range(20_000))
    with pytest.raises(InvalidInput, match="a space needs at most"):
        codec.decode(small)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["a choice of 2,501", "100,000 candidates"])
@pytest.mark.parametrize("name", REGISTRY)
def test_every_policy_works_there_or_says_why_not(name: str, where: str) -> None:
    """A few steps; what it looks at is bounded by the test above, what it keeps by limits.LARGEST."""
    space = large(where)
    if (name, where) in TOO_LARGE:
        with pytest.raises(InvalidInput, match="at most"):
            policy(name, space)
        return
    made = policy(name, space)
    state = made.start()
    for number, x in enumerate(space.sample(np.random.default_rng(0), 3), start=1):
        state = made.update(state, Observation(number, float(number), tuple(x.tolist()), 0.1 * number))
    x = made.choose(state, Ask(4, 4.0))
    assert space.to_unit(space.from_unit(tuple(x.tolist())))


def test_so_many_rows_fit() -> None:
    assert limits.rows(64, most=SCANNED) == SCANNED
    assert limits.rows(10**9, most=5, least=3) == 3
    limits.check("this", limits.LARGEST, "as many as fit", "nothing")
    with pytest.raises(
        InvalidInput, match=r"this needs at most 16,777,216 numbers .*, got 16,777,217: one more; drop it"
    ):
        limits.check("this", limits.LARGEST + 1, "one more", "drop it")


SMALL: dict[str, Any] = {
    "mixed": {
        "c": Choice(list("abc")),
        "d": Choice([True, 1, None]),
        "i": Int(1, 64, log=True),
        "x": Float(0, 1),
        "y": Float(-1, 1),
    },
    "a choice of 30 and a float": {"c": Choice(range(30)), "x": Float(0, 1)},
    "whole numbers": {f"x{i}": Int(0, 100) for i in range(3)},
}
# the tenth point chosen, as before there was another search for many coordinates
BEFORE = [
    ("sw-gp-ucb", "mixed", [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
    ("gp-ucb", "a choice of 30 and a float", [*np.eye(30)[5], 0.0]),
    ("tv-gp-ucb", "whole numbers", [0.32, 0.0, 0.56]),
]


@pytest.mark.parametrize(("name", "where", "expected"), BEFORE, ids=range(len(BEFORE)))
def test_small_spaces_are_searched_as_they_were(name: str, where: str, expected: list[float]) -> None:
    made, rng = policy(name, SMALL[where]), random.Random(1)
    state = made.start()
    for number in range(1, 11):
        x = made.choose(state, Ask(number, float(number), seed=3))
        y = -0.1 * float(np.square(x - 0.3).sum()) + rng.gauss(0, 0.1)
        state = made.update(state, Observation(number, float(number), tuple(x.tolist()), y))
    np.testing.assert_allclose(x, expected, atol=2e-5)
