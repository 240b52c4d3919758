"""The search for rows: in pieces as at once, and states that are folded from a log in several ways."""

from dataclasses import replace

import numpy as np
import pytest

from driftwise import Candidates, Float, policy
from driftwise.auto import policy as policy_module
from driftwise.auto.data import Memory
from driftwise.auto.rows import Hypotheses
from driftwise.auto.search import FOLLOWED, Search
from driftwise.gp.kernels import RBF, Level, Sum
from driftwise.policies import replay
from driftwise.records import Ask, Observation
from worlds import TABLE, TIMES, observations, row

BOX = {"a": Float(0, 1), "b": Float(0, 1)}
GRID = Candidates(np.stack(np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 5)), axis=-1).reshape(-1, 2))


def remembered(data, *, most=184):
    memory = Memory.nothing(data.frame, most=most)
    for n, at, x, y in zip(data.numbers, data.at, data.X, data.y, strict=True):
        memory = memory.observe(Observation(int(n), float(at), tuple(x.tolist()), float(y)))
    return memory


def searched(data, table=TABLE):
    return Search(table, remembered(data)).pool


def assert_same(one, other):
    assert one.rows == other.rows
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.sheaf.errors, other.sheaf.errors)
    np.testing.assert_array_equal(one.sheaf.labels, other.sheaf.labels)


@pytest.mark.parametrize("cost", [1.0, 3e7, 1e12])
def test_in_pieces_it_is_the_same_as_at_once(cost):
    data = observations(30, far=(21,))
    whole, pieces = searched(data), Search(TABLE, remembered(data))
    calls = 0
    while not pieces.job.done:
        pieces.job.advance(pieces.job.cost + cost)
        calls += 1
    assert (calls > 1) == (cost < 1e9)
    assert_same(whole, pieces.pool)


@pytest.mark.parametrize("n", [0, 1, 5, 7, 40])
def test_what_is_followed_is_little_and_has_all_the_weight(n):
    pool = searched(observations(n))
    [head] = pool.heaviest(1, lambda each: not each.date)
    family = [each for each in pool.rows if each.family == head.family and not each.date]  # it is always followed
    assert 1 <= len(pool.rows) <= FOLLOWED + len(family)
    assert len(set(pool.rows)) == len(pool.rows)
    assert pool.weights.sum() == pytest.approx(1.0)
    assert any(not each.date for each in pool.rows)


def still(x):
    return np.sin(5 * x[:, 0])


def told(values, X, *, noise=0.05, seed=3):
    data = observations(len(X))
    y = values + noise * np.random.default_rng(seed).standard_normal(len(X))
    return replace(data, X=X, y=y, numbers=np.arange(1, len(X) + 1), at=np.arange(1.0, len(X) + 1))


def best(pool):
    return pool.rows[int(np.argmax(pool.of_row))]


def test_it_finds_out_what_the_world_is_like():
    X = np.random.default_rng(4).random((70, 2))
    calm = best(searched(told(still(X), X)))
    assert calm.time == TIMES[0]
    assert calm.level is None
    assert calm.date == 0
    assert calm.bends[1] > calm.bends[0]  # the second parameter matters less
    turned = best(searched(told(np.where(np.arange(70) < 40, 1, -1) * still(X), X)))
    assert abs(turned.since - 41) <= 2
    lifted = best(searched(told(still(X) + 6.0 * (np.arange(70) >= 40), X)))
    assert abs(max(lifted.shift, lifted.since) - 41) <= 2
    walk = np.cumsum(np.random.default_rng(5).standard_normal(70))
    assert best(searched(told(still(X) + walk, X))).level is not None
    phase = 2 * np.pi * np.arange(70) / 8
    assert best(searched(told(np.sin(5 * X[:, 0] + phase), X))).time.period == 8.0


def test_of_a_table_with_one_row_that_row_is_left():
    table = Hypotheses(
        (Sum(RBF(0.3), Level(0.3)),), (TIMES[0],), (0.03,), changes=False, cycles=False, levels=False, dim=2
    )
    assert searched(observations(30), table).rows == (row(0, TIMES[0]),)


# --- replay -------------------------------------------------------------------------------------------------------


def log(n, space, *, seed=0, change=None):
    rng, made = np.random.default_rng(seed), policy("auto", space)
    seens = []
    for t, x in enumerate(made.space.sample(rng, n), start=1):
        y = float(np.sin(5 * x[0]) * (-1.0 if change and t > change else 1.0) + 0.1 * rng.standard_normal())
        seens.append(Observation(t, float(t), tuple(x.tolist()), y + (40.0 if t == 37 else 0.0)))
    return seens


def said(made, state, number):
    """All that a state says, to the bit."""
    ask = Ask(number, float(number), seed=1)
    belief = made.belief(state, ask)
    X = made.space.sample(np.random.default_rng(3), 5)
    numbers = np.concatenate([made.choose(state, ask), *belief.predict(X), *belief.tails(X, np.zeros(5))])
    return numbers.tolist(), belief.weights.tolist(), belief.rows


@pytest.mark.parametrize("space", [BOX, GRID], ids=["box", "candidates"])
@pytest.mark.parametrize("every", [1, 5, 100])
def test_a_state_says_the_same_however_often_it_was_asked_on_the_way(space, every):
    """Asked after each observation, after some, or never: bit for bit."""
    made, seens = policy("auto", space), log(62, space, change=50)
    state = made.start()
    for seen in seens:
        state = made.update(state, seen)
        if seen.number % every == 0:
            made.choose(state, Ask(seen.number + 1, float(seen.number + 1), seed=1))
    assert said(made, state, 63) == said(made, replay(made, seens), 63)


@pytest.mark.parametrize("start", [40, 47, 52, 56])
def test_the_last_observations_in_memory_are_enough(monkeypatch, start):
    monkeypatch.setattr(policy_module, "SPAN", 40)
    made, seens = policy("auto", GRID, window=24), log(120, GRID, change=90)
    assert made.memory == 64
    newest = seens[: 64 + start]
    assert said(made, replay(made, newest), 65 + start) == said(made, replay(made, newest[-made.memory :]), 65 + start)


def test_asking_changes_nothing_and_pending_asks_are_not_told():
    made, seens = policy("auto", BOX), log(45, BOX)
    state = replay(made, seens)
    before = said(made, state, 46)
    made.choose(state, Ask(46, 46.0, pending=(seens[0].x,), seed=1))
    made.diagnose(state, Ask(46, 46.0))
    assert said(made, state, 46) == before


def test_two_states_can_go_on_from_one():
    made, seens = policy("auto", BOX), log(50, BOX)
    state = replay(made, seens[:44])
    other = [replace(seen, y=-seen.y) for seen in seens[44:]]
    one, two = state, state
    for a, b in zip(seens[44:], other, strict=True):
        one, two = made.update(one, a), made.update(two, b)
        made.choose(two, Ask(b.number + 1, b.at + 1.0))
    assert said(made, one, 51) == said(made, replay(made, seens), 51)
    assert said(made, two, 51) == said(made, replay(made, [*seens[:44], *other]), 51)
