"""The report: self-contained, with the winner that a plain computation finds, and as small as its aggregates."""

import csv
import json
import re

import numpy as np
import pytest
from scipy.stats import wilcoxon
from typer.testing import CliRunner

from driftwise.cli.app import app
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.lab.digest import POINTS, digest
from driftwise.lab.results import Results, read
from driftwise.lab.run_view import wanted
from driftwise.lab.trials import checkpoints
from driftwise.plots import DARK, LIGHT
from driftwise.report.results_page import UNIT, lab_page
from driftwise.report.results_pictures import cases_data, curves_data, heat, safe_name
from lab.results_folder import write
from pages import balanced, loads

POLICIES = ("gp-ucb", "sw-gp-ucb:window=30", "<b>&bad")


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return read(write(tmp_path_factory.mktemp("results"), policies=POLICIES))


@pytest.fixture(scope="module")
def page(results):
    return lab_page(digest(results), title="Compared", version="0")


def embedded(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def table(results, case):
    """(seeds, policies), from the columns alone."""
    chosen = [(results.case == case) & (results.policy == p) for p in POLICIES]
    return np.array([results.regret[rows][np.argsort(results.seed[rows])] for rows in chosen]).T


@pytest.mark.parametrize("case", ["abrupt", "slow"])
def test_winner_and_what_is_level_with_it(results, page, case):
    R = table(results, case)
    best = int(R.mean(axis=0).argmin())
    others = [j for j in range(len(POLICIES)) if j != best]
    p = sorted(wilcoxon(R[:, j], R[:, best], method="exact").pvalue for j in others)
    assert p[0] * 2 < 0.05  # of two others; so both are worse by Holm
    assert p[1] < 0.05
    row = re.search(rf'<tr data-case="[^"]*"><th[^>]*>deng/{case}</th>(.*?)</tr>', page)[1]
    assert f"<strong>{POLICIES[best]}</strong>" in row
    assert row.endswith(">–</td>")  # nothing is level with it
    lines = next(c for c in embedded(page)["suites"][0]["cases"] if c["name"] == case)["lines"]
    assert [line["mark"] for line in lines] == [2, 0, 0]
    assert lines[0]["R"] == pytest.approx(R[:, best].mean(), rel=1e-5)


def test_page_is_one_file(page):
    assert balanced(re.sub(r"<script.*?</script>", "", page, flags=re.S))
    fetched = [x for x in loads(page) if "report_files/" not in x and "${" not in x]
    assert fetched == []
    assert not re.search(r"https?:|@import|fetch\(|import\(|XMLHttp", page)
    assert "prefers-color-scheme: dark" in page


def test_names_are_escaped(page):
    assert "<b>&bad" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "&lt;b&gt;&amp;bad" in page
    assert "<b>&bad" in embedded(page)["policies"]


def test_curves_on_the_page_are_the_aggregates(results, page):
    case = embedded(page)["suites"][0]["cases"][0]
    rows = np.flatnonzero((results.case == "abrupt") & (results.policy == "gp-ucb"))
    mean = results.curves(rows).mean(axis=0)
    at = [checkpoints(500).index(t) for t in case["steps"]]
    drawn = np.array(case["lines"][0]["mean"]) * case["unit"]
    assert len(at) == POINTS
    assert np.abs(drawn - mean[at]).max() <= case["unit"]
    assert max(max(line["high"]) for line in case["lines"]) == UNIT


def test_csvs_are_the_aggregates(results):
    found = digest(results)
    rows = list(csv.DictReader(cases_data(found).csv().splitlines()))
    assert len(rows) == 2 * len(POLICIES)
    for row in rows:
        R = table(results, row["case"])[:, POLICIES.index(row["policy"])]
        assert float(row["regret"]) == pytest.approx(R.mean(), rel=1e-12)
        assert float(row["seconds_a_step"]) == pytest.approx(1e-4 * (1 + POLICIES.index(row["policy"])))
    assert [row["policy"] for row in rows if row["winner"] == "True"] == ["gp-ucb", "gp-ucb"]
    ratios = list(csv.reader(heat(found.suites[0]).data.csv().splitlines()))
    means = np.array([table(results, case).mean(axis=0) for case in ratios[0][1:]])
    expected = (means / means.min(axis=1, keepdims=True)).T
    order = [POLICIES.index(row[0]) for row in ratios[1:]]
    assert np.array([row[1:] for row in ratios[1:]], dtype=float) == pytest.approx(expected[order])
    curves = list(csv.DictReader(curves_data(found).csv().splitlines()))
    assert len(curves) == 2 * len(POLICIES) * POINTS


def test_exponents_between_cases(tmp_path):
    """R doubles from case to case … as 1 + c, and P_T as 2^c: the slope by NumPy's own least squares."""
    made = write(tmp_path, cases=("a", "b", "c", "d"), policies=("x", "y"), seeds=3)
    found = digest(read(made)).suites[0]
    assert {(g.of, g.policy) for g in found.growth} == {("P_T", "x"), ("P_T", "y")}
    for g in found.growth:
        means = [float(line.regret.mean) for v in found.cases for line in v.table.lines if line.policy == g.policy]
        assert g.slope.slope == pytest.approx(np.polyfit(np.log([1, 2, 4, 8]), np.log(means), 1)[0])
    assert all(line.exponent == pytest.approx(0.75, abs=1e-6) for v in found.cases for line in v.table.lines)


def test_page_holds_aggregates_and_not_trials(tmp_path, monkeypatch):
    """With ten times the trials the page is as large, and every trial's curve is read twice at most."""
    read_rows = []
    curves = Results.curves
    monkeypatch.setattr(Results, "curves", lambda self, rows: read_rows.append(len(rows)) or curves(self, rows))
    sizes = []
    for seeds in (4, 40):
        read_rows.clear()
        results = read(write(tmp_path / str(seeds), seeds=seeds))
        sizes.append(len(json.dumps(embedded(lab_page(digest(results), title="t", version="0")))))
        assert sum(read_rows) <= 2 * len(results)
    assert sizes[1] <= 1.02 * sizes[0]
    assert sizes[1] <= 1500 * 2 * 2 + 2000  # bytes a policy on a case: a hundred policies on a hundred cases are 15 MB


def test_too_few_seeds_are_told(tmp_path):
    page = lab_page(digest(read(write(tmp_path, seeds=4))), title="t", version="0")
    assert "Too few seeds" in page
    assert "fewer than 6 seeds" in page  # 2/2⁶ ≤ 0.05 < 2/2⁵


def test_command_writes_page_and_files(tmp_path):
    made = write(tmp_path / "results", cases=("abrupt",), seeds=3)
    done = invoke("lab", "report", made, "-o", tmp_path / "out" / "r.html", "--dark")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "r.html").read_text(encoding="utf-8")
    linked = {x for x in loads(page) if "${" not in x}
    assert linked
    for name in linked:
        assert (tmp_path / "out" / name).is_file(), name
    light, dark = (
        (tmp_path / "out" / "r_files" / f"regret-deng-abrupt-T500{ending}.svg").read_text() for ending in ("", "-dark")
    )
    assert LIGHT.paper in light
    assert DARK.paper in dark
    assert LIGHT.paper not in dark


@pytest.mark.parametrize("spec", ["sw-gp-ucb:window=5", "oracle:width=2"])
@pytest.mark.parametrize(
    ("where", "place"),
    [
        (("--suite", "deng", "--case", "deng/abrupt"), "deng/abrupt"),
        (("--env", "deng-slow:noise_std=0.2"), "environments/deng-slow:noise_std=0.2"),
    ],
)
def test_belief_of_a_run_is_run_again(tmp_path, where, place, spec):
    run = invoke("lab", "run", *where, "--policy", spec, "--seeds", 1, "--horizon", 20,
                 "--engine", "serial", "--out", tmp_path / "results")  # fmt: skip
    assert run.exit_code == 0, run.output
    out = tmp_path / "r.html"
    done = invoke("lab", "report", tmp_path / "results", "-o", out, "--belief", f"{spec}@{place}#0", "--no-pictures")
    assert done.exit_code == 0, done.output
    page = out.read_text(encoding="utf-8")
    assert "From inside" in page
    assert "other versions" not in page  # the regret is the one in the folder


@pytest.mark.parametrize(
    "written", ["gp-ucb", "gp-ucb@deng", "gp-ucb@deng/abrupt", "gp-ucb@deng/abrupt#x", "@deng/a#1"]
)
def test_runs_written_wrongly(written):
    with pytest.raises(InvalidInput, match="POLICY@SUITE/CASE#SEED"):
        wanted(written)


def test_command_errors(tmp_path):
    nothing = invoke("lab", "report", tmp_path / "none", "-o", tmp_path / "r.html")
    assert nothing.exit_code == 2
    made = write(tmp_path / "results", seeds=2)
    assert invoke("lab", "report", made, "-o", tmp_path / "r.pdf").exit_code == 2
    absent = invoke("lab", "report", made, "-o", tmp_path / "r.html", "--belief", "gp-ucb@deng/abrupt#99")
    assert absent.exit_code == 2
    assert not (tmp_path / "r.html").exists()


def test_a_run_that_is_not_there(results):
    from driftwise.cli import parse
    from driftwise.lab.run_view import look_inside

    with pytest.raises(NotFoundError, match="not among the results"):
        look_inside(results, wanted("random@deng/abrupt#0"), parse.entrant, parse.case)


def test_a_recording_cannot_be_run_again_and_no_other_suite_is_known():
    from driftwise.cli import parse

    with pytest.raises(InvalidInput, match="recording/r@0 cannot be run again: its files are not kept"):
        parse.case("recording", "r@0")
    with pytest.raises(NotFoundError, match="no suite is called 'mine'"):
        parse.case("mine", "x")


def test_file_names_are_safe():
    assert safe_name("../../etc/pass wd") == "etc-pass-wd"
    assert len(safe_name("x" * 500)) == 120
