"""Every policy of the registry chooses among what an ask fixes and allows, or says that it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.contracts.test_policy_contract import SPACES, TWO, make

from driftwise import Candidates
from driftwise.errors import InvalidInput
from driftwise.policies import REGISTRY, check_restrictable, policy, restrictable
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import as_space

pytestmark = pytest.mark.slow  # it says nothing about versions of other packages

STEPS = 7


def rule(space: Any) -> Any:
    """About a tenth of a space: where the first two coordinates are nearly alike, or the first is small."""
    low, high = (0.0, 1.0) if space.points is None else (space.points.min(axis=0), space.points.max(axis=0))

    def allowed(X: Array) -> Any:
        U = (X - low) / (high - low)
        return (U[:, 0] <= 0.05) | (np.abs(U[:, 0] - U[:, 1]) <= 0.03)

    return allowed


def obeys(made: Any, **restricted: Any) -> bool:
    """Whether its first choices, and those after some rewards, are as the asks want them."""
    state = made.start()
    for number in range(1, STEPS + 1):
        ask = Ask(number, float(number), seed=7, **restricted)
        x = made.choose(state, ask)
        fits = all(x[place] == value for place, value in ask.fixed)
        if not fits or (ask.allowed is not None and not ask.allowed(x[None])[0]):
            return False
        seen = Observation(number, float(number), tuple(x.tolist()), float(np.sin(3 * x).sum() / len(x) / 2))
        state = made.update(state, seen)
    return True


ABLE = [(name, where) for name, where in TWO if REGISTRY[name].restrictable]
UNABLE = [name for name in REGISTRY if not REGISTRY[name].restrictable]


@pytest.mark.parametrize(("name", "where"), ABLE, ids=[" on ".join(case) for case in ABLE])
def test_it_obeys(name: str, where: str) -> None:
    space = as_space(SPACES[where])
    made = make(name, where)
    assert restrictable(made)
    check_restrictable(made, "where")
    assert obeys(made, allowed=rule(space))
    at = space.sample(np.random.default_rng(3), 1)[0]
    assert obeys(made, fixed=((0, float(at[0])),))


def test_auto_with_small_steps_obeys() -> None:
    for where in SPACES:
        space = as_space(SPACES[where])
        assert obeys(policy("auto", space, max_step=0.2), allowed=rule(space))


@pytest.mark.parametrize("name", UNABLE)
def test_those_that_cannot_say_so(name: str) -> None:
    made = make(name, "candidates")
    assert not restrictable(made)
    with pytest.raises(InvalidInput, match=rf"where cannot be used with {name}, .* use auto"):
        check_restrictable(made, "where")
    if name in (
        "master-gp-ucb",
        "moma-gp-ucb",
    ):  # their choices are; tests are about all settings, replicas of the last ask
        assert obeys(made, allowed=rule(as_space(SPACES["candidates"])))
    else:
        assert not obeys(made, allowed=rule(as_space(SPACES["candidates"])))


def test_one_around_another_is_as_that_one() -> None:
    points = Candidates(np.linspace(0, 1, 5))
    assert restrictable(policy("tgp-ucb", points))
    assert not restrictable(policy("tgp-ucb", points, inner="r-perp"))


def test_a_policy_of_a_users_own_must_say_so() -> None:
    class Own:
        name = "own"

    assert not restrictable(Own())  # type: ignore[arg-type]
