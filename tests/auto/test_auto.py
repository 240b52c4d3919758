"""auto: invariances that hold exactly, odd worlds that it survives, and what it says of worlds that are known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from driftwise import RBF, Candidates, Choice, Float, Int, Study, policy
from driftwise.auto.mixture import NODES, PARTS
from driftwise.auto.policy import LEVEL, MATERN, ROUGH, SMOOTH, default_kernels
from driftwise.auto.search import FOLLOWED
from driftwise.cli.app import app
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies import replay
from driftwise.records import Ask, Observation
from driftwise.service.dashboard.views import glance
from driftwise.spaces import Box, Joint, as_space

LINE = Candidates(np.linspace(0, 1, 21)[:, None])
BOX = {"a": Float(0, 1), "b": Float(0, 1)}


def bump(x, t, top=0.3):
    return float(np.exp(-20 * (x[0] - top) ** 2) + 0.05 * np.random.default_rng(t).standard_normal())


def chosen(made, steps, reward=bump, *, at=float):
    """The run: what is asked for, (steps, d), and the state after."""
    state, asked = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, at(t), seed=2))
        asked.append(x)
        state = made.update(state, Observation(t, at(t), tuple(x.tolist()), reward(x, t)))
    return np.array(asked), state


def test_units_of_rewards_and_of_time_do_not_matter():
    """Nor does what is added to rewards, as long as their signs stay: a logarithm of them may be another scale."""
    made = policy("auto", LINE)
    asked, _ = chosen(made, 40, lambda x, t: bump(x, t) - 0.5)
    scaled, _ = chosen(made, 40, lambda x, t: 256 + 2.0**10 * (bump(x, t) - 0.5), at=lambda t: 1e9 + 3600.0 * t)
    assert np.array_equal(asked, scaled)


def test_it_finds_the_top_and_stays():
    asked, _ = chosen(policy("auto", LINE), 60)
    assert np.abs(asked[-15:] - 0.3).max() <= 0.1 + 1e-9


@pytest.mark.parametrize("size", [1.0, 10.0, -1e6])
def test_one_outlier_is_no_alarm(size):
    study = Study("o", space={"x": Float(0, 1)})
    noise = np.random.default_rng(0).standard_normal(60)
    for t in range(60):
        s = study.ask()
        study.tell(s, 2 - 4 * (s.params["x"] - 0.6) ** 2 + 0.05 * noise[t] + (size if t == 30 else 0.0))
        assert not study.alarm
    assert study.drift().in_use > 50


@pytest.mark.parametrize("size", [5.0, -5.0, 1e6])
def test_after_one_wild_reward_it_looks_again_and_believes_what_it_did(size):
    made = policy("auto", LINE)
    rng = np.random.default_rng(4)
    state = made.start()
    for t in range(1, 43):
        x = made.choose(state, Ask(t, float(t)))
        state = made.update(state, Observation(t, float(t), tuple(x), bump(x, t) + 0.02 * rng.standard_normal()))
    x = made.choose(state, Ask(43, 43.0))
    wild = made.update(state, Observation(43, 43.0, tuple(x), bump(x, 43) + size))
    assert made.choose(wild, Ask(44, 44.0)) == x
    assert not made.just_changed(wild, Ask(44, 44.0))
    for before, after in zip(
        made.belief(state, Ask(44, 44.0)).predict(LINE.points),
        made.belief(wild, Ask(44, 44.0)).predict(LINE.points),
        strict=True,
    ):
        np.testing.assert_allclose(after, before, atol=0.35)  # that it is the function's is possible from now on


def test_outliers_do_not_blind_it():
    """One reward in fifty is a hundred standard deviations off."""

    def wild(x, t):
        return bump(x, t) + (5.0 * (-1) ** (t // 50) if t % 50 == 20 else 0.0)

    asked, _ = chosen(policy("auto", LINE), 120, wild)
    assert np.median(np.abs(asked[-20:] - 0.3)) <= 0.1 + 1e-9


def test_it_follows_a_change_of_scale_and_of_place():
    def changing(x, t):
        return bump(x, t) if t <= 60 else 1000 * bump(x, t, top=0.8) - 400

    asked, _ = chosen(policy("auto", LINE), 110, changing)
    assert np.median(np.abs(asked[-10:] - 0.8)) <= 0.1 + 1e-9


@pytest.mark.parametrize("space", [LINE, BOX], ids=["candidates", "box"])
def test_constants_duplicates_silence_and_times_that_run_backwards_are_survived(space):
    made = policy("auto", space)
    x = tuple(made.space.sample(np.random.default_rng(0), 1)[0].tolist())
    times = [1.0, 2.0, 2.0, 1.5, 1e12, 1e12 + 1, -1e12, 3.0]
    state = made.start()
    for i in range(40):
        state = made.update(state, Observation(3 * i + 1, times[i % 8], x, 7.0 if i < 30 else 1e12))
    for now in (0.0, 1e15):
        ask = Ask(200, now, pending=(x, x))
        assert np.isfinite(made.choose(state, ask)).all()
        mean, std = made.belief(state, ask).predict(made.space.sample(np.random.default_rng(1), 9))
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert (std <= 10).all()


def prior_std(belief):
    """Of the function and its level, by what is known about their scale: Student's t on every warp, to third order."""
    moments = np.zeros(2)
    p = belief.predictors
    for freedom, scales, weights in zip(p.freedom, p.scale, p.weight, strict=True):
        wide = np.sqrt((1 + LEVEL) * freedom / (freedom - 2))
        for warp, scale, weight in zip(belief.window.warps, scales, weights, strict=True):
            value = warp.value(wide * scale * np.array(NODES))[0]
            moments += weight * np.array([PARTS @ value, PARTS @ value**2])
    return np.sqrt(moments[1] - moments[0] ** 2)


def test_after_a_long_silence_what_drifts_is_not_known_any_more():
    made = policy("auto", LINE, changes=False, cycles=False, moving_level=False)
    made = replace(made, times=(Forgetting(0.01), Forgetting(0.03), Forgetting(0.1)))  # that it stands still, too
    rng = np.random.default_rng(1)
    drifting = [
        Observation(t, float(t), (float(rng.integers(21)) / 20,), float(np.sin(t / 3.0) + 0.01 * rng.random()))
        for t in range(1, 81)
    ]
    state = replay(made, drifting)
    soon, late = (made.belief(state, Ask(81, at)).predict(LINE.points)[1].mean() for at in (81.0, 8e6))
    assert late > 1.3 * soon
    assert late == pytest.approx(prior_std(made.belief(state, Ask(81, 81.0))), rel=1e-6)


@pytest.mark.parametrize(
    "space", [LINE, BOX, {"a": Float(0, 1), "n": Int(0, 5000), "c": Choice(["x", "y"])}], ids=["line", "box", "mixed"]
)
def test_it_moves_gently_where_it_is_told_to(space):
    asked, _ = chosen(policy("auto", space, max_step=0.15), 25)
    assert np.linalg.norm(np.diff(asked, axis=0), axis=1).max() <= 0.15 + 1e-9
    assert len(np.unique(asked, axis=0)) > 5


def test_twenty_dimensions_of_every_kind():
    space = {f"x{j}": Float(0, 1) for j in range(14)} | {"n": Int(1, 9), "c": Choice(["p", "q", "r", "s", "t"])}
    made = policy("auto", space)
    asked, state = chosen(made, 6)
    assert asked.shape == (6, 20)
    for t, x in enumerate(made.space.sample(np.random.default_rng(1), 90), start=7):
        state = made.update(state, Observation(t, float(t), tuple(x.tolist()), bump(x, t)))
    x = made.choose(state, Ask(97, 97.0))
    assert abs(x[0] - 0.3) < 0.15
    belief = made.belief(state, Ask(97, 97.0))
    shorter = belief.shares @ [bool(row.bends) and row.bends[0] == min(row.bends) < 0 for row in belief.rows]
    assert shorter > 0.9  # only the first matters, and that is found out


def test_lengthscales_of_their_own_may_be_left_out():
    assert policy("auto", BOX).table.parts
    assert not policy("auto", BOX, ard=False).table.parts
    assert not policy("auto", BOX, known_kernel=RBF(0.2)).table.parts  # what is known is not learned


def test_a_parameter_has_one_length_scale_and_a_candidate_one_for_each_coordinate():
    box = {"x": Float(0, 1), "c": Choice(["p", "q", "r"]), "n": Int(1, 9)}
    assert policy("auto", box).table.parts == ((0,), (1, 2, 3), (4,))
    points = Candidates([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    assert policy("auto", points).table.parts == ((0,), (1,))
    both = Joint(points, Box.of({"hour": Float(0, 24), "day": Choice(["work", "rest"])}))
    assert policy("auto", both).table.parts == ((0,), (1,), (2,), (3, 4))
    assert policy("auto", {"x": Float(0, 1)}).table.parts == ()  # with one parameter the table has enough
    many = {f"x{j}": Float(0, 1) for j in range(65)}
    assert policy("auto", many).table.parts == ()  # it would take long


def test_a_kernel_that_is_known_is_the_only_one():
    made = policy("auto", LINE, known_kernel=RBF(0.2))
    assert made.kernels == (RBF(0.2),)
    _, state = chosen(made, 9)
    belief = made.belief(state, Ask(10, 10.0))
    assert belief.units == (0.0, 1.0)
    np.testing.assert_allclose(belief.predictors.scale, 1.0, atol=1e-4)
    with pytest.raises(InvalidInput, match="known_kernel"):
        policy("auto", LINE, known_kernel=0.2)


def test_candidates_in_any_unit_are_the_same():
    """Lengthscales are parts of the candidates' extent."""
    far = Candidates(1000 * np.linspace(0, 1, 21)[:, None])
    near, _ = chosen(policy("auto", LINE), 20)
    there, _ = chosen(policy("auto", far), 20, lambda x, t: bump(x / 1000, t))
    np.testing.assert_allclose(there / 1000, near, atol=1e-12)


def test_between_searches_few_rows_are_followed_and_the_window_bounds_them():
    made = policy("auto", LINE, window=32)
    _, state = chosen(made, 76)
    assert len(state.search.window) == 32
    followed = state.followed
    numbers = followed.window.data.numbers
    assert numbers[-13:].tolist() == [*range(64, 77)]  # the search in use is that of 64
    assert len(numbers) == 44
    assert len(state.search.pool.rows) <= FOLLOWED + len(made.times) + 1
    assert followed.weights.sum() == pytest.approx(1.0)


def daily(x, t):
    return bump(x, t, top=0.5 + 0.4 * np.sin(2 * np.pi * t / 24))


@pytest.mark.slow
def test_what_comes_back_every_day_is_there_when_it_does():
    """A top that goes to and fro in 24 steps: who knows of cycles is nearer, once four days are over."""
    x, _ = chosen(policy("auto", LINE), 144, daily)
    blind, _ = chosen(policy("auto", LINE, cycles=False), 144, daily)
    tops = 0.5 + 0.4 * np.sin(2 * np.pi * np.arange(1, 145) / 24)
    missed, blindly = (np.abs(each[96:, 0] - tops[96:]).mean() for each in (x, blind))
    assert missed < 0.6 * blindly  # on average over worlds it is a quarter


# --- it explains itself -----------------------------------------------------------------------------------------


def world(n, change=None, seed=0):
    """Observations at random points of a function of `a` alone, which turns upside down after `change` of them."""
    rng = np.random.default_rng(seed)
    for t in range(1, n + 1):
        a, b = rng.random(2)
        sign = -1.0 if change is not None and t > change else 1.0
        yield {"a": a, "b": b}, sign * np.sin(6 * a) + 0.05 * rng.standard_normal()


def explained(n, change=None, direction="maximize"):
    study = Study("s", space=BOX, policy="auto", direction=direction)
    for params, reward in world(n, change):
        study.observe(params, reward)
    return study


def test_a_world_that_stands_still():
    study = explained(90)
    found = study.drift()
    assert found.rate < 0.003
    assert not study.alarm
    assert found.seen == 90
    assert found.in_use > 60
    assert found.matters["a"] > 0.9
    assert found.matters["b"] < 0.05
    assert 0.02 < found.noise < 0.2


def test_a_change_is_told_with_its_time():
    found = explained(90, change=70).drift()
    assert found.change is not None
    assert abs(found.change.number - 71) <= 4
    assert found.change.at == found.change.number
    assert found.change.probability > 0.5
    assert found.alarm
    assert found.in_use < 40
    assert found.moves["a"] > found.moves["b"]


def test_an_old_change_is_no_alarm():
    study = explained(130, change=70)
    assert not study.alarm


def observed(reward, n=120, *, path=None, hour=3600.0):
    """A study told rewards of random settings, one an hour."""
    study, rng = Study("s", space=BOX, policy="auto", path=path), np.random.default_rng(0)
    for t in range(1, n + 1):
        a, b = rng.random(2)
        study.observe({"a": a, "b": b}, float(reward(t, a, rng)), at=hour * t)
    return study


@pytest.mark.slow
def test_a_cycle_is_told_in_the_users_time(tmp_path):
    path = str(tmp_path / "s.db")
    study = observed(lambda t, a, rng: np.sin(6 * a + 2 * np.pi * t / 24) + 0.05 * rng.standard_normal(), path=path)
    found = study.drift()
    assert found.cycle is not None
    assert found.cycle.period == pytest.approx(24 * 3600)
    assert found.cycle.probability > 0.9
    assert not found.alarm
    shown = CliRunner().invoke(app, ["study", "show", "s", "--path", path])
    assert "The function repeats with period 8.64e+04 (probability" in shown.output


def test_a_period_longer_than_the_log_is_not_stated():
    """Sixty rewards of a cycle of a hundred: it was stated with probability 1."""
    found = observed(lambda t, a, rng: np.sin(6 * a + 2 * np.pi * t / 100) + 0.05 * rng.standard_normal(), n=60).drift()
    assert found.cycle is None
    assert not [sentence for sentence in found.says if "repeats" in sentence]


def test_a_world_that_just_changed_does_not_stand_still(tmp_path):
    path = str(tmp_path / "s.db")
    study = observed(lambda t, a, rng: np.sin(6 * a + 3 * (t > 57)) + 0.02 * rng.standard_normal(), n=62, path=path)
    assert study.alarm
    said = study.drift().says
    assert said[0].startswith("The world changed abruptly just now")
    shown = " ".join(CliRunner().invoke(app, ["study", "show", "s", "--path", path]).output.split())
    assert all(sentence in shown for sentence in said)
    assert "stands still" not in shown
    assert glance(study)["drift"]["says"] == list(said)


@pytest.mark.slow
def test_a_level_that_moves_is_told_from_a_function_that_does(tmp_path):
    walk = np.cumsum(np.random.default_rng(1).standard_normal(200))
    path = str(tmp_path / "s.db")
    moved = observed(lambda t, a, rng: walk[t] + np.sin(6 * a) + 0.05 * rng.standard_normal(), path=path)
    assert moved.drift().level > 0.9
    assert abs(moved.recommend().params["a"] - np.pi / 12) < 0.1
    shown = CliRunner().invoke(app, ["study", "show", "s", "--path", path])
    assert "The level of all rewards shifts on its own" in shown.output
    still = observed(lambda t, a, rng: np.sin(6 * a) + 0.05 * rng.standard_normal())
    assert still.drift().level < 0.5
    assert still.drift().cycle is None


def test_loud_noise_is_no_alarm_in_the_end():
    """A row has one noise: a new one is taken for a new function."""
    study = observed(lambda t, a, rng: np.sin(6 * a) + (0.5 if 60 < t <= 100 else 0.03) * rng.standard_normal(), n=100)
    found = study.drift()
    assert not found.alarm
    assert 0.2 < found.noise < 0.8


@pytest.mark.slow
def test_the_command_line_tells_it(tmp_path):
    path = str(tmp_path / "s.db")
    study = Study("s", space=BOX, policy="auto", path=path)
    for params, reward in world(40, change=25):
        study.observe(params, reward)
    shown = CliRunner().invoke(app, ["study", "show", "s", "--path", path])
    assert shown.exit_code == 0, shown.output
    assert "of the last 40 observations count" in shown.output
    assert "The function varies with a" in shown.output
    assert "Its change over time varies with a" in shown.output
    told = json.loads(CliRunner().invoke(app, ["study", "show", "s", "--path", path, "--json"]).output)
    assert told["drift"]["seen"] == 40
    assert told["drift"]["matters"] == study.drift().matters


def test_nothing_is_said_to_move_where_the_world_stands_still(tmp_path):
    path = str(tmp_path / "s.db")
    observed(lambda t, a, rng: np.sin(6 * a) + 0.05 * rng.standard_normal(), n=60, path=path)
    shown = CliRunner().invoke(app, ["study", "show", "s", "--path", path]).output
    assert "The world stands still" in shown
    assert "The function varies with a" in shown
    assert "Its change over time" not in shown


def test_policies_that_cannot_say_say_so():
    study = Study("s", space=BOX, policy="sw-gp-ucb")
    study.observe({"a": 0.5, "b": 0.5}, 1.0)
    with pytest.raises(InvalidInput, match="auto"):
        study.drift()
    with pytest.raises(InvalidInput, match="no rewards"):
        _ = Study("t", space=BOX, policy="auto").alarm


def lengthscales(space):
    return [kernel.first.lengthscale[0] for kernel in default_kernels(as_space(space))]


def test_lengthscales_grow_with_the_dimension_and_not_with_the_number_of_choices():
    """Two settings are √(d/6) apart on average in a cube, and √2 where each is a choice of its own."""
    for space, breadth in (
        ({"a": Float(0, 1)}, 2),
        ({"a": Float(0, 1), "b": Float(1, 9), "n": Int(1, 5)}, 3),
        ({f"x{i}": Float(0, 1) for i in range(6)}, 6),
        ({"c": Choice(list(range(4)))}, 4),
        ({"c": Choice(list(range(100)))}, 12 * 0.99),
        ({"c": Choice(list(range(100))), "a": Float(0, 1)}, 12 * 0.99 + 1),
        (Candidates(np.eye(100)), 12 * 0.99),
        (Candidates(5 * np.eye(3)), 3),
    ):
        scale = 5 if isinstance(space, Candidates) and len(space) == 3 else 1
        each = [scale * ell * np.sqrt(breadth / 2) for ell in (*MATERN, *SMOOTH, *ROUGH)]
        assert lengthscales(space) == pytest.approx(each)


def test_of_many_choices_each_is_a_place():
    """However many coordinates they have, two choices are √2 apart."""
    _, state = chosen(policy("auto", Candidates(np.eye(300))), 30, lambda x, t: float(np.argmax(x) % 7))
    data = state.memory.selected
    assert data.place_weights.sum() == pytest.approx(len(np.unique(data.X, axis=0)))
