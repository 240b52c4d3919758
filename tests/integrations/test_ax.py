"""The node generates what a Study would ask, in a real Client."""

from __future__ import annotations

import logging
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what it imports
    pytest.importorskip("ax", reason="needs the extra ax, which needs PyTorch")
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    from driftwise.integrations.ax import DriftNode

import driftwise as dw
from driftwise.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore")
SW = {"window": 20, "kernel": dw.RBF(0.3)}
X = RangeParameterConfig(name="x", parameter_type="float", bounds=(0.0, 1.0))


def client(node: DriftNode, objective: str, parameters, rules=(), outcomes=()) -> Client:
    logging.getLogger("ax").setLevel(logging.ERROR)
    made = Client()
    made.configure_experiment(parameters=parameters, parameter_constraints=list(rules))
    made.configure_optimization(objective=objective, outcome_constraints=list(outcomes))
    made.set_generation_strategy(GenerationStrategy(name="driftwise", nodes=[node]))
    return made


def only(trials):
    ((index, params),) = trials.items()
    return index, params


def test_it_generates_what_a_study_asks():
    node = DriftNode("sw-gp-ucb", **SW)
    n = RangeParameterConfig(name="n", parameter_type="int", bounds=(1, 100), scaling="log")
    kind = ChoiceParameterConfig(name="kind", parameter_type="str", values=["a", "b"], is_ordered=False)
    theirs = client(node, "-y", [X, n, kind])
    space = {"x": dw.Float(0, 1), "n": dw.Int(1, 100, log=True), "kind": dw.Choice(["a", "b"])}
    ours = dw.Study("a", space, ("sw-gp-ucb", SW), direction="minimize")
    for t in range(12):
        index, params = only(theirs.get_next_trials(max_trials=1))
        s = ours.ask()
        assert params == s.params
        if t == 5:
            theirs.mark_trial_failed(index)
            ours.tell(s, failed=True)
            continue
        y = (params["x"] - 0.02 * t) ** 2 + (params["kind"] == "a")
        theirs.complete_trial(index, raw_data={"y": (y, 0.1) if t % 2 else y})
        ours.tell(s, y, **({"std": 0.1} if t % 2 else {}))
    theirs.get_next_trials(max_trials=1)
    assert ours.ask().number == 13
    assert node.best_now().params == ours.recommend().params


def test_several_trials_spread_out():
    theirs = client(DriftNode(), "y", [X])
    for _ in range(6):
        index, params = only(theirs.get_next_trials(max_trials=1))
        theirs.complete_trial(index, raw_data={"y": -((params["x"] - 0.4) ** 2)})
    asked = [params["x"] for params in theirs.get_next_trials(max_trials=3).values()]
    assert len(set(asked)) == 3


def test_rules_and_outcome_constraints_are_obeyed():
    theirs = client(
        DriftNode("sw-gp-ucb", **SW),
        "y",
        [X, RangeParameterConfig(name="z", parameter_type="float", bounds=(0.0, 1.0))],
        rules=["x + 2 * z <= 1"],
        outcomes=["c <= 0.5"],
    )
    asked = []
    for _ in range(16):
        index, params = only(theirs.get_next_trials(max_trials=1))
        asked.append(params)
        theirs.complete_trial(index, raw_data={"y": params["x"], "c": params["x"]})
    assert all(params["x"] + 2 * params["z"] <= 1 + 1e-9 for params in asked)
    assert sum(params["x"] > 0.55 for params in asked[8:]) <= 2


def test_a_node_that_has_seen_nothing_says_so():
    with pytest.raises(InvalidInput, match="has not seen an experiment"):
        DriftNode().best_now()
    with pytest.raises(InvalidInput, match="no option 'windw'"):
        DriftNode("sw-gp-ucb", windw=3)
