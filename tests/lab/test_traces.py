"""Runs seen from inside, tasks, and slices of a study's belief, against their definitions."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Choice, Float, Int, Study, environment, policy, run
from driftwise.errors import InvalidInput
from driftwise.lab import demo
from driftwise.lab.engine import perform_all
from driftwise.lab.recordings import case_of
from driftwise.lab.traces import trace, truth
from driftwise.lab.trials import Contender, Trial
from driftwise.policies import replay
from driftwise.records import Ask
from driftwise.study.slices import slices

WORLD = environment("deng-abrupt", seed=3)


@pytest.mark.parametrize(
    ("name", "options"), [("gp-ucb", {}), ("r-gp-ucb", {"interval": 7}), ("sw-gp-ucb", {"window": 5}), ("auto", {})]
)
def test_a_trace_is_what_the_policy_believed_before_each_step(name, options):
    made = Contender(name, name, tuple(options.items())).on(WORLD)
    steps = list(run(made, WORLD, 20))
    seen = trace(made, WORLD, 20)
    np.testing.assert_array_equal(seen.asked, [s.seen.x for s in steps])
    np.testing.assert_array_equal(seen.regret, [s.regret for s in steps])
    for t in (1, 8, 20):
        state = replay(made, [s.seen for s in steps[: t - 1]])
        belief = made.belief(state, Ask(number=t, at=float(t)))
        location, scale = belief.units
        np.testing.assert_array_equal(seen.belief[t - 1], location + scale * belief.predict(WORLD.space.points)[0])


def test_the_truth_is_the_worlds():
    F = truth(WORLD, 12)
    assert F.shape == (12, 100)
    np.testing.assert_array_equal(F.max(axis=1), [WORLD.best(t) for t in range(1, 13)])


def test_a_trace_needs_candidates():
    world = environment("rotating-box")
    with pytest.raises(InvalidInput, match="finitely many candidates"):
        truth(world, 2)
    with pytest.raises(InvalidInput, match="finitely many candidates"):
        trace(policy("random", world.space), world, 2)


def test_a_contender_is_told_kernel_and_noise_unless_it_says_otherwise():
    told = Contender("a", "gp-ucb").on(WORLD)
    assert (told.model.kernel, told.model.noise) == (WORLD.kernel, WORLD.noise.variance)
    own = Contender("b", "gp-ucb", (("kernel", RBF(0.5)), ("noise", 0.3))).on(WORLD)
    assert (own.model.kernel, own.model.noise) == (RBF(0.5), 0.3)
    assert Contender("c", "random").on(WORLD).space == WORLD.space
    assert Contender("d", "gp-ucb").on(environment("still", noise_std=0.0)).model.noise == 0.01


def test_outcomes_are_the_runs():
    trial = Trial(Contender("sw", "sw-gp-ucb", (("window", 6),)), "here", case_of(WORLD), 15, seed=3)
    result, timing, regret = trial.perform()
    steps = list(run(trial.contender.on(WORLD), WORLD, 15))
    np.testing.assert_array_equal(regret, [s.regret for s in steps])
    assert (result.policy, result.case, result.seed, result.horizon) == ("sw", "deng-abrupt", 3, 15)
    assert timing.mean > 0


def test_jobs_must_be_at_least_one():
    with pytest.raises(InvalidInput, match="jobs must be ≥ 1"):
        perform_all([], workers=0)


@pytest.mark.slow
def test_the_demo_shows_the_median_seed_and_marks_what_was_forgotten(monkeypatch):
    monkeypatch.setattr(demo, "AUTO_SEEDS", 3)
    tasks = demo.plan("deng-abrupt", seeds=4, horizon=110)
    finished, performed = [], []

    def kept(*arguments, **options):
        performed.append(perform_all(*arguments, **options))
        return performed[-1]

    monkeypatch.setattr(demo, "perform_all", kept)
    [shown] = demo.play([tasks], done=lambda: finished.append(1))
    assert len(tasks) == 5 * 4 + 3
    assert len(finished) == len(tasks)
    [outcomes] = performed
    plain = [o for o in outcomes if o.trial.contender.label == "GP-UCB" and o.trial.seed < 3]
    by_seed = sorted((o.trace.regret.sum(), o.trial.seed) for o in plain)
    assert shown.shown == by_seed[1][1]
    assert shown.changes == (100,)
    assert [label.split(",")[0] for label in shown.closeups] == ["GP-UCB", "R-GP-UCB", "SW-GP-UCB", "auto"]
    plain, restart, window, auto = shown.closeups.values()
    assert (plain.restarts, plain.window) == (auto.restarts, auto.window) == ((), None)
    assert restart.restarts == (61,)
    assert window.window == 60
    for label, total in shown.totals.items():
        mine = [o.trace.regret.sum() for o in outcomes if o.trial.contender.label == label]
        assert shown.seeds[label] == len(mine) == (3 if label.startswith("auto") else 4)
        assert float(total.mean) == pytest.approx(np.mean(mine))
        assert float(shown.curves[label].mean[-1]) == pytest.approx(np.mean(mine))


def filled(space, direction="maximize", **options):
    study = Study("s", space, direction=direction, **({"policy": "sw-gp-ucb"} | options))
    for i in range(8):
        study.tell(study.ask(), float(i % 3) * 10 + 100)
    return study


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_slices_pass_through_the_recommendation_in_the_users_units(direction):
    study = filled({"x": Float(1, 100, log=True), "n": Int(1, 5), "c": Choice(["a", "b"])}, direction)
    best, drawn = slices(study)
    assert [each.name for each in drawn] == ["x", "n", "c"]
    x, n, c = drawn
    assert x.log
    assert x.numeric
    assert not c.numeric
    assert n.values == (1, 2, 3, 4, 5)
    assert n.mean[n.values.index(best.params["n"])] == pytest.approx(best.mean)
    assert c.std[c.values.index(best.params["c"])] == pytest.approx(best.std)
    assert [reward for _, reward in x.seen] == [100.0, 110, 120, 100, 110, 120, 100, 110]


def test_slices_show_what_is_still_remembered():
    _, (drawn,) = slices(filled({"x": Float(0, 1)}, window=3))
    assert [reward for _, reward in drawn.seen] == [120.0, 100, 110]


def test_slices_of_candidates_run_along_the_grid():
    points = [[a, b] for a in (0.0, 0.5, 1.0) for b in (0.0, 1.0)]
    best, (a, b) = slices(filled(Candidates(points, names=["a", "b"])))
    assert a.values == (0.0, 0.5, 1.0)
    assert b.values == (0.0, 1.0)
    assert a.mean[a.values.index(best.params["a"])] == pytest.approx(best.mean)
