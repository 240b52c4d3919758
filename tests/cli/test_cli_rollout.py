"""driftwise rollout: show, propose, approve, reject and back."""

import json

import numpy as np
import pytest

from driftwise import Int, Live, Study


@pytest.fixture
def live(good):
    """A study whose incumbent has some readings."""
    plan = Live(incumbent={"workers": 3}, explore=0.0, approve=True, margin=0.1)
    study = Study("web", {"workers": Int(1, 9)}, "gp-ucb", path="driftwise.db", live=plan)
    rng = np.random.default_rng(0)

    def serve(n):
        for _ in range(n):
            s = study.ask()
            study.tell(s, 0.5 * s.params["workers"] + rng.standard_normal())

    serve(12)
    return serve


def test_a_rollout_from_its_proposal_to_the_way_back(live, good):
    assert good("rollout show web") == "In force: workers = 3\nThere was no candidate yet.\n"
    said = good("rollout propose web workers=8 --why 'more cores' --who bob")
    assert said == "workers = 8 is proposed; in force is workers = 3.\n"
    assert good("rollout approve web workers=8 --who ada") == "workers = 8 is on trial; in force is workers = 3.\n"
    live(60)
    shown = good("rollout show web")
    assert "on trial: 10% of the asks" in shown or "on trial: 25% of the asks" in shown
    assert "more cores" in shown
    assert good("rollout back web --why pager") == "workers = 8 is rolled back; in force is workers = 3.\n"
    found = json.loads(good("rollout show web --json"))
    assert found["in_force"] == {"workers": 3}
    assert found["rollout"]["state"] == "rolled back"
    assert [act["who"] for act in found["rollout"]["acts"][:2]] == ["bob", "ada"]


def test_a_rejected_candidate(live, good):
    good("rollout propose web workers=8")
    assert good("rollout reject web --why 'black Friday'") == "workers = 8 is rejected; in force is workers = 3.\n"


def test_what_cannot_be_decided_is_said(live, good, refused):
    assert "there is no candidate" in refused("rollout approve web", 1)
    good("rollout propose web workers=8")
    assert "is the candidate no longer, it is {'workers': 8}" in refused("rollout approve web workers=7", 1)
    Study("plain", {"workers": Int(1, 9)}, path="driftwise.db")
    assert "has no live operation" in refused("rollout show plain", 2)
