"""The generator suggests what a Study would ask, and runs in a real Xopt."""

from __future__ import annotations

import math
import warnings

import pytest

pytest.importorskip("gest_api", reason="needs the extra xopt")

from gest_api.vocs import VOCS

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.integrations.gest import DriftGenerator

SW = {"window": 20, "kernel": dw.RBF(0.3)}


def problem(**other) -> VOCS:
    return VOCS(
        **{"variables": {"x": [0.0, 2.0], "k": {"a", "b"}}, "objectives": {"f": "MINIMIZE"}, "constants": {"c": 7}}
        | other
    )


def value(point, t: int) -> float:
    return (point["x"] - 0.02 * t) ** 2 + (point["k"] == "a")


def test_it_suggests_what_a_study_asks():
    generator = DriftGenerator(problem(), "sw-gp-ucb", **SW)
    ours = dw.Study("a", {"x": dw.Float(0, 2), "k": dw.Choice(["a", "b"])}, ("sw-gp-ucb", SW), direction="minimize")
    for t in range(20):
        (point,) = generator.suggest(1)
        s = ours.ask()
        assert point == s.params | {"c": 7}
        if t % 6 == 5:
            generator.ingest([point | {"f": math.nan}])
            ours.tell(s, failed=True)
        else:
            generator.ingest([point | {"f": value(point, t)}])
            ours.tell(s, value(point, t))
    known, found = ours.recommend(), generator.best_now()
    assert (found.params, found.mean, found.std, found.sure) == (known.params, known.mean, known.std, known.sure)


def test_several_points_spread_out_as_those_of_a_study():
    generator = DriftGenerator(problem(variables={"x": [0.0, 2.0]}), "sw-gp-ucb", **SW)
    ours = dw.Study("a", {"x": dw.Float(0, 2)}, ("sw-gp-ucb", SW), direction="minimize")
    for x in (0.2, 0.9, 1.6):
        generator.ingest([{"x": x, "f": (x - 1) ** 2}])
        ours.observe({"x": x}, (x - 1) ** 2)
    assert [point["x"] for point in generator.suggest(4)] == [s.params["x"] for s in ours.ask(n=4)]


def test_constraints_and_times_are_used():
    vocs = problem(
        variables={"x": [0.0, 1.0]},
        objectives={"f": "MAXIMIZE"},
        constraints={"g": ["LESS_THAN", 0.5], "h": ["GREATER_THAN", -1.0], "i": ["BOUNDS", -2.0, 2.0]},
        observables={"time": float},
    )
    generator = DriftGenerator(vocs, "sw-gp-ucb", at="time", **SW)
    asked = []
    for t in range(20):
        (point,) = generator.suggest(None)
        x = point["x"]
        asked.append(x)
        generator.ingest([point | {"f": x, "g": x, "h": 0.0, "i": 0.0, "time": 60.0 * t}])
    assert sum(x > 0.55 for x in asked[10:]) <= 2
    assert generator.best_now().params["x"] < 0.55
    assert generator._next().at == 60.0 * 19


def test_what_is_wrong_is_refused():
    with pytest.raises(InvalidInput, match="one objective, got 2"):
        DriftGenerator(problem(objectives={"f": "MINIMIZE", "g": "MINIMIZE"}))
    with pytest.raises(InvalidInput, match="to explore"):
        DriftGenerator(problem(objectives={"f": "EXPLORE"}))
    with pytest.raises(InvalidInput, match="'t' is contextual"):
        DriftGenerator(problem(variables={"x": [0.0, 1.0], "t": "CONTEXTUAL"}))
    with pytest.raises(InvalidInput, match="nothing was ingested"):
        DriftGenerator(problem()).best_now()


def test_a_real_xopt_runs_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        xopt = pytest.importorskip("xopt", reason="needs xopt, which needs PyTorch")
        count = iter(range(1000))

        def evaluate(inputs):
            return {"f": (inputs["x"] - 0.5 - 0.02 * next(count)) ** 2}

        generator = DriftGenerator(problem(variables={"x": [0.0, 2.0]}, constants={}), seed=0)
        run = xopt.Xopt(generator=generator, evaluator=xopt.Evaluator(function=evaluate))
        for _ in range(30):
            run.step()
        assert len(run.data) == 30
        assert abs(run.generator.best_now().params["x"] - (0.5 + 0.02 * 30)) < 0.15
