"""What each part of auto is worth: the table and its picture."""

import numpy as np
import pytest
from benchmarks.parts import VARIANTS, WORLDS, Variant, main, of_a_step, picture, plan, rows, table_of

from driftwise.lab.results import Folder
from driftwise.lab.suites import suite
from driftwise.lab.trials import Result, Timing

STILL = suite("drift-zoo").case("box2d/still")


def test_every_variant_lacks_something():
    world = STILL.environment(0)
    made = {label: Variant(label).on(world) for label in VARIANTS}
    assert len({repr(policy) for policy in made.values()}) == len(VARIANTS)
    assert len(made["one row: Matérn .35, ε = .01, noise .03"].table.first) == 1
    assert made["no learned kernel: Matérn, .35"].kernels == made["auto"].kernels[1:2]


def test_trials_are_told_apart():
    trials = plan(3)
    assert len({trial.key for trial in trials}) == len(trials) == 3 * len(WORLDS) * len(VARIANTS)


def test_rows_are_means_and_what_they_are_above_autos():
    auto, more = np.arange(8.0).reshape(4, 2), np.array([0.5, 1.5])
    ms = np.full((4, 2), 12.0)
    [first, second] = rows({"auto": auto, "no cycles": auto + more}, {"auto": ms, "no cycles": ms / 2})
    assert first.cells == ("auto", "0.500", "2.500", "4.500", "6.500", "3.500", "", "12.0")
    assert second.more.mean == pytest.approx(1.0)
    assert second.more.low <= 1.0 <= second.more.high
    assert second.cells[-2].startswith("+1.000 (")
    assert second.cells[-1] == "6.0"


def test_what_is_in_a_folder_is_put_in_its_place(tmp_path):
    trials = plan(2)
    with Folder(tmp_path) as folder:
        for i, t in enumerate(trials):
            facts = (t.suite, t.case.name, t.contender.label, t.seed, t.horizon, float(i * t.horizon))
            spent = Timing(t.key, 0.0, 0.0, 0.0, policy=0.002 * i * t.horizon, environment=0.0, rest=0.0)
            folder.append(Result(t.key, *facts, 0.0, (), None, (), (), None, ()), spent)
    found = of_a_step(tmp_path, trials, lambda result, timing: result.regret + timing.policy)
    for i, t in enumerate(trials):
        assert found[t.contender.label][WORLDS.index(t.case.name), t.seed] == pytest.approx(1.002 * i)
    made = table_of(tmp_path, trials)
    assert made[0].milliseconds == pytest.approx(2 * np.mean(made[0].worlds))
    picture(made, tmp_path / "parts.png")
    assert (tmp_path / "parts.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("given", "why"), [(["--seeds", "1"], "at least 2"), (["--jobs", "0"], "at least 1")])
def test_what_cannot_be_asked_for_is_refused(given, why, capsys):
    with pytest.raises(SystemExit):
        main(given)
    assert why in capsys.readouterr().err
