"""lab run and lab table, as a user meets them."""

import json
import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from typer.testing import CliRunner

from driftwise.cli.app import app
from driftwise.lab import statistics, tables
from driftwise.lab.results import manifest, read
from lab.results_folder import write


def ask(*words):
    return CliRunner().invoke(app, ["lab", *map(str, words)], env={"COLUMNS": "120"})


RUN = ("run", "--suite", "deng", "--quick", "--engine", "serial", "--seeds", "7")
POLICIES = ("--policy", "gp-ucb", "--policy", "sw-gp-ucb:window=10", "--policy", "random")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    answer = ask(*RUN, *POLICIES, "--out", out)
    assert answer.exit_code == 0, answer.output
    assert "42 runs in" in answer.output
    assert "of CPU were spent inside policies and environments" in answer.output
    return out


def test_the_same_command_again_does_nothing(results):
    before = ask("export", results).output
    assert [json.loads(each)["key"] for each in before.splitlines()] == read(results).key
    answer = ask(*RUN, *POLICIES, "--out", results)
    assert answer.exit_code == 0
    assert "0 runs in" in answer.output
    assert "42 were there already" in answer.output
    assert ask("export", results).output == before
    told = manifest(results)
    assert len(told["runs"]) == 1
    assert told["runs"][0]["policies"] == ["gp-ucb", "sw-gp-ucb:window=10", "random"]
    assert told["versions"]["numpy"] == np.__version__


def test_other_versions_are_told(results):
    with closing(sqlite3.connect(results / "results.db")) as file, file:
        file.execute("UPDATE runs SET versions = ?", (json.dumps({"driftwise": "0.0.1"}),))
    answer = ask(*RUN, *POLICIES, "--out", results)
    assert answer.exit_code == 0
    assert "were made with driftwise 0.0.1" in answer.output


def test_the_tables_say_what_the_results_say(results):
    answer = ask("table", results)
    assert answer.exit_code == 0, answer.output
    found = read(results)
    _, rows = found.common(("deng", "abrupt", 50))
    means = found.regret[rows].mean(axis=0)
    for mean in means:
        assert f"{mean:.4g}" in answer.output
    verdict = statistics.verdict(found.regret[rows])
    assert answer.output.count("★") == 2
    assert "Too few seeds" not in answer.output
    lines = json.loads(ask("table", results, "--case", "abrupt", "--json").output)["cases"][0]["policies"]
    assert [line["regret"]["mean"] for line in lines] == pytest.approx(sorted(means))
    interval = statistics.interval(found.regret[rows][:, verdict.winner])
    assert lines[0]["regret"]["low"] == pytest.approx(interval.low)
    assert sorted(line["p"] for line in lines) == pytest.approx(sorted(verdict.p))
    assert [line["winner"] for line in lines] == [True, False, False]


@pytest.mark.parametrize(("policies", "seeds", "few"), [(2, 5, True), (2, 6, False), (3, 6, True), (3, 7, False)])
def test_too_few_seeds_for_so_many_policies_are_told(tmp_path, policies, seeds, few):
    """The second policy has twice the regret on every seed: whether that can be seen depends on Holm's correction."""
    write(tmp_path, cases=("abrupt",), policies=("a", "b", "c")[:policies], seeds=seeds)
    output = " ".join(ask("table", tmp_path).output.split())
    assert ("○ b" in output) == few
    assert ("Too few seeds on 1 of 1 cases" in output) == few
    if few:
        assert f"with {policies} policies no difference can be significant on fewer than {seeds + 1} seeds" in output


def test_one_policy_beside_the_best_of_the_others(results):
    found = read(results)
    answer = ask("table", results, "--of", "sw-*", "--json")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.output)
    ratios = {}
    for row in told["cases"]:
        policies, rows = found.common((row["suite"], row["case"], row["horizon"]))
        means = dict(zip(policies, found.regret[rows].mean(axis=0), strict=True))
        ours = means.pop("sw-gp-ucb:window=10")
        assert row["best"] == min(means, key=means.get)
        ratios[row["case"]] = ours / min(means.values())
        assert row["ratio"]["mean"] == pytest.approx(ratios[row["case"]])
        assert row["ratio"]["low"] <= row["ratio"]["mean"] <= row["ratio"]["high"]
    (suite,) = told["suites"]["deng"]
    assert suite["mean"]["mean"] == pytest.approx(np.mean(list(ratios.values())))
    assert suite["worst"]["mean"] == pytest.approx(max(ratios.values()))
    assert suite["worst_case"] == max(ratios, key=ratios.get)
    printed = ask("table", results, "--of", "sw-*").output
    assert "sw-gp-ucb:window=10 beside the best of the others" in printed
    for ratio in ratios.values():
        assert f"{ratio:.2f} (" in printed
    assert "on average" in ask("table", results, "--of", "sw-*", "--brief").output


def test_a_case_is_found_by_the_name_that_is_printed(results):
    printed = ask("table", results).output
    (line,) = [line for line in printed.splitlines() if line.startswith("deng/abrupt")]
    one = ask("table", results, "--case", line.split(",")[0])
    assert one.exit_code == 0
    assert "deng/abrupt" in one.output
    assert "deng/slow" not in one.output
    assert "Student's t" in one.output  # the interval has its name


def test_beside_nobody_and_nobody_beside(results):
    assert "no policy in" in ask("table", results, "--of", "x").output
    assert "others beside them" in ask("table", results, "--of", "*").output
    assert ask("table", results, "--of", "*").exit_code == 2


def test_standings_are_ratios_to_the_best_on_each_case(results):
    found = list(tables.case_tables(read(results)))
    means = {t.place[1]: {line.policy: float(line.regret.mean) for line in t.lines} for t in found}
    for standing in tables.standings(found):
        ratios = {case: row[standing.policy] / min(row.values()) for case, row in means.items()}
        assert standing.mean == pytest.approx(np.mean(list(ratios.values())))
        assert standing.worst == pytest.approx(max(ratios.values()))
        assert ratios[standing.worst_case] == pytest.approx(standing.worst)
        assert standing.cases == 2


def test_exponents_are_those_of_power_laws():
    steps = np.array(tables.checkpoints(5000), dtype=float)
    assert tables.exponent(3 * steps**0.75, 5000) == pytest.approx(0.75, rel=1e-9)
    assert math.isnan(tables.exponent(np.zeros(200), 5000))


def test_a_policy_that_fails_on_one_case_fails_there_only(tmp_path):
    """r-perp is defined on candidates alone; the zoo has boxes."""
    words = ("--suite", "drift-zoo", "--case", "*1d/still", "--quick", "--seeds", "1", "--engine", "serial")
    answer = ask("run", *words, "--policy", "r-perp", "--policy", "random", "--out", tmp_path)
    assert answer.exit_code == 1
    assert "1 of 4 runs failed" in answer.output
    assert "the same command tries them again" in answer.output
    table = ask("table", tmp_path)
    assert table.exit_code == 0
    assert "1 run failed" in table.output
    listed = ask("failures", tmp_path).output
    assert "r-perp" in listed
    assert json.loads(ask("failures", tmp_path, "--json").output)["failures"]


def test_a_recording(tmp_path):
    place = np.linspace(0, 1, 8)
    rewards = np.sin(6 * place[None] + np.arange(40)[:, None] / 9)
    np.savetxt(tmp_path / "r.csv", rewards, delimiter=",")
    np.savetxt(tmp_path / "p.csv", place[:, None], delimiter=",")
    words = ("run", "--rewards", tmp_path / "r.csv", "--points", tmp_path / "p.csv", "--engine", "serial")
    assert ask(*words, "--policy", "random", "--out", tmp_path / "out").exit_code == 0
    found = read(tmp_path / "out")
    assert len(found) == 1
    assert found.case[0].startswith("r@")
    assert found.horizon[0] == 40
    np.savetxt(tmp_path / "r.csv", rewards + 1, delimiter=",")  # another recording under the same name
    assert ask(*words, "--policy", "random", "--out", tmp_path / "out").exit_code == 0
    assert len(read(tmp_path / "out")) == 2
    assert ask(*words, "--policy", "random", "--minimize", "--out", tmp_path / "out").exit_code == 0
    assert len(read(tmp_path / "out")) == 3  # its costs are another recording, too


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--suite", "nowhere", "--policy", "random"), "no suite is called 'nowhere'"),
        (("--suite", "deng", "--policy", "nobody"), "no policy is called 'nobody'"),
        (("--suite", "deng", "--policy", "random", "--case", "x*"), "no case is called 'x*'"),
        (("--suite", "deng", "--policy", "random", "--policy", "random"), "given once"),
        (("--suite", "deng", "--policy", "sw-gp-ucb:window=0"), "window must be ≥ 1"),
        (("--suite", "deng", "--policy", "random", "--engine", "spark"), "must be one of serial, joblib, ray"),
        (("--suite", "deng", "--policy", "random", "--address", "auto"), "use --engine ray"),
        (("--policy", "random"), "there is nothing to run on"),
        (("--policy", "random", "--points", "p.csv"), "give the recording as --rewards"),
        (("--policy", "random", "--rewards", "nowhere.csv"), "nowhere.csv: No such file"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line_before_anything_is_written(tmp_path, words, problem):
    answer = ask("run", *words, "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert problem in answer.output
    assert not (tmp_path / "out").exists()


def test_a_table_of_nothing(tmp_path, results):
    assert "no results in" in ask("table", tmp_path).output
    answer = ask("table", results, "--suite", "x")
    assert answer.exit_code == 2
    assert "no case in" in answer.output
