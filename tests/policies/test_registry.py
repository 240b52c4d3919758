"""The registry: every name leads to a class, and a policy of one's own comes and goes."""

import pytest

from driftwise.policies import HOMES, REGISTRY
from driftwise.policies.registry import Home, Registry
from driftwise.policies.window import Window


def test_a_name_leads_to_the_class_that_has_it():
    assert {name: REGISTRY[name].name for name in HOMES} == {name: name for name in HOMES}
    assert all(REGISTRY.of_class(REGISTRY[name].__name__) is REGISTRY[name] for name in HOMES)


def test_it_is_a_dict_of_classes():
    registry = Registry({"window": Home("driftwise.policies.window", "Window")})
    registry["mine"] = int
    assert list(registry) == ["window", "mine"]
    assert len(registry) == 2
    assert dict(registry) == {"window": Window, "mine": int}
    assert registry.of_class("int") is int
    assert registry.of_class("str") is None
    registry["window"] = str  # replaced, in its place
    assert list(registry.values()) == [str, int]
    assert registry.of_class("Window") is None
    del registry["mine"], registry["window"]
    assert not registry
    with pytest.raises(KeyError):
        del registry["window"]
    with pytest.raises(KeyError):
        registry["window"]
