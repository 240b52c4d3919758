"""`at` may be anything finite: in another unit, once wrong, equal, backwards, huge. Nothing fails or is spoilt."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise import Candidates, Float, Study
from driftwise.policies import REGISTRY

N = 10
LINE = Candidates(np.linspace(0, 1, 9)[:, None], names=["x"])
SPACES = {"candidates": LINE, "box": {"x": Float(0, 1)}}
TIMED = ("auto", "tv-gp-ucb", "smooth-gp-ucb", "ui-gp-ucb", "pe-gp-ucb", "w-dbo")  # those that look at the time
ON_BOXES = ("tv-gp-ucb", "smooth-gp-ucb", "ui-gp-ucb")  # and those that go about it otherwise there
SMALL = 1e-6  # jitter up to which a belief is what it says
CLOSE, ALIKE, NEAR = 0.2, 0.15, 0.02  # means in standard deviations of rewards, standard deviations, and tops
ASKED = (None, 12.5, 1e308)


def once(wild: float, place: int) -> list[float | None]:
    return [wild if i == place else float(i) for i in range(N)]


TIMES: dict[str, list[float | None]] = {
    "all equal": [5.0] * N,
    "in pairs": [float(i // 2) for i in range(N)],
    "backwards": [float(-i) for i in range(N)],
    "negative": [-1e6 + i for i in range(N)],
    "to and fro": [10.0 * (i % 2) for i in range(N)],
    "every other in milliseconds": [1.7e9 + i if i % 2 else 1.7e12 + 1e3 * i for i in range(N)],
    "nearly nothing": [1e-300 * i for i in range(N)],
    "subnormal": [5e-324 * i for i in range(N)],
    "subnormal and once 1": [1.0 if i == 6 else 5e-324 * i for i in range(N)],
    "too large for steps of 1": [1e18 + i for i in range(N)],
    "huge": [1e308, 1e308, *(1e307 * i for i in range(N - 2))],
    "huge to and fro": [1.7e308 * (-1) ** i for i in range(N)],
    "huge, three in turn": [1.7e308 * (i % 3 - 1) for i in range(N)],
    "of all sizes": [10.0 ** (33 * i) for i in range(N)],
    "of all sizes, falling": [-(10.0 ** (300 - 33 * i)) for i in range(N)],
    "once late": once(1.7e12, 6),
    "once early": once(-1.7e12, 6),
    "once huge": once(1e308, 6),
    "the first wrong": once(1e308, 0),
    "the last wrong": once(1e308, N - 1),
    "two wrong": [1e18 if i in (5, 6) else float(i) for i in range(N)],
    "milliseconds from the sixth on": [float(i) if i < 5 else 1e3 * i for i in range(N)],
    "nanoseconds until the sixth": [1e9 * i if i < 5 else float(i) for i in range(N)],
    "seconds since 1970": [1.7e9 + 0.01 * i for i in range(N)],
    "some not given": [None if i % 3 else 1.7e9 + i for i in range(N)],
    "a long pause": [float(i) if i < 5 else 1e15 + i for i in range(N)],
}


def made(name: str, space: object, seed: int = 1) -> Study:
    return Study("s", space, policy=name, seed=seed, **({"starts": 2} if name == "w-dbo" else {}))


def is_sound(study: Study, at: float | None) -> None:
    """A suggestion, and a finite belief that needed next to no jitter."""
    study.ask(at=at)
    belief, best = study.belief(at=at), study.recommend(at=at)
    assert math.isfinite(best.mean)
    assert math.isfinite(best.std)
    assert belief.jitter <= SMALL
    assert study.describe().counts.jitter <= SMALL


# One for each way to go wrong: no gap, order, a difference that overflows, digits lost, hardly any gap, none given.
WORST = ("all equal", "backwards", "huge to and fro", "of all sizes", "subnormal and once 1", "some not given")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "random"])
def test_no_times_are_too_much_for_a_policy(name):
    for times in WORST if name in TIMED else ("backwards", "huge to and fro"):
        for space in SPACES.values() if name in ON_BOXES else [LINE]:
            study, rng = made(name, space), random.Random(1)
            for i, at in enumerate(TIMES[times]):
                if i == 7:
                    study.tell(study.ask(at=at), rng.gauss(0, 1), at=at)
                else:
                    study.observe({"x": rng.randrange(9) / 8}, rng.gauss(0, 1), at=at)
            for at in ASKED if name in TIMED else [None]:
                is_sound(study, at)


@pytest.mark.parametrize("times", TIMES)
def test_drift_stays_sensible(times):
    study, rng = made("auto", LINE), random.Random(2)
    for at in TIMES[times]:
        study.observe({"x": rng.randrange(9) / 8}, rng.gauss(0, 1), at=at)
    own = [seen.at for seen in study.observations()]
    for found in (study.drift(), study.drift(at=1e308), study.drift_history(2)[0].drift):
        numbers = (found.rate, found.gap, found.noise, found.in_use, found.level)
        assert all(0 <= number < math.inf for number in numbers)
        assert found.gap <= 2 * max(map(abs, own)) or found.seen == 1
        assert found.change is None or found.change.at in own
        assert found.cycle is None or 0 < found.cycle.period < math.inf


# --- one wrong time ---------------------------------------------------------------------------------------------------


def top(at: float) -> float:
    return 0.5 + 0.3 * math.sin(at / 25)


def told(name: str, space: object, count: int, wild: dict[int, float], seed: int = 0) -> Study:
    """After `count` rewards at random places, of a function whose top moves; some times are wrong."""
    study, rng = made(name, space, seed), random.Random(seed)
    for i in range(count):
        x = rng.randrange(9) / 8
        study.observe({"x": x}, -4 * (x - top(i)) ** 2 + rng.gauss(0, 0.1), at=wild.get(i, float(i)))
    return study


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_auto_survives_one_time_in_milliseconds(seed):
    """The last survey is extended by what came since. Formerly "not positive definite", or a jitter of 1."""
    study, rng, wrong = made("auto", SPACES["box"], seed), random.Random(seed), 24 + seed % 8
    for i in range(wrong + 3):
        x = rng.random() if i < 8 else min(max(rng.gauss(0.4, 0.1), 0.0), 1.0)  # as one who has found the top
        study.observe({"x": x}, -4 * (x - 0.4) ** 2 + rng.gauss(0, 0.1), at=1.7e12 + 1e3 * i if i == wrong else i)
        if i >= wrong:
            assert study.belief(at=i + 1).jitter <= SMALL
            assert study.belief().jitter <= SMALL
    is_sound(study, None)


@pytest.mark.parametrize("wild", [1.7e12, -1e308])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", TIMED)
def test_one_wrong_time_does_not_spoil_what_comes_after_it(name, space, wild):
    """Twenty observations later it believes what a twin does whose times were right, and knows the top as well."""
    wrong, right = (told(name, SPACES[space], 41, times) for times in ({20: wild}, {}))
    (mean, std), (true, spread) = (study.belief(at=41.0).predict(LINE.points) for study in (wrong, right))
    assert np.abs(mean - true).max() <= CLOSE
    np.testing.assert_allclose(std, spread, rtol=ALIKE)
    found, best = (study.recommend(at=41.0).params["x"] for study in (wrong, right))
    assert abs(found - best) <= NEAR


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", TIMED)
def test_a_long_pause_is_one(name, space):
    """All later times are large, too: what was seen before says nothing of now, unless nothing ever changes."""
    paused = told(name, SPACES[space], 20, {i: 1e12 + i for i in range(10, 20)})
    assert np.isfinite(paused.belief(at=1e12 + 20).predict(LINE.points)).all()
    if name in ("tv-gp-ucb", "smooth-gp-ucb"):
        late, rng = made(name, SPACES[space]), random.Random(0)
        for i in range(20):
            x, noise = rng.randrange(9) / 8, rng.gauss(0, 0.1)
            if i >= 10:
                late.observe({"x": x}, -4 * (x - top(i)) ** 2 + noise, at=1e12 + i)
        stds = [study.belief(at=1e12 + 20).predict(LINE.points)[1] for study in (paused, late)]
        np.testing.assert_allclose(stds[0], stds[1], atol=1e-9)


@pytest.mark.parametrize("times", ["once late", "every other in milliseconds", "huge, three in turn"])
@pytest.mark.parametrize("name", TIMED)
def test_a_reward_that_comes_late_leaves_the_same_bits(name, times):
    def asked(late: int) -> tuple[float, ...]:
        study = made(name, LINE)
        suggestions = [study.ask(key=str(i), at=float(i)) for i in range(N)]
        order = [i for i in range(N) if i != late] + [late]
        for i in order:
            study.tell(suggestions[i], math.sin(3.0 * i), at=TIMES[times][i])
            if i > late:
                study.belief()  # a state that the late reward has to go back behind
        return study.ask(at=11.0).x

    assert asked(4) == asked(N - 1)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=12))
def test_auto_takes_any_finite_times(times):
    study, rng = made("auto", LINE), random.Random(3)
    for at in times:
        study.observe({"x": rng.randrange(9) / 8}, rng.gauss(0, 1), at=at)
    is_sound(study, None)
    assert math.isfinite(study.drift(at=times[0]).in_use)
