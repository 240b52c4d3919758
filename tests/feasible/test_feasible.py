"""The policy around the user's own: its contract, and how few failures and violations it has."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from benchmarks.feasible_worlds import Service, run_in

from driftwise import Candidates, Choice, Float, Int, Study
from driftwise.errors import InvalidInput
from driftwise.feasible import Feasible, at_least, at_most
from driftwise.feasible.gate import ASKED, CAUTIOUS
from driftwise.log import codec
from driftwise.policies import decision, policy, replay
from driftwise.records import Ask, Observation, failure
from driftwise.rng import generator
from driftwise.spaces import Where, as_space, joint

pytestmark = pytest.mark.slow  # it says nothing about versions of other packages

LINE = {"x": Float(0, 1)}
GRID = Candidates(np.linspace(0, 1, 201)[:, None])
MIXED = {"a": Float(-1, 1), "n": Int(1, 10_000), "c": Choice(["x", None])}
SPACES: dict[str, Any] = {"candidates": Candidates(np.random.default_rng(0).random((40, 2))), "mixed": MIXED}
INNER: dict[str, dict[str, Any]] = {
    "sw-gp-ucb": {"window": 8, "standardise": True},
    "r-gp-ucb": {"interval": 9, "standardise": True},
    "gp-ucb": {"standardise": True},
    "tv-gp-ucb": {"window": 8, "standardise": True},
    "auto": {"window": 8},
}
LIMITS = {"ms": at_most(200), "ok": at_least(0.5)}
cases = pytest.mark.parametrize(("name", "where"), [(n, w) for n in INNER for w in SPACES])


def make(name: str, where: str, **given: Any) -> Feasible:
    return Feasible(policy(name, SPACES[where], **INNER[name]), **given)


def history(made: Feasible, length: int) -> list[Observation]:
    """Rewards, failures in runs, and measures, of which some are missing."""
    rng = np.random.default_rng(4)
    X = made.space.sample(rng, 9)
    seen = []
    for n in np.flatnonzero(rng.random(length) > 0.1) + 1:
        x, number = tuple(X[n % 9].tolist()), int(n)
        also = tuple(pair for pair in (("ms", 190 + 20 * x[0]), ("ok", x[-1])) if rng.random() < 0.6)
        if (number // 7) % 3 == 0 or rng.random() < 0.2:
            seen.append(failure(number, float(number), x, also))
        else:
            seen.append(Observation(number, float(number), x, float(np.sin(5 * x[0]) + number / 99), measures=also))
    return seen


def says(made: Feasible, state: Any, number: int) -> list[bytes]:
    """All that can be asked of a state, to the last bit."""
    ask = Ask(number, float(number), seed=5)
    X = made.space.sample(generator(1), 9)
    beliefs = [made.belief(state, ask), *(made.measure(state, name, ask) for name, _ in made.limits)]
    told = [part.tobytes() for belief in beliefs for part in belief.predict(X)]
    return [made.choose(state, ask).tobytes(), made.works(state, X, ask).tobytes(), *told]


@cases
def test_if_nothing_failed_the_choices_are_those_of_the_policy_to_the_last_bit(name, where, monkeypatch):
    made = make(name, where)
    monkeypatch.setattr("driftwise.feasible.policy.settings", lambda *_: pytest.fail("it costs nothing"))
    state, inner = made.start(), made.inner.start()
    for number in range(1, 13):
        ask = Ask(number, float(number), seed=3)
        x = decision(made, state, ask).x
        assert x.tobytes() == decision(made.inner, inner, ask).x.tobytes()
        seen = Observation(number, float(number), tuple(x.tolist()), float(np.sin(9 * x[0])))
        state, inner = made.update(state, seen), made.inner.update(inner, seen)


def last_rewards(log, count):
    """The end of the log that begins with its count-th last reward, as a store reads it."""
    rewards = [i for i, seen in enumerate(log) if not seen.failed]
    return log[rewards[-count] :] if len(rewards) > count else log


@pytest.mark.parametrize("limits", [{}, LIMITS], ids=["failures", "failures and limits"])
@cases
def test_replay_from_what_it_remembers_equals_live(name, where, limits):
    made = make(name, where, limits=limits)
    if made.memory is None:
        pytest.skip("it takes all the data")
    log = history(made, int(1.3 * made.memory) + 60)
    assert len(log) > made.memory + 20
    checked = {made.memory + 1, len(log)}
    state = made.start()
    for i, seen in enumerate(log, 1):
        state = made.update(state, seen)
        if i in checked:
            tail = replay(made, last_rewards(log[:i], made.memory))
            assert says(made, tail, seen.number + 1) == says(made, state, seen.number + 1)


@pytest.mark.parametrize("name", ["sw-gp-ucb", "r-gp-ucb", "tv-gp-ucb"])
def test_what_it_does_not_remember_makes_no_difference(name):
    made = make(name, "mixed")
    log = history(made, 3 * made.memory)
    newest = log[-1].number
    newer = [sum(not later.failed for later in log[i + 1 :]) for i in range(len(log))]
    kept = [o for o, n in zip(log, newer, strict=True) if made.remembers(o.number, newest=newest, newer=n)]
    assert len(kept) < len(log)
    assert says(made, replay(made, kept), newest + 1) == says(made, replay(made, log), newest + 1)


@cases
def test_choosing_is_pure_and_no_state_ever_changes(name, where):
    made, states = make(name, where, limits=LIMITS), []
    state = made.start()
    for seen in history(made, 30):
        states.append((state, seen.number, says(made, state, seen.number)))
        state = made.update(state, seen)
    for old, number, said in reversed(states[::7]):
        assert says(made, old, number) == said


@cases
def test_its_choices_are_inside_the_space_and_pending_asks_are_accepted(name, where):
    made = make(name, where, limits=LIMITS)
    log = history(made, 40)
    state = replay(made, log)
    for number in (41, 42):
        x = made.choose(state, Ask(number, float(number), (log[3].x, log[5].x), seed=1))
        if isinstance(made.space, Candidates):
            assert tuple(x.tolist()) in made.space.coordinates
        else:
            assert made.space.snap(x[None]).tolist() == [x.tolist()]


def test_it_survives_json():
    made = Feasible(policy("sw-gp-ucb", LINE, window=8), limits=LIMITS, safe=True, begin=(0.2,), delta=0.1)
    again = codec.loads(codec.dumps(made))
    assert again == made
    assert hash(again) == hash(made)
    assert type(made).__dataclass_params__.frozen


def test_what_does_not_fit_together_is_refused():
    inner = policy("gp-ucb", LINE)
    wrong = (
        {"safe": True},
        {"safe": True, "limits": LIMITS},
        {"safe": True, "begin": (0.5,)},
        {"begin": (0.5, 0.5)},
        {"delta": 0.0},
        {"limits": (("a", at_most(1)), ("a", at_least(0)))},
    )
    for given in wrong:
        with pytest.raises(InvalidInput):
            Feasible(inner, **given)
    with pytest.raises(InvalidInput, match="belief"):
        Feasible(policy("random", LINE), limits=LIMITS)
    made = Feasible(inner, limits={"ms": at_most(1)})
    with pytest.raises(InvalidInput, match="ms"):
        made.measure(made.start(), "other", Ask(1, 1.0))


def test_a_policy_that_cannot_be_restricted_is_left_alone_and_refuses_limits():
    inner = policy("master-gp-ucb", GRID)
    with pytest.raises(InvalidInput, match="limits cannot be used with master-gp-ucb"):
        Feasible(inner, limits=LIMITS)
    made = Feasible(inner)
    state = replay(made, [failure(n, float(n), (0.5,)) for n in range(1, 5)])
    ask = Ask(5, 5.0)
    assert made.choose(state, ask).tobytes() == decision(inner, inner.start(), ask).x.tobytes()
    assert made.works(state, np.array([[0.5]]), ask)[0] < 0.3


@pytest.mark.parametrize("settings", [Candidates([[0.0], [4.0], [9.0]]), as_space(LINE)], ids=["candidates", "box"])
def test_in_a_context_failures_are_those_of_the_setting_in_it(settings):
    """What fails under heavy traffic is tried under light traffic, and the context is that of the ask."""
    space = joint(settings, {"traffic": Float(0, 1)})
    made = Feasible(policy("gp-ucb", space), limits={"ms": at_most(200)}, safe=True, begin=(0.0, 0.0))
    bad = settings.sample(generator(0), 1)[0].tolist()
    log = [failure(n, float(n), (*bad, 1.0), (("ms", 100.0),)) for n in range(1, 4)]
    state = replay(made, log)
    for traffic in (0.0, 1.0):
        x = made.choose(state, Ask(4, 4.0, fixed=((1, traffic),)))
        assert x[1] == traffic
    works = made.works(state, np.array([[*bad, 0.0], [*bad, 1.0]]), Ask(4, 4.0))
    assert works[0] > works[1] + 0.3


def test_what_is_known_about_drift_is_that_of_the_policy():
    made = Feasible(policy("auto", GRID))
    state = replay(made, [Observation(n, float(n), (0.5,), float(n)) for n in range(1, 6)])
    ask = Ask(6, 6.0)
    assert made.diagnose(state, ask) == made.inner.diagnose(state.reward, ask)
    assert not hasattr(Feasible(policy("gp-ucb", GRID)), "diagnose")


# --- failures -----------------------------------------------------------------------------------------------------


def ten_x(x, t):
    return 10 * x[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["sw-gp-ucb", "gp-ucb", "tv-gp-ucb"])
def test_few_failures_and_the_best_that_works(name, seed):
    """Reward 10x that fails for x > 0.7: at most 8 of 60 fail, and the best is within 2%."""
    tried = run_in(
        Feasible(policy(name, GRID, standardise=True)), ten_x, steps=60, seed=seed, fails=lambda x, t: x[0] > 0.7
    )
    assert sum(step.failed for step in tried) <= 8
    assert max(step.value for step in tried if not step.failed) >= 6.86


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("auto", 0), ("sw-gp-ucb", 0)])
def test_so_on_a_box(name, seed):
    options = {} if name == "auto" else {"standardise": True}
    tried = run_in(Feasible(policy(name, LINE, **options)), ten_x, steps=60, seed=seed, fails=lambda x, t: x[0] > 0.7)
    assert sum(step.failed for step in tried) <= 8
    assert max(step.value for step in tried if not step.failed) >= 6.86


def test_a_value_of_a_choice_that_always_crashes():
    space = {"x": Float(0, 1), "c": Choice(["a", "crash", "b"])}
    made = Feasible(policy("sw-gp-ucb", space, standardise=True))
    tried = run_in(made, lambda x, t: 10 - 9 * (x[0] - 0.3) ** 2 + 3 * x[2], steps=40, fails=lambda x, t: x[2] == 1)
    assert sum(step.failed for step in tried) <= 4
    assert max(step.value for step in tried if not step.failed) >= 9.9


def test_it_comes_back_when_the_world_has_changed():
    """Up to step 100 x > 0.7 fails, then x < 0.5: the new best, x = 1, is found within 45 steps."""
    made = Feasible(policy("sw-gp-ucb", GRID, standardise=True))
    tried = run_in(made, ten_x, steps=145, fails=lambda x, t: x[0] > 0.7 if t <= 100 else x[0] < 0.5)
    assert max(step.value for step in tried[100:] if not step.failed) >= 9.8


def test_where_everything_failed_at_first_it_is_tried_again():
    made = Feasible(policy("sw-gp-ucb", GRID, standardise=True))
    tried = run_in(made, ten_x, steps=60, fails=lambda x, t: t <= 15)
    assert max(step.value for step in tried if not step.failed) >= 9.8


def test_if_all_of_it_fails_for_ever_it_still_chooses():
    for space in (LINE, GRID):
        tried = run_in(Feasible(policy("gp-ucb", space, standardise=True)), ten_x, steps=25, fails=lambda x, t: True)
        assert len({float(step.x[0]) for step in tried}) > 10


def test_the_more_failed_lately_the_less_is_risked():
    assert [ASKED.working(failed) for failed in (0, 4, 12)] == [0.8, 0.9, 0.95]
    made = Feasible(policy("gp-ucb", GRID))
    log = [Observation(1, 1.0, (0.2,), 1.0), *(failure(n, float(n), (0.8,)) for n in range(2, 6))]
    assert made._gate(replay(made, log), Ask(6, 6.0), ASKED).working == 0.9


def test_along_a_border_in_two_dimensions_few_fail():
    """x + y > 1.2 fails: at most 8 of 40, where every ask would fail without a model of failures."""
    square = Candidates(np.array([(a, b) for a in np.linspace(0, 1, 21) for b in np.linspace(0, 1, 21)]))
    made = Feasible(policy("sw-gp-ucb", square, standardise=True))
    tried = run_in(made, lambda x, t: 5 * (x[0] + x[1]), steps=40, fails=lambda x, t: x[0] + x[1] > 1.201)
    assert sum(step.failed for step in tried) <= 8
    assert max(step.value for step in tried if not step.failed) >= 5.88


def test_a_choice_of_very_many_values():
    """Distances are of two settings at a time: an array of all their differences would have 400 million numbers."""
    space = {"c": Choice([f"v{i}" for i in range(10_000)]), "x": Float(0, 1)}
    made = Feasible(policy("gp-ucb", space, standardise=True))
    X = made.space.sample(generator(0), 200)
    log = [
        failure(n, float(n), tuple(x)) if n % 2 else Observation(n, float(n), tuple(x), float(x[-1]))
        for n, x in enumerate(X.tolist(), 1)
    ]
    state = replay(made, log)
    works = made.works(state, X[-2:], Ask(201, 201.0))
    assert works[0] < 0.3
    assert works[1] > works[0] + 0.4


@pytest.mark.parametrize("seed", range(3))
def test_an_accident_does_not_ban_a_good_region(seed):
    """2% fail at random: the settings tried are about as good as if none did."""

    def hill(x, t):
        return 10 - 10 * (x[0] - 0.6) ** 2

    made = Feasible(policy("sw-gp-ucb", GRID, standardise=True))
    fails = generator(seed, 7).random(150) < 0.02
    values = [
        np.mean([step.value for step in run_in(made, hill, steps=120, seed=seed, fails=f)[40:]])
        for f in (lambda x, t: fails[t], lambda x, t: False)
    ]
    assert values[0] > values[1] - 0.1


def test_a_failure_reported_late_takes_its_place():
    made = Feasible(policy("sw-gp-ucb", GRID, standardise=True))
    log = [Observation(1, 1.0, (0.2,), 2.0), failure(2, 2.0, (1.0,)), Observation(3, 3.0, (0.4,), 4.0)]
    state = replay(made, log)
    x = made.choose(state, Ask(5, 5.0, pending=((0.6,),)))
    assert x[0] < 0.95
    assert [seen.failed for seen in state.entries] == [False, True, False]
    assert len(made.belief(state, Ask(4, 4.0))) == 2


# --- limits -------------------------------------------------------------------------------------------------------


def test_failed_entries_still_count_for_measures_and_entries_without_a_measure_for_the_reward():
    made = Feasible(policy("gp-ucb", GRID), limits=LIMITS)
    log = [failure(1, 1.0, (0.5,), (("ms", 300.0),)), Observation(2, 2.0, (0.1,), 1.0)]
    state, ask = replay(made, log), Ask(3, 3.0)
    assert [len(made.measure(state, name, ask)) for name in LIMITS] == [1, 0]
    assert len(made.belief(state, ask)) == 1


def stays_within(name: str, seeds: int, steps: int, **given: Any) -> tuple[float, float, float]:
    """The share of violations, and the mean regret of the choices and of staying where it began."""
    violated, regret, staying = [], [], []
    options = {} if name == "auto" else {"standardise": True}
    for seed in range(seeds):
        world = Service(seed)
        made = Feasible(policy(name, GRID, **options), limits={"ms": at_most(200)}, **given)
        tried = run_in(
            made,
            lambda x, t, w=world: float(w.reward(x[0], t)),
            measure=lambda x, t, w=world: float(w.latency(x[0], t)),
            steps=steps,
            seed=seed,
            noise=0.2,
        )
        violated += [step.measure > 200 for step in tried]
        regret += [world.best(t) - step.value for t, step in enumerate(tried, 1)]
        staying += [world.best(t) - float(world.reward(0.2, t)) for t in range(1, steps + 1)]
    return float(np.mean(violated)), float(np.mean(regret)), float(np.mean(staying))


def test_what_is_asked_for_is_probably_allowed():
    violated, regret, staying = stays_within("tv-gp-ucb", 3, 100)
    assert violated < 0.2
    assert regret < 0.1 * staying


@pytest.mark.parametrize("name", ["tv-gp-ucb", "gp-ucb", "sw-gp-ucb"])
def test_safe_choices_violate_a_limit_no_more_often_than_delta(name):
    """A service that drifts, from a setting known to be safe: over the seeds no more than δ, and far from staying."""
    violated, regret, staying = stays_within(name, 6, 100, safe=True, begin=(0.2,))
    assert violated <= 0.05
    assert regret < 0.3 * staying


def test_safe_asks_begin_where_it_is_safe_and_return_there_if_nothing_is():
    made = Feasible(policy("gp-ucb", GRID, standardise=True), limits={"ms": at_most(200)}, safe=True, begin=(0.2,))
    assert made.choose(made.start(), Ask(1, 1.0)).tolist() == [0.2]
    blind = replay(made, [Observation(n, float(n), (0.2,), 1.0) for n in (1, 2, 3)])  # nobody measured
    assert made.choose(blind, Ask(4, 4.0)).tolist() == [0.2]
    over = [
        Observation(n, float(n), (x,), 1.0, measures=(("ms", ms),)) for n, x, ms in ((1, 0.2, 205.0), (2, 0.5, 300.0))
    ]
    assert made.choose(replay(made, over), Ask(3, 3.0)).tolist() == [0.2]


@pytest.mark.parametrize("seed", range(3))
def test_safe_steps_are_small_while_little_was_measured(seed):
    """Two settings that are alike once led at once to one of three times the limit."""
    latency = lambda workers: 20 + 255 / workers + 2.5 * workers  # noqa: E731
    space, limits = {"workers": Int(1, 32)}, {"ms": at_most(90)}
    given = {"direction": "minimize", "seed": seed, "limits": limits, "safe": True, "start": {"workers": 10}}
    study = Study("cost", space, **given)
    for _ in range(8):
        s = study.ask()
        workers = s.params["workers"]
        study.tell(s, 3 + 0.2 * workers, measures={"ms": latency(workers)})
        assert latency(workers) < 1.1 * 90
    assert study.recommend().params["workers"] < 10


def test_several_limits_share_delta():
    both = Feasible(policy("gp-ucb", GRID), limits=LIMITS, safe=True, begin=(0.2,), delta=0.1)
    seen = Observation(1, 1.0, (0.2,), 1.0, measures=(("ms", 100.0), ("ok", 0.9)))
    gate = both._gate(replay(both, [seen]), Ask(2, 2.0), CAUTIOUS)
    assert [measured.enough for measured in gate.measured] == [0.95, 0.95]


def test_what_is_recommended_is_more_probably_feasible():
    made = Feasible(policy("gp-ucb", GRID, standardise=True), limits={"ms": at_most(200)})
    log = [
        Observation(n, float(n), (x,), x, measures=(("ms", 400 * x),)) for n, x in enumerate((0.1, 0.3, 0.45, 0.8), 1)
    ]
    state, ask = replay(made, log), Ask(5, 5.0)
    X = GRID.points
    allowed = made.recommendable(state, ask).ask.allowed(X)
    assert allowed.any()
    assert (made.holds(state, X, ask)["ms"][allowed] >= 0.9).all()
    far = [dataclasses.replace(seen, measures=(("ms", 900.0 - 10 * seen.x[0]),)) for seen in log]
    one = made.recommendable(replay(made, far), ask).ask
    assert GRID.argmax(_Any(), one).shape == (1,)
    free = Feasible(policy("gp-ucb", GRID))
    assert free.recommendable(replay(free, log), ask).ask is ask


class _Any:
    def __call__(self, X):
        return X[:, 0]


def test_constraints_that_are_known_are_obeyed():
    box = as_space(LINE)
    made = Feasible(policy("gp-ucb", LINE, standardise=True), Where.of(["x <= 0.4"], box))
    tried = run_in(made, ten_x, steps=8, fails=lambda x, t: x[0] > 0.3)
    assert all(step.x[0] <= 0.4 for step in tried)
