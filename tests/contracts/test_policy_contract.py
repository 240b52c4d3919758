"""The contract of policies: what every policy of the registry does, on every kind of space.

A policy that is defined on candidates only may refuse the others when it is made, and says so. A new policy is held to
all this by being in the registry; where its defaults would make the short runs here say little, or take long, give it
options in OPTIONS.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from driftwise import Candidates, Choice, Float, Int
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.policies import REGISTRY, decision, policy, replay
from driftwise.policies.base import BasePolicy, weighs_noise
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.spaces import as_space

STEPS = 21
UNTOLD = {5, 11, 12}  # asked and never told, as abandoned suggestions are

SPACES: dict[str, Any] = {
    "candidates": Candidates(np.random.default_rng(0).random((40, 2))),
    "box": {"a": Float(0, 10), "b": Float(1, 100, log=True)},
    "mixed": {"a": Float(-1, 1), "n": Int(1, 10_000), "c": Choice(["x", None])},
    "few": {"n": Int(0, 6), "c": Choice(["x", "y"])},  # so few settings that they are as candidates
}
# windows and intervals so short that the runs here go well past them
OPTIONS: dict[str, dict[str, Any]] = {
    "sw-gp-ucb": {"window": 8},
    "r-gp-ucb": {"interval": 9},
    "sw-linucb": {"window": 8},
    "restart-linucb": {"interval": 9},
    "drift-aware": {"length": 8, "drift": 0.02},
    "wgp-ucb": {"eta": 0.5},
    "dal": {"probes": 3, "explore": 0.5},
    "bob-gp-ucb": {"horizon": 60, "block": 6},
    "tgp-ucb": {"window": 8, "moment": 0.1},
    "ldp": {"window": 8},
    "moma-gp-ucb": {"replicas": 3},
    "tv-gp-ucb": {"window": 8},
    "tv-r-gp-ucb": {"horizon": 9},
    "smooth-gp-ucb": {"window": 8},
    "ui-gp-ucb": {"window": 12},
    "pe-gp-ucb": {"window": 8},
    "r-perp": {"interval": 9},
    "w-dbo": {"most": 8, "starts": 4},
    "auto": {"window": 8},
    "auto-lean": {"window": 8, "span": 24},
}


def make(name: str, where: str) -> Any:
    return policy(name, SPACES[where], **OPTIONS.get(name, {}))


def is_defined(name: str, where: str) -> bool:
    try:
        make(name, where)
    except InvalidInput:
        return False
    return True


CASES = [(name, where) for name in REGISTRY for where in SPACES]
DEFINED = [case for case in CASES if is_defined(*case)]


TWO = [(name, where) for name, where in DEFINED if where in ("candidates", "mixed")]  # a grid, and every coordinate


def cases(chosen: Any) -> Any:
    return pytest.mark.parametrize(("name", "where"), chosen, ids=[" on ".join(case) for case in chosen])


each = cases(DEFINED)
each_on_two = cases(TWO)
each_that_forgets = cases([case for case in TWO if make(*case).memory is not None])


@dataclass(frozen=True)
class Live:
    """A run: the policy, the log, and before each step its state, what it was asked and what it chose."""

    policy: Any
    log: tuple[Observation, ...]
    steps: tuple[tuple[Any, Ask, Array], ...]
    state: Any  # after all


def reward(x: Array, number: int) -> float:
    noise = generator(3, number, Stream.NOISE).uniform(-0.05, 0.05)
    return float(0.7 * np.sin(5 * x[0] + number / 9) + 0.2 * np.cos(4 * x[-1]) + noise)


def ask(number: int, pending: tuple[tuple[float, ...], ...] = ()) -> Ask:
    return Ask(number, float(number), pending, seed=5)


@cache
def live(name: str, where: str) -> Live:
    made = make(name, where)
    state, log, steps = made.start(), [], []
    for number in range(1, STEPS + 1):
        x = made.choose(state, ask(number))
        steps.append((state, ask(number), x))
        if number not in UNTOLD:
            log.append(Observation(number, float(number), tuple(x.tolist()), reward(x, number)))
            state = made.update(state, log[-1])
    return Live(made, tuple(log), tuple(steps), state)


def says(made: Any, state: Any, number: int, pending: tuple[tuple[float, ...], ...] = ()) -> list[bytes]:
    """All that can be asked of a state, to the last bit."""
    asked = ask(number, pending)
    return [np.asarray(made.choose(state, asked)).tobytes(), *predicted(made, state, asked)]


def predicted(made: Any, state: Any, asked: Ask) -> list[bytes]:
    """What a state believes of some points, to the last bit."""
    X = made.space.sample(generator(1), 9) if made.space.points is None else made.space.points
    try:
        return [a.tobytes() for a in made.belief(state, asked).predict(X)]
    except InvalidInput:  # it has no belief
        return []


def values(made: Any, state: Any, number: int) -> list[Array]:
    """The same as numbers."""
    return [np.frombuffer(said) for said in says(made, state, number)]


def assert_inside(made: Any, x: Array) -> None:
    space = made.space
    assert x.shape == (space.dim,)
    assert np.isfinite(x).all()
    if isinstance(space, Candidates):
        assert tuple(x.tolist()) in space.coordinates
    else:
        assert space.snap(x[None]).tolist() == [x.tolist()]
        np.testing.assert_allclose(space.to_unit(space.from_unit(x)), x, atol=1e-9)


def assert_finite(made: Any, state: Any, asked: Ask) -> Any:
    """The belief, if it has one: finite everywhere."""
    try:
        belief = made.belief(state, asked)
        mean, std = belief.predict(made.space.sample(generator(1), 20))
    except InvalidInput:
        return None
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    return belief


def test_it_is_made_or_says_why_not():
    assert [case for case in CASES if case[1] == "candidates" and case not in DEFINED] == []
    for name, where in set(CASES) - set(DEFINED):
        with pytest.raises(InvalidInput, match=r"[Cc]andidates"):
            make(name, where)


@each_on_two
def test_it_is_a_frozen_description(name, where):
    made = make(name, where)
    assert made.name == name
    assert type(made).__dataclass_params__.frozen
    assert made == make(name, where)
    assert hash(made) == hash(make(name, where))
    assert made.space == as_space(SPACES[where])


@each
def test_its_choices_are_inside_the_space(name, where):
    run = live(name, where)
    for _, _, x in run.steps:
        assert_inside(run.policy, x)


@each_on_two
def test_choosing_is_pure_and_no_state_ever_changes(name, where):
    """After the whole run the old states, asked again, in another order, give the answers they gave."""
    run = live(name, where)
    for state, asked, x in reversed(run.steps[::5]):
        assert run.policy.choose(state, asked).tobytes() == x.tobytes()


@each_on_two
def test_two_futures_of_one_state_do_not_disturb_each_other(name, where):
    run = live(name, where)
    half = len(run.log) // 2
    past = replay(run.policy, run.log[:half])
    other = past
    for seen in run.log[half:]:
        other = run.policy.update(other, dataclasses.replace(seen, y=-seen.y))
    state = past
    for seen in run.log[half:]:
        state = run.policy.update(state, seen)
    assert says(run.policy, state, STEPS + 1) == says(run.policy, run.state, STEPS + 1)


@each
def test_replay_equals_live(name, where):
    run = live(name, where)
    fresh = make(name, where)
    pending = (run.log[2].x, run.log[7].x)
    replayed = replay(fresh, run.log)
    assert says(fresh, replayed, STEPS + 1) == says(run.policy, run.state, STEPS + 1)
    assert says(fresh, replayed, STEPS + 4, pending) == says(run.policy, run.state, STEPS + 4, pending)


def noisy(seen: Observation) -> Observation:
    """With a known noise, or as the mean of readings, in stretches: windows have some, all and none of these."""
    if seen.number % 60 >= 24:
        return seen
    if seen.number % 3 == 0:
        return dataclasses.replace(seen, repeats=2 + seen.number % 5)
    return dataclasses.replace(seen, std=float(10 ** generator(2, seen.number).uniform(-9, 9)))


def history(made: Any, *, own: bool = False) -> list[Observation]:
    """A log that goes past what the policy remembers, with numbers missing here and there.

    The first two points are looked at only once, and then a few others time and again. With `own` there are
    observations with a noise of their own.
    """
    rng = np.random.default_rng(4)
    X = made.space.sample(rng, 7)
    numbers = np.flatnonzero(rng.random(int(1.3 * (made.memory or 0)) + 80) > 0.1) + 1
    points = [X[i] if i < 2 else X[2 + n % 5] for i, n in enumerate(numbers)]
    log = [
        Observation(int(n), float(n), tuple(x.tolist()), reward(x, int(n)))
        for n, x in zip(numbers, points, strict=True)
    ]
    return [noisy(seen) for seen in log] if own else log


@pytest.mark.parametrize("own", [False, True], ids=["one noise", "own noises"])
@each_that_forgets
def test_replay_from_what_it_remembers_equals_live(name, where, own):
    made = make(name, where)
    assert made.memory >= 0
    log = history(made, own=own)
    assert len(log) > made.memory + 1
    state = made.start()
    for i, seen in enumerate(log, 1):
        state = made.update(state, seen)
        if i > made.memory and (i % 197 == 0 or i == len(log)):
            tail = replay(made, log[i - made.memory : i])
            assert says(made, tail, seen.number + 1) == says(made, state, seen.number + 1)


@pytest.mark.parametrize("own", [False, True], ids=["one noise", "own noises"])
@each_that_forgets
def test_what_it_does_not_remember_makes_no_difference(name, where, own):
    made = make(name, where)
    log = history(made, own=own)
    newest = log[-1].number
    kept = [o for i, o in enumerate(log) if made.remembers(o.number, newest=newest, newer=len(log) - 1 - i)]
    assert len(kept) < len(log) - 2
    for one, other in zip(*(values(made, replay(made, some), newest + 1) for some in (log, kept)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_policy_that_takes_all_the_data_says_of_none_that_it_is_forgotten():
    """Of such a policy nobody promises that an old observation makes no difference, so a receipt must not say so."""
    for made in [make(*case) for case in DEFINED]:
        if made.memory is None:
            assert all(made.remembers(number, newest=500, newer=500 - number) for number in range(1, 501)), made.name


@each_on_two
def test_a_choice_asks_for_the_belief_once_at_most(name, where, monkeypatch):
    """What a study logs of a choice comes with the choice: it is not made a second time for that."""
    made, calls = make(name, where), []
    state, asked, x = live(name, where).steps[-1]
    if not isinstance(made, BasePolicy):  # auto, whose belief is put together from what its state has already
        pytest.skip("it has choose and no decide")
    said = type(made).belief
    monkeypatch.setattr(type(made), "belief", lambda *given: calls.append(given) or said(*given))
    chosen = decision(made, state, asked)
    assert chosen.x.tobytes() == x.tobytes()
    assert chosen.jitter >= 0
    assert len(calls) <= 1


@each_on_two
def test_it_survives_json(name, where):
    run = live(name, where)
    again = codec.loads(codec.dumps(run.policy))
    assert again == run.policy
    assert says(again, replay(again, run.log), STEPS + 1) == says(run.policy, run.state, STEPS + 1)


@each
def test_pending_asks_are_accepted_and_spread_out(name, where):
    """Where much is known the best may be asked for again; where nothing is, asking twice for the same is a waste."""
    run = live(name, where)
    known = tuple(seen.x for seen in run.log[-3:])
    assert_inside(run.policy, run.policy.choose(run.state, ask(STEPS + 1, (*known, known[0]))))
    start, pending = run.policy.start(), ()
    for number in range(1, 5):
        x = run.policy.choose(start, ask(number, pending))
        assert_inside(run.policy, x)
        pending = (*pending, tuple(x.tolist()))
    assert len(set(pending)) > 1


@each_on_two
def test_odd_rewards_do_no_harm(name, where):
    made = make(name, where)
    x = tuple(made.space.sample(generator(0), 1)[0].tolist())
    for y in ((3.0, 3.0), (1e12, -1e12), (1e12, 1e12)):  # constant, huge, huge and constant
        state = made.start()
        for number in range(1, 11):  # the very same point, time and again, and then what it asks for
            at = x if number < 9 else tuple(made.choose(state, ask(number)).tolist())
            state = made.update(state, Observation(number, float(number), at, y[number % 2]))
        assert_inside(made, made.choose(state, ask(11)))
        assert_finite(made, state, ask(11))


# --- noise known per observation ----------------------------------------------------------------------------------


def told(made: Any, log: tuple[Observation, ...], **noise: Any) -> list[bytes]:
    """All that it believes after each observation of a log, if they all have this noise."""
    state, said = made.start(), []
    for seen in log:
        state = made.update(state, dataclasses.replace(seen, **noise))
        said += predicted(made, state, ask(seen.number + 1))
    return said


@each_on_two
def test_it_says_whether_it_uses_the_noise_of_an_observation(name, where):
    """Exact and worthless observations make different beliefs, or no difference at all; and so do means of many."""
    made, log = make(name, where), live(name, where).log[:10]
    assert weighs_noise(made) == (name not in {"random", "ada-opkb", "ldp", "ata-gp-ucb", "moma-gp-ucb", "auto-lean"})
    plain, exact, worthless = told(made, log), told(made, log, std=1e-3), told(made, log, std=1e3)
    many = told(made, log, repeats=50)
    if weighs_noise(made):
        assert len({tuple(said) for said in (plain, exact, worthless, many)}) == 4
    else:
        assert plain == exact == worthless == many


@each_on_two
def test_the_own_noise_of_all_observations_may_be_the_policy_s(name, where):
    """A known standard deviation of √λ is no news, where λ is that of the rewards as they come."""
    made, log = make(name, where), live(name, where).log
    model, scale = getattr(made, "model", None), getattr(made, "rewards", None)
    if not weighs_noise(made) or model is None or name == "w-dbo":  # which fits its own λ
        pytest.skip("it has no λ of its own")
    std = float(np.sqrt(model.noise)) * (1.0 if scale is None else scale.units[1])
    for one, other in zip(told(made, log), told(made, log, std=std), strict=True):
        np.testing.assert_allclose(np.frombuffer(one), np.frombuffer(other), atol=1e-9)


@each_on_two
def test_any_noise_does_no_harm(name, where):
    """Standard deviations from 1e-9 to 1e9, of rewards that are as far apart, at few points, time and again."""
    made, rng = make(name, where), np.random.default_rng(8)
    X = made.space.sample(rng, 3)
    state = made.start()
    for number in range(1, 31):
        std = float(10 ** rng.uniform(-9, 9)) if number % 4 else None
        x, y = tuple(X[number % 3].tolist()), float(rng.standard_normal() * max(std or 0.0, 0.1))
        state = made.update(state, Observation(number, float(number), x, y, std=std, repeats=1 + number % 2))
    assert_inside(made, made.choose(state, ask(31, (tuple(X[0].tolist()),))))
    belief = assert_finite(made, state, ask(31))
    if belief is not None:
        assert np.isfinite(belief.information_gain)
        assert belief.jitter <= 1e-9
