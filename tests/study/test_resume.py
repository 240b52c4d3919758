"""The next question is the same, bit for bit, whoever asks it: resumed, reopened, or in another process."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Study
from driftwise.policies import REGISTRY, replay
from driftwise.records import Ask

GRID = Candidates(np.random.default_rng(0).random((40, 2)))
BOX = {"a": Float(0, 1), "b": Float(1, 10, log=True)}
STUDIES = {
    "sw-gp-ucb on candidates": {"space": GRID, "policy": "sw-gp-ucb", "window": 6},
    "sw-gp-ucb on candidates, little noise": {"space": GRID, "policy": "sw-gp-ucb", "window": 6, "noise": 1e-4},
    "sw-gp-ucb on a box": {"space": BOX, "policy": "sw-gp-ucb", "window": 6},
    "r-gp-ucb on candidates": {"space": GRID, "policy": "r-gp-ucb", "interval": 7},
    "r-gp-ucb on a box": {"space": BOX, "policy": "r-gp-ucb", "interval": 7},
    "gp-ucb on candidates": {"space": GRID, "policy": "gp-ucb"},
    "gp-ucb on a box": {"space": BOX, "policy": "gp-ucb"},
}
ANOTHER_PROCESS = """
import json, sys
from driftwise import Study
study = Study.open("s", path=sys.argv[1])
questions = []
for _ in range(3):
    s = study.ask()
    questions.append([v.hex() for v in s.x])
    study.tell(s, 0.25)
print(json.dumps(questions))
"""


def reward(s) -> float:
    return float(np.sin(7 * sum(s.x)) * 3 + s.number % 3)


def drive(study_of, steps):
    """A fixed history: rewards in order, out of order, late and never; `study_of` gives the study anew at each call."""
    questions, open_ones = [], []
    for i in range(1, steps + 1):
        s = study_of().ask()
        questions.append(s.x)
        open_ones.append(s)
        if i % 5 == 0:
            study_of().abandon(open_ones.pop(0))
        if i % 3 == 0:
            open_ones.reverse()
        while len(open_ones) > 2:
            done = open_ones.pop(i % 2)
            study_of().tell(done, reward(done))
        if i % 7 == 0:
            study_of().observe(study_of().space.from_unit(s.x), float(i))
    return questions


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_reopening_at_every_call_changes_no_question(tmp_path, kind):
    given, path = STUDIES[kind], tmp_path / "a.db"
    lasting = Study("s", **({"policy": "sw-gp-ucb"} | given))
    Study("s", path=path, **({"policy": "sw-gp-ucb"} | given))
    expected = drive(lambda: lasting, 24)
    assert drive(lambda: Study.open("s", path=path), 24) == expected


@pytest.mark.slow
def test_another_process_asks_the_same(tmp_path):
    for kind in ("sw-gp-ucb on candidates", "gp-ucb on a box"):
        path = tmp_path / f"{kind}.db"
        here, there = (
            Study("s", **({"policy": "sw-gp-ucb"} | STUDIES[kind])),
            Study("s", path=path, **({"policy": "sw-gp-ucb"} | STUDIES[kind])),
        )
        drive(lambda study=here: study, 20)
        drive(lambda study=there: study, 20)
        there.close()
        done = subprocess.run(
            [sys.executable, "-c", ANOTHER_PROCESS, str(path)], capture_output=True, text=True, check=True
        )
        expected = []
        for _ in range(3):
            s = here.ask()
            expected.append([v.hex() for v in s.x])
            here.tell(s, 0.25)
        assert json.loads(done.stdout) == expected


def asks_as_a_replay(study) -> None:
    """The question equals that of a fold over the whole log, which knows nothing of tails and kept states."""
    number = study.describe().counts.last + 1
    pending = tuple(s.x for s in study.pending())
    ask = Ask(number, float(number), pending, seed=study.description.seed)
    expected = study.policy.choose(replay(study.policy, study._log.observations()), ask)
    assert study.ask().x == tuple(expected)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 1e-4])
@pytest.mark.parametrize(("policy", "option"), [("sw-gp-ucb", "window"), ("r-gp-ucb", "interval")])
def test_a_long_log_is_resumed_from_its_tail(policy, option, noise):
    """Longer than the policy's memory, with rewards that come in, just out of, and long after the window."""
    study = Study("s", GRID, policy, noise=noise, kernel=RBF(0.2), **{option: 9})
    rng = np.random.default_rng(1)
    late = {n: study.ask() for n in range(4)}
    for i in range(600):
        study.observe(GRID.from_unit(GRID.coordinates[i % 40]), float(rng.standard_normal()))
        if i in (80, 300, 560, 590, 597):
            late[i] = study.ask()
    memory = study.policy.memory
    assert memory is not None
    assert len(list(study.observations())) > memory + 20 or policy == "r-gp-ucb"
    asks_as_a_replay(study)
    for n in (597, 590, 80, 0, 560, 300):
        study.tell(late[n], float(n))
        asks_as_a_replay(study)
        fresh = Study("s", policy=study.policy)
        fresh._log = study._log
        asks_as_a_replay(fresh)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_policy_folds_late_rewards_as_a_replay_would(name):
    study = Study("s", GRID, name)
    open_ones = []
    for i in range(30):
        open_ones.append(study.ask())
        if i % 4 == 3:
            for s in open_ones[::-1]:
                study.tell(s, reward(s))
            open_ones = []
        if i % 5 == 4:
            asks_as_a_replay(study)
