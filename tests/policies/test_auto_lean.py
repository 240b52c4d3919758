"""auto-lean as a policy: what it refuses, what it holds, and that wrong readings and high levels do little harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from driftwise import Candidates, Float, Study, policy
from driftwise.auto.data import NEAR
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.policies import replay
from driftwise.records import Ask, Observation

GRID = Candidates([[x / 20] for x in range(21)])


def f(x: float) -> float:
    return float(np.exp(-(((x - 0.7) / 0.15) ** 2)))


def played(made, steps, value=lambda t, x: f(x)):
    state, log = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t)))
        log.append(Observation(t, float(t), tuple(x.tolist()), value(t, float(x[0]))))
        state = made.update(state, log[-1])
    return state, log


def test_it_is_for_candidates():
    with pytest.raises(InvalidInput, match=r"finitely many settings only.*candidates"):
        policy("auto-lean", {"x": Float(0, 1)})


@pytest.mark.parametrize(
    "wrong",
    [
        {"noises": (0.01,)},
        {"noises": (1e-5, 0.1)},
        {"forgetting": (1.0,)},
        {"span": 10**6},
        {"window": 4},
        {"levels": ((40.0,),)},
        {"levels": ((0.0, 1.0),)},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInput):
        replace(policy("auto-lean", GRID), **wrong)


def test_it_finds_the_maximum_and_stays_there():
    state, log = played(policy("auto-lean", GRID), 60)
    assert [seen.x for seen in log[-10:]] == [(0.7,)] * 10
    assert len(policy("auto-lean", GRID).belief(state, Ask(61, 61.0))) == 60


def test_what_it_looked_at_once_is_held_however_often_it_looks_at_the_maximum():
    made = policy("auto-lean", GRID, window=24)
    state, log = played(made, 150)
    held = np.array([made.space.coordinates[i] for i in state.held.where[0]])
    for seen in log:  # or one so near to it that it supersedes it
        assert np.abs(held - seen.x).min() <= NEAR + 1e-9


def test_units_of_rewards_make_no_difference():
    """Rewards of any level and scale, also where they are a billion times as high as they differ."""
    plain = [seen.x for seen in played(policy("auto-lean", GRID), 40)[1]]
    for level, scale in ((0.0, 1e-9), (1e9, 1.0), (-5.0, 1e12)):
        moved = played(policy("auto-lean", GRID), 40, lambda t, x, level=level, scale=scale: level + scale * f(x))[1]
        assert [seen.x for seen in moved] == plain


def test_one_wrong_reading_does_little_harm():
    wrong = played(policy("auto-lean", GRID), 70, lambda t, x: 1e6 if t == 40 else f(x))[1]
    assert np.mean([seen.x == (0.7,) for seen in wrong[45:]]) > 0.6


def test_it_follows_an_abrupt_change():
    moved = played(policy("auto-lean", GRID), 120, lambda t, x: f(x) if t <= 60 else f(x + 0.5))[1]
    assert [seen.x for seen in moved[-5:]] == [(0.2,)] * 5


def test_a_span_later_it_is_made_anew_and_a_replay_of_two_spans_is_the_same():
    made = policy("auto-lean", GRID, window=8, span=32)
    state, log = played(made, 150, lambda t, x: f(x + t / 300))
    again = replay(made, log[-made.memory :])
    for one, other in zip(state.beliefs, again.beliefs, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(state.weights, again.weights)


def test_its_description_says_all_of_it():
    made = policy("auto-lean", GRID)
    assert codec.loads(codec.dumps(made)) == made


def test_a_level_that_moves_is_predicted_and_leaves_the_maximum_where_it_is():
    made = policy("auto-lean", GRID)
    state, _ = played(made, 200, lambda t, x: f(x) + np.sin(t / 24))
    belief = made.belief(state, Ask(201, 201.0))
    mean, (location, scale) = belief.predict(GRID.points)[0], belief.units
    assert GRID.points[np.argmax(mean)].tolist() == [0.7]
    assert abs(location + scale * mean.max() - (1 + np.sin(201 / 24))) < 0.1


def test_a_study_recommends_and_resumes(tmp_path):
    path = tmp_path / "studies.db"
    study = Study("arms", GRID, policy="auto-lean", path=path)
    for _ in range(25):
        s = study.ask()
        study.tell(s, f(s.x[0]))
    said = study.ask(key="next").params, study.recommend()
    again = Study.open("arms", path=path)
    assert (again.ask(key="next").params, again.recommend()) == said
