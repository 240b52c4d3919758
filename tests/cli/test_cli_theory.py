"""driftwise theory, and every way to get it wrong."""

import json

import numpy as np
import pytest

from driftwise import RBF, Candidates, Linear, Scaled, policy
from driftwise.theory.information import greedy_gain
from driftwise.theory.promises import cube


def test_theory_says_where_it_is_vacuous(good):
    assert "are vacuous here" in good("theory --horizon 100")
    text = good("theory --noise 1 --budget 0.001 --horizon 2000 --B 50 --points 50")
    assert "are all below 2BT" in text


def test_theory_json_adds_up(good):
    data = json.loads(good("theory --horizon 200 --budget 4 --B 2 --kernel matern:1.5:0.3 --dim 2 --json"))
    assert data["gain"]["upper"] == pytest.approx(data["gain"]["lower"] * np.e / (np.e - 1))
    assert [(p["policy"], p["budget_known"]) for p in data["promises"]] == [
        (policy, known) for policy in ("r-gp-ucb", "sw-gp-ucb") for known in (True, False)
    ]
    for promise in data["promises"]:
        bound = promise["bound"]
        assert bound["total"] == pytest.approx(bound["drift"] + bound["estimation"])
        assert bound["trivial"] == 2 * 2 * 200
        assert bound["vacuous"] == (bound["total"] >= bound["trivial"])
        assert promise["sharp_bound"]["total"] <= bound["total"]
    known = data["promises"][0]
    assert known["memory"] == round(data["gain"]["lower"] ** 0.25 * (200 / 4) ** 0.5)


def test_theory_remembers_as_long_as_the_policies_do(good):
    data = json.loads(good("theory --horizon 300 --budget 3 --points 60 --json"))
    space = Candidates(np.linspace(0, 1, 60))
    told = {"kernel": RBF(0.2), "noise": 0.01, "horizon": 300}
    found = [p["memory"] for p in data["promises"]]
    assert found[:2] == [policy("r-gp-ucb", space, budget=b, **told).interval for b in (3.0, None)]
    assert found[2:] == [policy("sw-gp-ucb", space, budget=b, **told).window for b in (3.0, None)]


def test_theory_divides_a_kernel_that_exceeds_one(good):
    text = good("theory --kernel linear --dim 3 --horizon 50 --points 8")
    assert "The kernel is divided by 3" in text
    linear, bounded = (
        json.loads(good(f"theory --kernel {kernel} --dim 3 --horizon 50 --points 8 --json"))
        for kernel in ("linear", "rbf:0.2")
    )
    points = cube(3, 8)
    assert linear["gain"]["lower"] == pytest.approx(greedy_gain(Scaled(Linear(), 1 / 3), points, 0.01, 50).lower[-1])
    assert (linear["problem"]["kernel_divided_by"], bounded["problem"]["kernel_divided_by"]) == (3, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--delta 1", "delta must be strictly between 0 and 1, got 1.0"),
        ("--noise 0", "noise must be > 0"),
        ("--budget -1", "budget must be ≥ 0"),
        ("--B nan", "B must be finite"),
        ("--dim 0", "--dim"),
        ("--kernel cosine", "a kernel is written"),
    ],
)
def test_theory_refuses(refused, line, words):
    assert words in refused(f"theory --horizon 20 {line}")
