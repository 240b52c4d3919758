"""The demonstration's report says what its own runs show."""

import re

import pytest

from driftwise.lab import demo
from driftwise.lab.engine import perform_all
from driftwise.report.demo import demo_page


def test_policies_are_compared_on_the_seeds_that_both_have_run():
    plan = demo.plan("deng-abrupt", seeds=6, horizon=20)
    (scene,) = demo.play([plan])
    assert scene.seeds == {**dict.fromkeys(scene.seeds, 6), "auto, the default": demo.AUTO_SEEDS}
    outcomes = perform_all([trial for trial in plan if trial.contender.label == "GP-UCB"])
    shared = [o.regret.sum() for o in outcomes if o.result.seed < demo.AUTO_SEEDS]
    assert scene.beside["auto, the default"].mean == pytest.approx(sum(shared) / len(shared))
    best = min((label for label in scene.totals if label != "GP-UCB"), key=lambda label: scene.totals[label].mean)
    said = (
        rf"On the same {scene.seeds[best]} seeds the regret of <strong>GP-UCB</strong> is {scene.beside[best].mean:.0f}"
    )
    assert re.search(said, demo_page([scene], version="0"))
