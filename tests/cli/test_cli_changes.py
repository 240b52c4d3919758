"""driftwise study changes: each change once, an exit code for pagers, and waiting for the next."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from driftwise import Study
from driftwise.cli import study_look


def observed(study, first, last):
    for t in range(first, last + 1):
        x = t * 0.618 % 1
        study.observe({"x": x}, np.sin(6 * x) * (-1 if t > 30 else 1))


@pytest.fixture
def study(good):
    good("study create s --float x=0:1")
    return Study.open("s", path="driftwise.db")


def test_before_anything_happened(study, good):
    assert good("study changes s --exit-code") == "No abrupt change was noticed.\n"
    assert good("study changes s --json") == ""


@pytest.mark.slow
def test_each_change_once_and_an_exit_code(study, good, call):
    observed(study, 1, 45)
    (change,) = study.changes()
    assert good("study changes s") == f"{change}\n"
    found = call("study changes s --json --exit-code")
    assert found.exit_code == 10
    assert found.stderr == ""
    assert json.loads(found.stdout) == asdict(change)
    known = call(f"study changes s --since {change.noticed} --exit-code")
    assert (known.exit_code, known.stdout) == (0, "No abrupt change was noticed.\n")


def test_following(study, call, monkeypatch):
    observed(study, 1, 30)
    steps = iter([(31, 40), (41, 45)])

    def sleep(seconds):
        assert seconds == 3
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        observed(study, *step)

    monkeypatch.setattr(study_look.time, "sleep", sleep)
    done = call("study changes s --follow --every 3 --json")
    assert done.exit_code == 130
    (line,) = done.stdout.splitlines()  # though the change was there at two looks
    assert json.loads(line)["noticed"] == study.changes()[0].noticed


def test_other_policies_have_none(good, refused):
    good("study create t --float x=0:1 --policy sw-gp-ucb")
    assert "use the policy auto" in refused("study changes t")
    assert "-1" in refused("study changes t --since=-1")
    assert "0.01" in refused("study changes t --follow --every 0.01")
