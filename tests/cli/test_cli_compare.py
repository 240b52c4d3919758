"""driftwise compare, and every way to get it wrong."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from driftwise import environment, run
from driftwise.lab.trials import Contender

RESULT_KEYS = {
    "policy",
    "environment",
    "seed",
    "horizon",
    "cumulative_regret",
    "mean_regret",
    "seconds_per_step",
}


def test_compare_writes_exactly_the_promised_json(good):
    text = good(
        "compare --policy sw-gp-ucb:window=20 --policy r-gp-ucb:interval=20,width=1.5 --env deng-abrupt "
        "--horizon 30 --seeds 2 --out out.json"
    )
    data = json.loads(Path("out.json").read_text())
    assert set(data) == {"results"}
    assert all(set(row) == RESULT_KEYS for row in data["results"])
    found = [(row["policy"], row["seed"]) for row in data["results"]]
    assert found == [(p, s) for p in ("sw-gp-ucb:window=20", "r-gp-ucb:interval=20,width=1.5") for s in (0, 1)]
    assert all(row["environment"] == "deng-abrupt" and row["horizon"] == 30 for row in data["results"])
    assert all(row["mean_regret"] == pytest.approx(row["cumulative_regret"] / 30) for row in data["results"])
    assert "sw-gp-ucb:window=20" in text
    assert "95% interval" in text


def test_compare_gives_the_figures_of_run(good):
    good("compare --policy sw-gp-ucb:window=20 --env deng-slow --horizon 25 --seeds 2 --out out.json")
    rows = json.loads(Path("out.json").read_text())["results"]
    for row in rows:
        world = environment("deng-slow", seed=row["seed"])
        policy = Contender("", "sw-gp-ucb", (("window", 20),)).on(world)
        assert policy.model.kernel == world.kernel
        assert policy.model.noise == pytest.approx(0.01)
        steps = list(run(policy, world, 25))
        assert row["cumulative_regret"] == pytest.approx(sum(step.regret for step in steps), abs=1e-12)


def test_compare_has_the_interval_of_the_lab_and_does_not_cut_it_off(good, monkeypatch):
    """Of a world in which regret may be 0 on all seeds but one, the interval reaches below 0."""
    from driftwise.cli import compare
    from driftwise.lab.statistics import INTERVAL, interval

    printed = good("compare --policy random --env still --horizon 15 --seeds 4 --out out.json")
    totals = [row["cumulative_regret"] for row in json.loads(Path("out.json").read_text())["results"]]
    assert interval(totals).written(".1f") in printed
    assert INTERVAL in " ".join(printed.split())
    few = interval([0.0, 0.0, 0.0, 8.0])
    monkeypatch.setattr(compare, "interval", lambda totals: few)
    assert few.low < 0
    assert f"{few.low:.1f} – {few.high:.1f}" in good("compare --policy random --env still --horizon 5 --seeds 4")


def test_compare_is_the_same_on_two_processes(good):
    line = "compare --policy gp-ucb --policy random --env still --horizon 15 --seeds 2 --out {}.json --jobs {}"
    good(line.format("one", 1))
    good(line.format("two", 2))
    one, two = (json.loads(Path(f"{name}.json").read_text())["results"] for name in ("one", "two"))
    for row in one + two:
        del row["seconds_per_step"]
    assert one == two


def test_compare_on_a_recording(good):
    rewards = np.random.default_rng(0).normal(size=(12, 4))
    np.savetxt("r.csv", rewards, delimiter=",")
    np.savetxt("p.csv", np.arange(8.0).reshape(4, 2), delimiter=",")
    good("compare --policy gp-ucb:noise=0.1 --policy random --rewards r.csv --points p.csv --seeds 1 --out out.json")
    rows = json.loads(Path("out.json").read_text())["results"]
    assert [row["environment"] for row in rows] == ["r", "r"]
    assert all(row["horizon"] == 12 for row in rows)
    worst = (rewards.max(axis=1) - rewards.min(axis=1)).sum()
    assert all(0 <= row["cumulative_regret"] <= worst for row in rows)


def test_compare_on_a_recording_without_points_plays_the_second_half(good):
    np.savetxt("r.csv", np.random.default_rng(0).normal(size=(12, 4)), delimiter=",")
    good("compare --policy sw-gp-ucb:window=3 --rewards r.csv --seeds 1 --out out.json")
    assert json.loads(Path("out.json").read_text())["results"][0]["horizon"] == 6


def test_a_recording_of_costs_with_times_and_gaps(good, refused):
    Path("r.csv").write_text("when,a,b\n1,3,1\n2,,2\n4,5,1\n8,2,9\n")
    np.savetxt("p.csv", np.arange(2.0), delimiter=",")
    line = "compare --policy random --rewards r.csv --points p.csv --seeds 1 --json --time when"
    assert "line 3, column 2 ('a')" in refused(line)
    (row,) = json.loads(good(f"{line} --minimize --gaps drop"))["results"]
    assert row["horizon"] == 3
    assert row["cumulative_regret"] in [sum(x) for x in product([0, 2], [0, 4], [0, 7])]
    assert "gaps must be one of" in refused(f"{line} --gaps maybe")
    assert "--minimize is an option of a recording" in refused("compare --policy random --minimize")


def test_compare_options_reach_the_environment(good):
    good("compare --policy random --env bogunovic:epsilon=0.03,side=5 --horizon 3 --seeds 1 --out out.json")
    assert json.loads(Path("out.json").read_text())["results"][0]["horizon"] == 3


def test_json_is_printed_and_is_what_out_writes(good):
    printed = good("compare --policy random --env still --horizon 4 --seeds 2 --json --out runs.json")
    assert json.loads(printed) == json.loads(Path("runs.json").read_text())
    assert [row["seed"] for row in json.loads(printed)["results"]] == [0, 1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "Missing option '--policy'"),
        ("--policy nope", "no policy is called 'nope'"),
        ("--policy gp-ucb:window=3", "gp-ucb has no option 'window'"),
        ("--policy sw-gp-ucb:window=0", "window must be ≥ 1, got 0; use gp-ucb"),
        ("--policy sw-gp-ucb:window=2.5", "window must be a whole number, got 2.5"),
        ("--policy sw-gp-ucb:window", "NAME:KEY=VALUE"),
        ("--policy sw-gp-ucb:window=3,window=4", "given twice"),
        ("--policy gp-ucb:kernel=foo", "a kernel is written rbf:LENGTHSCALE"),
        ("--policy gp-ucb:kernel=rbf:x", "got 'rbf:x'"),
        ("--policy gp-ucb:kernel=rbf:-1", "lengthscale"),
        ("--policy gp-ucb:kernel=matern:3:0.2", "nu must be"),
        ("--policy gp-ucb:noise=0", "noise must be > 0"),
        ("--policy gp-ucb:noise=nan", "noise must be finite"),
        ("--policy gp-ucb --policy gp-ucb", "must be a different one"),
        ("--policy gp-ucb --env nope", "no environment is called 'nope'"),
        ("--policy gp-ucb --env still:size=3", "still has no option 'size'"),
        ("--policy gp-ucb --seeds -7", "-7"),
        ("--policy gp-ucb --horizon ten", "'ten'"),
        ("--policy gp-ucb --jobs 0", "--jobs"),
        ("--policy gp-ucb --points p.csv", "give the recording as --rewards"),
        ("--policy gp-ucb --rewards nope.csv", "nope.csv"),
        ("--policy gp-ucb --rewards nope.csv --env still", "give one of the two"),
        ("--policy gp-ucb --colour red", "No such option"),
    ],
)
def test_compare_refuses(refused, line, words):
    assert words in refused(f"compare {line}")


def test_a_recording_that_is_too_short_is_refused_before_anything_runs(refused, monkeypatch):
    monkeypatch.setattr("driftwise.cli.compare.perform_all", lambda *jobs, **options: pytest.fail("it ran"))
    np.savetxt("r.csv", np.eye(4), delimiter=",")
    np.savetxt("p.csv", np.arange(4.0), delimiter=",")
    message = refused("compare --policy gp-ucb --rewards r.csv --points p.csv --horizon 9")
    assert "4 steps" in message


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(refused, monkeypatch):
    monkeypatch.setattr("driftwise.cli.compare.perform_all", lambda *jobs, **options: pytest.fail("it ran"))
    message = refused("compare --policy random --horizon 2 --seeds 1 --out no/such/folder/out.json")
    assert "no/such/folder for out.json; make it first" in message
