"""`benchmarks.honest`: how statements and announcements are judged, the table, and runs that are not made twice."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from benchmarks import honest
from benchmarks.honest_table import ratio, table
from scipy.stats import norm

import driftwise as dw


@dataclass
class Says:
    """A policy whose belief is a Gaussian, or a skewed one with tails of its own."""

    mean: float
    std: float
    units: tuple = (10.0, 2.0)

    def belief(self, state, ask):
        return self

    def predict(self, X):
        return np.full(len(X), self.mean), np.full(len(X), self.std)


class Skewed(Says):
    """exp of a standard normal variable."""

    def interval(self, X, level):
        return tuple(np.full(len(X), np.exp(norm.ppf(p))) for p in ((1 - level) / 2, (1 + level) / 2))

    def tails(self, X, values):
        z = np.log(np.maximum(values, 1e-300))
        return norm.cdf(z), norm.sf(z)


def test_gaussian_statements_are_judged_in_the_users_unit():
    mean, low, high, z = honest.interval(Says(1.0, 0.5), None, None, np.zeros((3, 1)))
    assert mean.tolist() == [12, 12, 12]
    assert high - low == pytest.approx(np.full(3, 2 * 1.959964))
    assert z(np.array([11.0, 12.0, 17.0])) == pytest.approx([-1, 0, 5])


def test_other_beliefs_are_judged_by_their_own_tails_far_out_too():
    _, low, high, z = honest.interval(Skewed(0, 1), None, None, np.zeros((5, 1)))
    assert ((low - 10) / 2)[0] == pytest.approx(np.exp(-1.959964))
    assert ((high - 10) / 2)[0] == pytest.approx(np.exp(1.959964))
    wanted = np.array([-9.0, -1.0, 0.0, 1.0, 9.0])
    assert z(10 + 2 * np.exp(wanted)) == pytest.approx(wanted)


def test_announcements_are_of_a_change_shortly_before_or_dated_at_it():
    judged = honest.judged_changes([(81, 82, None), (120, 121, None)], [80], 160)
    assert judged == {"false": 1, "delays": [1]}
    assert honest.judged_changes([(79, 99, None)], [80], 160) == {"false": 0, "delays": [18]}
    assert honest.judged_changes([(81, 80, None)], [80], 160) == {"false": 1, "delays": [None]}  # before it happened
    assert honest.judged_changes([(40, 85, None)], [80], 160)["delays"] == [4]
    assert honest.judged_changes([], [], 160) == {"false": 0, "delays": []}


def test_the_true_changes_are_those_of_the_function_and_of_its_level():
    changes = {name: honest.true_changes(case.environment(1), case) for name, case in honest.CASES.items()}
    known = {name: times for name, times in changes.items() if times}
    assert known == {"tenfold": [80], "abrupt": [100], "level-jumps": [64, 128], "arms-jumps": [64, 128]}


def test_a_run_is_a_function_of_its_seed_and_is_not_made_twice(tmp_path, capsys):
    out = tmp_path / "runs.jsonl"
    for _ in range(2):
        honest.main(["--policy", "random", "--worlds", "tenfold,boba-eggholder", "--seeds", "3-4", "-o", str(out)])
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted((line["world"], line["seed"]) for line in lines) == [
        *(("boba-eggholder", 3), ("boba-eggholder", 4), ("tenfold", 3), ("tenfold", 4)),
    ]
    with pytest.raises(SystemExit, match="'still', 1, 'no-such'"):  # and the others are run
        honest.main(["--policy", "no-such", "--policy", "random", "--worlds", "still", "--seeds", "1", "-o", str(out)])
    assert len(out.read_text().splitlines()) == 5
    again = honest.run("tenfold", 3, "random")
    line = next(line for line in lines if (line["world"], line["seed"]) == ("tenfold", 3))
    assert {k: v for k, v in again.items() if k != "ms"} == {k: v for k, v in line.items() if k != "ms"}
    assert line["regret"] == pytest.approx(np.mean(line["curve"]), rel=1e-4)
    honest.main(["table", str(out)])
    assert "| tenfold | 2 | 1.00 (1.00-1.00) |" in capsys.readouterr().out


SEED = 2  # of a world whose change is noticed within 30 steps


def test_what_auto_says_is_judged_and_its_changes_are_those_of_a_study(monkeypatch):
    monkeypatch.setitem(honest.CASES, "tenfold", replace(honest.CASES["tenfold"], horizon=60))
    line = honest.run("tenfold", SEED, "auto")
    assert line["said"] == (16 + 5 + 1) * 6
    assert 0 < line["held"] <= line["said"]
    world = honest.CASES["tenfold"].environment(SEED)
    study = dw.Study("s", space=world.space, policy="auto", seed=SEED)
    for t in range(1, 61):
        asked = study.ask()
        study.tell(asked, world.observe(t, np.array(world.space.to_unit(asked.params))))
    assert line["announced"] == [(c.number, c.noticed, c.taken_back) for c in study.changes()]
    assert line["announced"]


def line(world="still", seed=1, policy="new", regret=1.0, **more):
    given = {"late": regret, "unit": 1.0, "false": 0, "delays": [], "ms": [1.0, 3.0, 9.0]}
    return {"world": world, "seed": seed, "policy": policy, "regret": regret, **given, **more}


def test_ratios_are_of_the_same_seeds_with_students_interval():
    base = {("still", s): line(seed=s, regret=1.0) for s in (1, 2, 3)}
    runs = [line(seed=1, regret=0.5), line(seed=2, regret=0.5), line(seed=9, regret=100.0)]
    assert ratio(runs, base) == pytest.approx((0.5, 0.5, 0.5))
    middle, low, high = ratio([line(seed=1, regret=0.5), line(seed=2, regret=2.0)], base)
    half = 12.7062 * np.log(2) * np.sqrt(2) / np.sqrt(2)
    assert (middle, low, high) == pytest.approx((1, np.exp(-half), np.exp(half)), rel=1e-4)
    assert np.isnan(ratio(runs[2:], base)[0])


def test_the_table_has_what_was_said_what_stuck_and_the_share_of_random():
    base = [line(seed=s, policy="auto", late=0.1) for s in (1, 2)] + [line(seed=1, policy="random", regret=4.0)]
    runs = [
        line(seed=1, late=0.6, said=100, held=90, off=2, worst=7.2, false=3, delays=[1, None]),
        line(seed=2, late=0.2),
    ]
    row = next(row for row in table([runs, base]).splitlines() if row.startswith("| still"))
    assert row.split(" | ")[2:] == [
        *("1.00 (1.00-1.00)", "1", "1", "0.4", "0.250", "0.90", "2.00%", "7", "3", "1,–", "0.50", "1.0", "3 (3.0) |")
    ]
