"""Descriptions written down and read again."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise import RBF, Candidates, Choice, Float, Int, Linear, Matern, Product, Scaled, Sum, policy
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Model
from driftwise.log import codec
from driftwise.log.config_diff import difference
from driftwise.policies import REGISTRY
from driftwise.spaces import Box
from driftwise.theory.widths import Constant

positive = st.floats(min_value=1e-100, max_value=1e100)
lengthscales = positive | st.lists(positive, min_size=1, max_size=4).map(tuple)
leaves = lengthscales.map(RBF) | st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), lengthscales) | st.just(Linear())
kernels = st.recursive(
    leaves,
    lambda inner: st.builds(Scaled, inner, positive) | st.builds(Sum, inner, inner) | st.builds(Product, inner, inner),
    max_leaves=6,
)
choices = st.lists(st.text(max_size=5) | st.integers() | st.booleans() | st.none(), min_size=1, max_size=4)
names = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=10)


@given(kernels)
def test_kernels_come_back(kernel):
    assert codec.loads(codec.dumps(kernel)) == kernel


@given(names, st.floats(-1e300, 1e300), choices)
def test_spaces_come_back(name, low, values):
    values = list({(isinstance(v, bool), v): v for v in values}.values())
    box = Box.of({name: Float(low, math.nextafter(low, math.inf)), f"{name}'": Choice(values), "n": Int(1, 2)})
    again = codec.loads(codec.dumps(box))
    assert again == box
    assert repr(again) == repr(box)  # True stays True, and does not become 1


@given(st.lists(st.tuples(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100)), min_size=1, max_size=9))
def test_candidates_come_back(points):
    space = Candidates(points, names=["a", "b"])
    assert codec.loads(codec.dumps(space)) == space


def test_every_policy_comes_back():
    policies = [policy(name, Candidates([[0.0], [0.5], [1.0]])) for name in REGISTRY]
    again = [codec.loads(codec.dumps(made)) for made in policies]
    assert again == policies
    assert list(map(type, again)) == list(map(type, policies))


WRITTEN = (
    '{"type":"Window","model":{"type":"Model","space":{"type":"Box","parameters":[["price",{"type":"Float","low":5.0,'
    '"high":20.0,"log":false}],["n",{"type":"Int","low":1,"high":8,"log":true}],["m",{"type":"Choice","values":["a",null]}'
    ']]},"kernel":{"type":"Matern","nu":2.5,"lengthscale":0.2},"noise":0.01,"standardise":true},'
    '"width":{"type":"Constant","beta":2.0},"window":30}'
)


def test_what_was_written_in_version_0_1_is_read_for_ever():
    space = {"price": Float(5, 20), "n": Int(1, 8, log=True), "m": Choice(["a", None])}
    assert codec.loads(WRITTEN) == policy("sw-gp-ucb", space, window=30, standardise=True)


def test_a_class_is_the_same_whether_all_policies_are_loaded_or_not():
    everything = codec.registry()
    assert {kind: codec.known(kind) for kind in everything} == everything
    assert codec._parts(codec.SHARED).keys() <= everything.keys()  # a name is not unique in one and shared in the other
    assert codec.known("State") is None


def test_a_part_of_a_policy_is_found_before_the_policy_was_used():
    code = 'from driftwise.log import codec; print(codec.loads(\'{"type": "Range", "low": 0, "high": 2}\'))'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Range(low=0.0, high=2.0)\n"


def test_a_policy_of_ones_own_is_known_once_it_is_registered(monkeypatch):
    @dataclass(frozen=True)
    class Mine:
        space: Candidates

    mine = Mine(Candidates([[0.0]]))
    with pytest.raises(InvalidInput, match="define the class in a module of your own"):
        codec.dumps(mine)
    monkeypatch.setitem(REGISTRY, "mine", Mine)
    assert codec.loads(codec.dumps(mine)) == mine


def test_floats_keep_every_bit():
    value = Constant(0.1 + 0.2)
    assert codec.loads(codec.dumps(value)).beta == 0.1 + 0.2
    assert codec.decode(codec.encode((math.inf, -math.inf))) == (math.inf, -math.inf)
    assert math.isnan(codec.decode(codec.encode(math.nan)))


def test_it_is_plain_json():
    data = json.loads(codec.dumps(Model(Candidates([[0.0]]), RBF(0.3))))
    assert data["type"] == "Model"
    assert data["kernel"] == {"type": "RBF", "lengthscale": 0.3}


@pytest.mark.parametrize("kind", ["Popen", "Posterior", "object", "", None, 3, ["RBF"], "x" * 10_000])
def test_an_unknown_type_is_refused(kind):
    with pytest.raises(InvalidInput, match="unknown type"):
        codec.loads(json.dumps({"type": kind}))


def test_unknown_fields_and_bad_values_are_refused():
    with pytest.raises(InvalidInput, match="RBF has no field 'width'"):
        codec.decode({"type": "RBF", "width": 1.0})
    with pytest.raises(InvalidInput, match="lengthscale"):
        codec.decode({"type": "RBF", "lengthscale": -1.0})
    with pytest.raises(InvalidInput, match="Scaled cannot be made"):
        codec.decode({"type": "Scaled"})
    with pytest.raises(InvalidInput, match="must be JSON"):
        codec.loads("{")


def test_what_has_no_description_is_refused():
    with pytest.raises(InvalidInput, match="cannot be written down"):
        codec.dumps(object())
    with pytest.raises(InvalidInput, match="cannot be written down"):
        codec.dumps(policy("sw-gp-ucb", Candidates([[0.0]]), width=lambda belief, number: 2.0))


def test_differences_are_shown_where_they_are():
    space = Candidates([[0.0], [1.0]])
    stored, given = (policy("sw-gp-ucb", space, window=w, kernel=k) for w, k in ((5, RBF(0.1)), (6, Matern(0.5, 0.1))))
    told = difference(codec.encode(stored), codec.encode(given))
    assert "window is 5 in the study, 6 was given" in told
    assert "model.kernel is RBF(lengthscale=0.1) in the study, Matern(nu=0.5, lengthscale=0.1) was given" in told
    assert difference(codec.encode(stored), codec.encode(stored)) == ""
