"""Settings and a context together: the maximum is over the settings alone, and asks are in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise import Candidates, Choice, Float, Int
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Ucb
from driftwise.gp.kernels import RBF
from driftwise.gp.posterior import Posterior
from driftwise.log import codec
from driftwise.policies import REGISTRY, policy
from driftwise.records import Ask, Observation
from driftwise.spaces import Box, Joint, Where, as_space, draw, in_context, joint, pinned, split
from driftwise.spaces.local import nearby

CONTEXT = Box.of({"traffic": Float(0, 100), "day": Choice(["work", "rest"])})
SETTINGS: dict[str, Any] = {
    "box": Box.of({"a": Float(0, 1), "n": Int(1, 400)}),
    "few": Box.of({"n": Int(1, 6)}),
    "candidates": Candidates(10 * np.random.default_rng(0).random((30, 2)), ["u", "v"]),
}
NOW = {"traffic": 25.0, "day": "rest"}
each = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


def belief(space: Any) -> Posterior:
    rng = np.random.default_rng(1)
    X = space.sample(rng, 25)
    kernel = RBF(tuple(np.maximum(np.ptp(X, axis=0), 0.1).tolist()))
    return Posterior(kernel, 0.01, X=X, y=rng.standard_normal(25), K=kernel(X, X))


@each
def test_there_and_back(settings: Any) -> None:
    space = joint(settings, CONTEXT)
    assert as_space(space) is space
    assert space.names == settings.names + CONTEXT.names
    assert codec.loads(codec.dumps(space)) == space
    for x in space.sample(np.random.default_rng(0), 50):
        point = tuple(x.tolist())
        params = space.from_unit(point)
        assert space.to_unit(params) == pytest.approx(point, abs=1e-15)
        chosen, context = split(CONTEXT, params)
        assert settings.to_unit(chosen) == pytest.approx(point[: settings.dim], abs=1e-15)
        assert context == CONTEXT.from_unit(point[settings.dim :])


@each
def test_the_maximum_is_over_the_settings_in_the_context(settings: Any) -> None:
    space = joint(settings, CONTEXT)
    score = Ucb(belief(space), 1.0)
    ask = Ask(1, 1.0, fixed=in_context(CONTEXT, space, NOW))
    context = list(CONTEXT.to_unit(NOW))
    points = settings.points if settings.points is not None else settings.sample(np.random.default_rng(2), 20_000)
    best = score(np.hstack([points, np.tile(context, (len(points), 1))])).max()
    x = space.argmax(score, ask)
    assert score(x[None])[0] >= best - 1e-9
    for y in (x, draw(space, ask), nearby(score, space, space.sample(np.random.default_rng(3), 1)[0], 0.2, ask)):
        assert y[settings.dim :].tolist() == context
        assert settings.to_unit(settings.from_unit(tuple(y[: settings.dim].tolist()))) is not None


@pytest.mark.parametrize("name", [name for name in REGISTRY if REGISTRY[name].restrictable])
def test_policies_choose_in_the_context(name: str) -> None:
    for settings in SETTINGS.values():
        space = joint(settings, CONTEXT)
        try:
            made = policy(name, space)
            break
        except InvalidInput as error:  # it is for candidates, or for no box that has a context
            why = str(error)
    else:
        pytest.skip(why)
    state, rng = made.start(), np.random.default_rng(0)
    for number in range(1, 5):
        context = {"traffic": float(rng.integers(0, 100)), "day": "work"}
        ask = Ask(number, float(number), fixed=in_context(CONTEXT, space, context))
        x = made.choose(state, ask)
        chosen, back = split(CONTEXT, space.from_unit(tuple(x.tolist())))
        assert back == context
        settings.to_unit(chosen)
        state = made.update(state, Observation(number, float(number), tuple(x.tolist()), float(x[0])))


def test_auto_says_which_parameters_matter() -> None:
    for settings in SETTINGS.values():
        space = joint(settings, CONTEXT)
        auto = policy("auto", space)
        state, rng = auto.start(), np.random.default_rng(0)
        for number, x in enumerate(space.sample(rng, 20), start=1):
            state = auto.update(state, Observation(number, float(number), tuple(x.tolist()), float(x[-3])))
        found = auto.diagnose(state, Ask(21, 21.0))  # type: ignore[attr-defined]
        assert set(found.matters) == set(found.moves) == set(space.names)


def test_where_may_speak_of_the_context() -> None:
    space = joint(SETTINGS["candidates"], CONTEXT)
    where = Where.of(["u < 5 or traffic < 50", "v <= 8"], space)
    busy = Ask(1, 1.0, fixed=in_context(CONTEXT, space, {"traffic": 80.0, "day": "work"}), allowed=where)
    score = Ucb(belief(space), 1.0)
    x = space.argmax(score, busy)
    assert x[0] < 5
    assert x[1] <= 8


def test_pinned_parameters() -> None:
    space = Box.of({"size": Float(0, 4), "n": Int(1, 3), "kind": Choice(["fast", "slow"])})
    assert pinned(space, {"kind": "slow", "size": 1.0}) == ((0, 0.25), (2, 0.0), (3, 1.0))
    assert pinned(SETTINGS["few"], {}) == ()
    assert pinned(Candidates([[1.0, 2.0], [1.0, 3.0]]), {"x1": 3.0}) == ((1, 3.0),)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pinned(SETTINGS["box"], {"a": 2}), r"fixed 'a' must be a number from 0 to 1, got 2"),
        (lambda: pinned(SETTINGS["box"], {"b": 2}), r"unknown parameter 'b'; there are a, n"),
        (lambda: pinned(SETTINGS["box"], [1]), r"fixed must be a dict of values by name"),
        (lambda: pinned(Candidates([[1.0]]), {"x0": 2}), r"must be that of a candidate, got 2\.0, which none has"),
        (lambda: in_context(CONTEXT, CONTEXT, {"day": "rest"}), r"context 'traffic' is missing; it is a number from 0"),
        (lambda: in_context(CONTEXT, CONTEXT, NOW | {"x": 1}), r"unknown context 'x'; there is traffic, day"),
        (lambda: in_context(CONTEXT, CONTEXT, NOW | {"day": "x"}), r"context 'day' must be one of \['work', 'rest'\]"),
        (lambda: in_context(CONTEXT, CONTEXT, None), r"context must be a dict of traffic, day, got None"),
        (lambda: joint(SETTINGS["box"], {"a": Float(0, 1)}), r"got 'a' in both; rename one"),
        (lambda: joint(SETTINGS["box"], {}), r"a context needs at least one parameter"),
        (lambda: joint(SETTINGS["box"], 3), r"context must be a dict of Float, Int and Choice by name, got 3"),
        (lambda: Joint(SETTINGS["box"], CONTEXT), r"a Joint is of Candidates and of a Box"),
        (
            lambda: joint(SETTINGS["candidates"], CONTEXT).argmax(Ucb(belief(CONTEXT), 1.0), Ask(1, 1.0)),
            r"the context must be given, got none for traffic, day",
        ),
    ],
)
def test_errors_say_which_and_what(call: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        call()


def test_a_context_pays() -> None:
    """Where the optimum moves with the context, knowing it makes the regret smaller by far."""
    space = Box.of({"x": Float(0, 1)})
    context = Box.of({"traffic": Float(0, 1)})
    both = joint(space, context)
    regret = {}
    for known in (True, False):
        made = policy("gp-ucb", both if known else space, kernel=dw.RBF(0.3), noise=0.01)
        state, rng, total = made.start(), np.random.default_rng(0), 0.0
        for number in range(1, 61):
            traffic = float(rng.random())
            fixed = in_context(context, both, {"traffic": traffic}) if known else ()
            x = made.choose(state, Ask(number, float(number), fixed=fixed))
            loss = float(4 * (x[0] - traffic) ** 2)
            total += loss
            y = -loss + 0.05 * float(rng.standard_normal())
            state = made.update(state, Observation(number, float(number), tuple(x.tolist()), y))
        regret[known] = total
    assert regret[True] <= 0.4 * regret[False]
