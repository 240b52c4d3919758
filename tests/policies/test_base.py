"""What a policy must have, and what happens if a member is missing."""

import pytest

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.policies import Policy, policy
from driftwise.policies.base import MEMBERS, Around, BasePolicy, UcbPolicy
from driftwise.policies.window import Window

SPACE = dw.Candidates([[0.0], [1.0]])


def lacking(*missing: str) -> object:
    """A policy with all members but these."""
    whole = policy("sw-gp-ucb", SPACE)
    members = {name: getattr(whole, name) for name in MEMBERS if name not in missing}
    return type("Mine", (), {"__repr__": lambda self: "Mine()"} | members)()


def test_the_members_are_those_of_the_protocol():
    assert set(MEMBERS) == {name for name in vars(Policy) | Policy.__annotations__ if not name.startswith("_")}


@pytest.mark.parametrize("member", ["name", "space", "memory", "belief", "remembers"])
def test_a_study_names_the_member_that_its_policy_lacks(member):
    with pytest.raises(InvalidInput, match=rf"policy must have .*; Mine\(\) has no {member}; docs/adding-a-policy"):
        dw.Study("a", policy=lacking(member))
    with pytest.raises(InvalidInput, match=rf"inner must have .*; Mine\(\) has no {member}; docs/adding-a-policy"):
        policy("tgp-ucb", SPACE, inner=lacking(member))


def test_all_that_is_missing_is_named():
    with pytest.raises(InvalidInput, match="has no belief and no remembers;"):
        dw.Study("a", policy=lacking("belief", "remembers"))


@pytest.mark.parametrize("given", [5, object(), Window, lacking("choose")])
def test_what_is_no_policy_at_all_is_told_so(given):
    with pytest.raises(InvalidInput, match="policy must be a name, a pair of name and options, or a policy, got"):
        dw.Study("a", policy=given)


@pytest.mark.parametrize("cls", [BasePolicy, UcbPolicy, Around])
def test_a_policy_that_leaves_out_its_algorithm_cannot_be_made(cls):
    with pytest.raises(TypeError, match="abstract"):
        cls()
